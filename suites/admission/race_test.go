//go:build race

package admission_test

// underRace tells that the race detector looks on, which makes everything several times slower.
const underRace = true
