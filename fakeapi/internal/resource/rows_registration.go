package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/apiregistration"
)

// registrationRows are the registrations of other API servers, which are kept and lead to nothing.
func registrationRows() []row {
	return []row{{
		stored: apiregistration.SchemeGroupVersion, kind: "APIService", resource: "apiservices", categories: []string{"api-extensions"},
		subresources: []subresource{checkedStatus(keepingMetadata, func(object, _ runtime.Object) errorList {
			return apiregistration.ValidateStatus(object.(*apiregistration.APIService))
		}, fieldpath.MakePathOrDie("metadata"))},
		storage: func(v *view) rest.Storage {
			v.strategy.prepareCreate = creating(func(_ context.Context, service *apiregistration.APIService) {
				prepareAPIService(service, v.now())
			})
			return &REST{v}
		},
		strategy: strategy{
			conditionalUpdate: true,
			name:              func(name string, _ bool) []string { return content.IsPathSegmentName(name) },
			defaults:          each(apiregistration.Default),
			validate:          checks(apiregistration.Validate),
		},
	}}
}

// prepareAPIService says at once that what this server serves itself is there.
func prepareAPIService(service *apiregistration.APIService, now metav1.Time) {
	service.Status = apiregistration.APIServiceStatus{}
	if service.Spec.Service == nil {
		service.Status.Conditions = []apiregistration.APIServiceCondition{{
			Type: apiregistration.Available, Status: metav1.ConditionTrue, LastTransitionTime: now,
			Reason: "Local", Message: "Local APIServices are always available",
		}}
	}
}
