package store_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

func TestLast(t *testing.T) {
	s := store.New(store.Options{})
	if _, known := s.Last(key("a", "x")); known {
		t.Error("there is a change of what never was")
	}
	created := mustCreate(t, s, "a", "x")
	updated := set(t, s, "a", "x", "1")
	mustCreate(t, s, "a", "y")
	change, known := s.Last(key("a", "x"))
	if !known || change.Previous != created || change.Object != updated {
		t.Errorf("the latest change of x is %+v, want its update", change)
	}
	remove(t, s, "a", "x")
	if change, _ := s.Last(key("a", "x")); change.Type != watch.Deleted {
		t.Errorf("the latest change of x is %+v, want its deletion", change)
	}
}
