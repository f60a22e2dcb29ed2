// Package compare_test holds the validation, defaults and warnings of fakeapi against those of Kubernetes.
package compare_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config/configtest"
)

// strategy is what Kubernetes does to objects of a kind when they are written.
type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

var strategies = map[string]strategy{
	"MutatingWebhookConfiguration":     mutatingwebhookconfiguration.Strategy,
	"ValidatingWebhookConfiguration":   validatingwebhookconfiguration.Strategy,
	"MutatingAdmissionPolicy":          mutatingadmissionpolicy.NewStrategy(nil, nil),
	"MutatingAdmissionPolicyBinding":   mutatingadmissionpolicybinding.NewStrategy(nil, nil, nil),
	"ValidatingAdmissionPolicy":        validatingadmissionpolicy.NewStrategy(nil, nil),
	"ValidatingAdmissionPolicyBinding": validatingadmissionpolicybinding.NewStrategy(nil, nil, nil),
}

// unauthorized is what the strategies say of a valid object with params, because they have nobody to ask whether the user
// may read them.
const unauthorized = "unexpected internal error: resourceResolver is nil"

// TestTable checks what the tables of package config want.
func TestTable(t *testing.T) {
	for _, tt := range configtest.Cases(t) {
		t.Run(tt.Name, func(t *testing.T) {
			if diff := cmp.Diff(kubernetes(t, tt.Object, tt.Old), tt.Want); diff != "" {
				t.Errorf("errors (-kubernetes +table):\n%s", diff)
			}
		})
	}
}

// kubernetes is what Kubernetes says of a write.
func kubernetes(t *testing.T, object, old runtime.Object) []string {
	t.Helper()
	internal, kind := convert(t, object)
	s := strategies[kind]
	ctx := request.WithRequestInfo(request.WithNamespace(context.Background(), metav1.NamespaceNone), &request.RequestInfo{
		IsResourceRequest: true, APIGroup: "admissionregistration.k8s.io", APIVersion: "v1",
	})
	var errs field.ErrorList
	if old == nil {
		errs = rest.ValidateCreate(ctx, internal, s)
	} else {
		stored, _ := convert(t, old)
		// Without the checks of metadata that all kinds share: they are not those of package config either.
		errs = s.ValidateUpdate(ctx, internal, stored)
		declared := s.(rest.DeclarativeValidationStrategy)
		errs = declared.ValidateDeclaratively(ctx, internal, stored, errs, operation.Update, declared.DeclarativeValidationConfig(ctx, internal, stored))
	}
	return texts(errs)
}

// kubernetesWarnings is what Kubernetes warns of when an update is accepted. On create it says the same.
func kubernetesWarnings(t *testing.T, object runtime.Object) []string {
	t.Helper()
	internal, kind := convert(t, object)
	return strategies[kind].WarningsOnUpdate(context.Background(), internal, internal)
}

func convert(t *testing.T, object runtime.Object) (runtime.Object, string) {
	t.Helper()
	object = object.DeepCopyObject()
	legacyscheme.Scheme.Default(object)
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	internal, err := legacyscheme.Scheme.UnsafeConvertToVersion(object, schema.GroupVersion{Group: kinds[0].Group, Version: runtime.APIVersionInternal})
	if err != nil {
		t.Fatal(err)
	}
	return internal, kinds[0].Kind
}

func texts(errs field.ErrorList) []string {
	var list []string
	for _, err := range errs {
		if !strings.Contains(err.Detail, unauthorized) {
			list = append(list, err.Error())
		}
	}
	return list
}
