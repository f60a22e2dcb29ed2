package resource

// Defaults of kinds that k8s.io/api has the types but not the defaulting of.

// orElse sets a field that is empty.
func orElse[T comparable](field *T, value T) {
	var empty T
	if *field == empty {
		*field = value
	}
}

// noneIfEmpty makes an empty list none. It is seen in fields that are not left out when they are empty.
func noneIfEmpty[T any](list *[]T) {
	if len(*list) == 0 {
		*list = nil
	}
}

// orElsePtr sets a field that is nil.
func orElsePtr[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
