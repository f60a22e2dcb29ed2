package resource_test

import (
	"context"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// Whoever writes a policy with params, or a binding to some, must be allowed to read them.
func TestParamsMustBeReadable(t *testing.T) {
	constraints := &admissionregistrationv1.MatchResources{
		MatchPolicy:       ptr.To(admissionregistrationv1.Exact),
		NamespaceSelector: &metav1.LabelSelector{},
		ObjectSelector:    &metav1.LabelSelector{},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}, Scope: ptr.To(admissionregistrationv1.AllScopes),
				},
			},
		}}}
	policy := func(kind string) runtime.Object {
		return &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ParamKind:          &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: kind},
			MatchConstraints:   constraints,
			FailurePolicy:      ptr.To(admissionregistrationv1.Fail),
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: "Object{}"},
			}},
		}}
	}
	binding := func(policy string, ref admissionregistrationv1.ParamRef) runtime.Object {
		ref.ParameterNotFoundAction = ptr.To(admissionregistrationv1.DenyAction)
		return &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: policy, ParamRef: &ref,
		}}
	}
	byName := admissionregistrationv1.ParamRef{Name: "one", Namespace: "ns"}
	bySelector := admissionregistrationv1.ParamRef{Selector: &metav1.LabelSelector{}}
	for name, test := range map[string]struct {
		object  runtime.Object
		groups  []string
		asks    string // what the authorizer is asked; nothing when empty
		message string // of the refusal
	}{
		"policy":                      {policy("ConfigMap"), nil, `get ""/v1 configmaps */*`, `must have "get" permission on all objects of the referenced paramKind (kind=ConfigMap, apiVersion=v1)`},
		"policy with an unknown kind": {policy("Thing"), nil, `get ""/v1 * */*`, `must have "get" permission`},
		"administrator":               {policy("ConfigMap"), []string{user.SystemPrivilegedGroup}, "", ""},
		"binding by name":             {binding("there", byName), nil, `get ""/v1 configmaps ns/one`, "permission on the object referenced by paramRef"},
		"binding by selector":         {binding("there", bySelector), nil, `list ""/v1 configmaps /`, "permission on the object referenced by paramRef"},
		"binding to an unknown kind":  {binding("unknown", byName), nil, `get ""/v1 * ns/one`, "unable to resolve paramKind &{v1 Thing} to determine"},
		"binding to no policy":        {binding("none", byName), nil, `get "*"/* * ns/one`, "unable to get policy none to determine"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCatalogue(t, resource.Options{})
			policies := storageOf[rest.Creater](t, c, admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingadmissionpolicies"), "")
			for name, kind := range map[string]string{"there": "ConfigMap", "unknown": "Thing"} {
				stored := policy(kind).(*admissionregistrationv1.MutatingAdmissionPolicy)
				stored.Name = name
				if _, err := policies.Create(in(""), stored, nil, &metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			asked := &refusing{}
			c.Bind(resource.Hooks{Authorizer: asked})
			storage := policies
			if _, ok := test.object.(*admissionregistrationv1.MutatingAdmissionPolicyBinding); ok {
				storage = storageOf[rest.Creater](t, c, admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingadmissionpolicybindings"), "")
			}
			ctx := request.WithUser(in(""), &user.DefaultInfo{Name: "ann", Groups: test.groups})
			_, err := storage.Create(ctx, test.object, nil, &metav1.CreateOptions{})
			if asked.question != test.asks {
				t.Errorf("the authorizer was asked %q, want %q", asked.question, test.asks)
			}
			if test.message == "" && err != nil || test.message != "" && (err == nil || !strings.Contains(err.Error(), test.message)) {
				t.Errorf("the answer is %v, want one that says %q", err, test.message)
			}
		})
	}
}

// refusing is an authorizer that allows nothing and remembers what it was asked.
type refusing struct{ question string }

func (r *refusing) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	r.question = a.GetVerb() + ` "` + a.GetAPIGroup() + `"/` + a.GetAPIVersion() + " " + a.GetResource() + " " + a.GetNamespace() + "/" + a.GetName()
	return authorizer.DecisionNoOpinion, "", nil
}
