package resource

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Package rest checks metadata twice, and the real API server's declarative validation takes the place of all that was
// found before of the same fault. There is no declarative validation here; its place in the order of things serves to
// report each fault once.
var _ rest.DeclarativeValidationStrategy = objectStrategy{}

// DeclarativeValidationConfig implements rest.DeclarativeValidationStrategy.
func (objectStrategy) DeclarativeValidationConfig(context.Context, runtime.Object, runtime.Object) rest.DeclarativeValidationConfig {
	return rest.DeclarativeValidationConfig{}
}

// ValidateDeclaratively implements rest.DeclarativeValidationStrategy: it returns the errors without duplicates.
func (objectStrategy) ValidateDeclaratively(_ context.Context, _, _ runtime.Object, errs field.ErrorList, _ operation.Type, _ rest.DeclarativeValidationConfig) field.ErrorList {
	var distinct field.ErrorList
	for _, err := range errs {
		same := func(other *field.Error) bool { return other.Error() == err.Error() }
		if !slices.ContainsFunc(distinct, same) {
			distinct = append(distinct, err)
		}
	}
	return distinct
}
