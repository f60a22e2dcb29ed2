package runner

// assign gives as many wants as possible a have of their own that fits. It returns the index of each want's have, or
// -1. A want that comes early is not left without for the sake of a later one.
func assign(wants, haves int, fits func(want, have int) bool) []int {
	taker := make([]int, haves) // the want that a have is given to
	for have := range taker {
		taker[have] = -1
	}
	var give func(want int, tried []bool) bool
	give = func(want int, tried []bool) bool {
		for have := range haves {
			if tried[have] || !fits(want, have) {
				continue
			}
			tried[have] = true
			if taker[have] < 0 || give(taker[have], tried) {
				taker[have] = want
				return true
			}
		}
		return false
	}
	for want := range wants {
		give(want, make([]bool, haves))
	}
	given := make([]int, wants)
	for want := range given {
		given[want] = -1
	}
	for have, want := range taker {
		if want >= 0 {
			given[want] = have
		}
	}
	return given
}
