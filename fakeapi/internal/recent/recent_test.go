package recent_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/recent"
)

func TestLog(t *testing.T) {
	log := recent.New[int](2)
	for _, add := range []struct {
		key   string
		value int
	}{{"a", 1}, {"b", 2}, {"a", 3}, {"c", 4}} {
		log.Add(add.key, add.value)
	}
	for key, want := range map[string][]int{"a": nil, "b": {2}, "c": {4}, "never": nil} {
		if got := log.Get(key); !slices.Equal(got, want) {
			t.Errorf("Get(%q) = %v, want %v", key, got, want)
		}
	}
}

func TestLogKeepsOrderWithinKey(t *testing.T) {
	log := recent.New[string](1)
	var want []string
	for i := range 5 {
		value := fmt.Sprint(i)
		log.Add("k", value)
		want = append(want, value)
	}
	got := log.Get("k")
	if !slices.Equal(got, want) {
		t.Errorf("Get = %v, want %v", got, want)
	}
	got[0] = "changed by the caller"
	if again := log.Get("k"); !slices.Equal(again, want) {
		t.Errorf("Get after a caller changed its slice = %v, want %v", again, want)
	}
}
