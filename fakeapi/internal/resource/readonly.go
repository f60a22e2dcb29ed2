package resource

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// readOnlyREST is the storage of a kind that clients only read, such as component statuses.
type readOnlyREST struct {
	readable
}

// readable is an ordinary storage, as far as clients may use it.
type readable interface {
	rest.Getter
	rest.Lister
	rest.Scoper
	rest.SingularNameProvider
	rest.ShortNamesProvider
	rest.CategoriesProvider
	New() runtime.Object
	Destroy()
}

func newReadOnlyREST(r *REST) rest.Storage { return readOnlyREST{r} }
