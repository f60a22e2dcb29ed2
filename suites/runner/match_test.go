package runner

import (
	"slices"
	"testing"
)

func TestAssign(t *testing.T) {
	for name, test := range map[string]struct {
		haves int
		fits  [][]int // by want, the haves that fit
		want  []int
	}{
		"nothing":                            {0, nil, []int{}},
		"one each":                           {2, [][]int{{0}, {1}}, []int{0, 1}},
		"the choosy one gets its own":        {2, [][]int{{0, 1}, {0}}, []int{1, 0}},
		"a chain of three gives way":         {3, [][]int{{0, 1}, {0, 2}, {0}}, []int{1, 2, 0}},
		"too few haves, the first is served": {1, [][]int{{0}, {0}}, []int{0, -1}},
		"none fits":                          {1, [][]int{{}}, []int{-1}},
		"haves may be left":                  {3, [][]int{{2}}, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			got := assign(len(test.fits), test.haves, func(want, have int) bool { return slices.Contains(test.fits[want], have) })
			if !slices.Equal(got, test.want) {
				t.Errorf("assign = %v, want %v", got, test.want)
			}
		})
	}
}
