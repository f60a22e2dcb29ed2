package admission_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// twoVersions is a server on which Deployments are the same objects in apps/v1 and apps/v1beta1. Converting into v1beta1
// fails for an object with the label unconvertible.
func twoVersions(t *testing.T) admission.ObjectInterfaces {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(appsv1.AddToScheme(scheme), appsv1beta1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	throughJSON := func(from, to any, _ conversion.Scope) error {
		if object, ok := from.(*appsv1.Deployment); ok && object.Labels["unconvertible"] != "" {
			return errors.New("cannot convert this")
		}
		encoded, err := json.Marshal(from)
		if err != nil {
			return err
		}
		if to, ok := to.(*appsv1.Deployment); ok {
			*to = appsv1.Deployment{}
		}
		return json.Unmarshal(encoded, to)
	}
	if err := errors.Join(
		scheme.AddConversionFunc(&appsv1.Deployment{}, &appsv1beta1.Deployment{}, throughJSON),
		scheme.AddConversionFunc(&appsv1beta1.Deployment{}, &appsv1.Deployment{}, throughJSON),
	); err != nil {
		t.Fatal(err)
	}
	registry := runtime.NewEquivalentResourceRegistryWithIdentity(func(schema.GroupResource) string { return "deployments" })
	for _, version := range []schema.GroupVersion{appsv1.SchemeGroupVersion, appsv1beta1.SchemeGroupVersion} {
		registry.RegisterKindFor(version.WithResource("deployments"), "", version.WithKind("Deployment"))
	}
	return &admission.RuntimeObjectInterfaces{
		ObjectCreater: scheme, ObjectTyper: scheme, ObjectDefaulter: scheme, ObjectConvertor: scheme, EquivalentResourceMapper: registry,
	}
}

func TestEquivalentVersions(t *testing.T) {
	inVersion := func(version string) func(*admissionregistrationv1.MutatingWebhook) {
		return func(w *admissionregistrationv1.MutatingWebhook) {
			w.MatchPolicy = ptr(admissionregistrationv1.Equivalent)
			w.FailurePolicy = ptr(admissionregistrationv1.Ignore)
			w.Rules[0].Rule = admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{version}, Resources: []string{"deployments"}}
		}
	}
	labelled := func(key string, then answer) answer {
		return func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			var object metav1.PartialObjectMetadata
			if err := json.Unmarshal(r.Object.Raw, &object); err != nil || object.Labels[key] == "" {
				return deny("no label " + key)(r)
			}
			return then(r)
		}
	}
	server := newHookServer(t, map[string]answer{"a": label("a", "1"), "b": labelled("a", label("b", "1")), "c": labelled("b", label("c", "1"))})
	c := newChain(t, &sources{mutating: []*admissionregistrationv1.MutatingWebhookConfiguration{
		server.mutating("a", inVersion("v1beta1")), server.mutating("b", inVersion("v1")), server.mutating("c", inVersion("v1beta1"),
			condition("version", "request.kind.version == 'v1beta1' && object.apiVersion == 'apps/v1beta1' && request.requestKind.version == 'v1'")),
	}})
	attributes := func(labels map[string]string) (admission.Attributes, *appsv1.Deployment) {
		object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: "default", Labels: labels}}
		return admission.NewAttributesRecord(object, nil, appsv1.SchemeGroupVersion.WithKind("Deployment"), "default", "probe",
			appsv1.SchemeGroupVersion.WithResource("deployments"), "", admission.Create, &metav1.CreateOptions{}, false, nil), object
	}

	a, object := attributes(map[string]string{"kept": "1"})
	if err := c.Admit(t.Context(), a, twoVersions(t)); err != nil {
		t.Fatal(err)
	}
	if len(object.Labels) != 4 {
		t.Errorf("labels %v, want those of all three webhooks", object.Labels)
	}
	for i, version := range []string{"v1beta1", "v1", "v1beta1"} {
		r := server.calls[i].request
		if r.Kind.Version != version || r.Resource.Version != version || r.RequestKind.Version != "v1" || r.RequestResource.Version != "v1" {
			t.Errorf("call %d: kind %v, resource %v, requested as %v, %v", i, r.Kind, r.Resource, r.RequestKind, r.RequestResource)
		}
		if !strings.Contains(string(r.Object.Raw), `"apiVersion":"apps/`+version+`"`) {
			t.Errorf("call %d: object %s, want it in %s", i, r.Object.Raw, version)
		}
	}

	a, _ = attributes(map[string]string{"unconvertible": "1"})
	err := c.Admit(t.Context(), a, twoVersions(t))
	if codeOf(err) != 500 || !strings.Contains(errorText(err), "Internal error occurred: Internal error occurred: cannot convert this") {
		t.Errorf("error %v, want an internal one although the failure policy is Ignore", err)
	}
	if calls := len(server.called()); calls != 3 {
		t.Errorf("%d calls, want none for an object that cannot be converted", calls-3)
	}
}
