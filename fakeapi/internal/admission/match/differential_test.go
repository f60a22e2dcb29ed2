package match

import (
	"context"
	"math/rand/v2"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/namespace"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/object"
	upstreamrules "k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// The tests of this file ask the API server's own code for a second opinion, on random rules, selectors and requests
// drawn from few values, so that much of it matches.

const rounds = 5000

func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func some[T any](r *rand.Rand, from ...T) []T {
	picked := make([]T, 0, 2)
	for range 1 + r.IntN(2) {
		picked = append(picked, pick(r, from...))
	}
	return picked
}

func randomRule(r *rand.Rand) admissionregistrationv1.RuleWithOperations {
	rule := admissionregistrationv1.RuleWithOperations{
		Operations: some[admissionregistrationv1.OperationType](r, "*", "CREATE", "UPDATE", "DELETE", "CONNECT"),
		Rule: admissionregistrationv1.Rule{
			APIGroups:   some(r, "*", "", "apps", "extensions"),
			APIVersions: some(r, "*", "v1", "v1beta1"),
			Resources:   some(r, "*", "*/*", "*/scale", "pods", "pods/*", "deployments", "deployments/*", "deployments/scale", "namespaces", "namespaces/*", "nodes"),
		},
	}
	if scope := pick(r, "", "*", "Cluster", "Namespaced"); scope != "" {
		rule.Scope = ptr(admissionregistrationv1.ScopeType(scope))
	}
	return rule
}

func randomLabels(r *rand.Rand) map[string]string {
	set := map[string]string{}
	for range r.IntN(3) {
		set[pick(r, "a", "b", corev1.LabelMetadataName)] = pick(r, "1", "2")
	}
	return set
}

func randomSelector(r *rand.Rand) *metav1.LabelSelector {
	switch r.IntN(8) {
	case 0:
		return nil
	case 1, 2, 3:
		return &metav1.LabelSelector{}
	}
	s := &metav1.LabelSelector{MatchLabels: randomLabels(r)}
	if r.IntN(2) == 0 {
		operator := pick(r, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist, "Nonsense")
		requirement := metav1.LabelSelectorRequirement{Key: pick(r, "a", "b"), Operator: operator}
		if operator == metav1.LabelSelectorOpIn || operator == metav1.LabelSelectorOpNotIn {
			requirement.Values = some(r, "1", "2")
		}
		s.MatchExpressions = append(s.MatchExpressions, requirement)
	}
	return s
}

func randomAsk(r *rand.Rand) ask {
	q := ask{
		operation: pick(r, admission.Create, admission.Update, admission.Delete, admission.Connect),
		resource:  pick(r, "v1/pods", "v1/pods/status", "apps/v1/deployments", "apps/v1beta1/deployments/scale", "extensions/v1beta1/deployments", "v1/namespaces", "v1/namespaces/status", "v1/nodes", "example.com/v1/widgets"),
		namespace: pick(r, "", "one", "two", "missing"),
		name:      pick(r, "", "x", "y"),
		labels:    randomLabels(r),
		oldLabels: randomLabels(r),
	}
	if q.operation == admission.Connect && r.IntN(2) == 0 {
		q.object = &corev1.PodExecOptions{}
	}
	return q
}

func TestRulesAsUpstream(t *testing.T) {
	r := random(t)
	matched := 0
	for range rounds {
		rule, a := randomRule(r), randomAsk(r).attributes()
		want := (&upstreamrules.Matcher{Rule: rule, Attr: a}).Matches()
		outcome, err := ForWebhook([]admissionregistrationv1.RuleWithOperations{rule}, nil, &metav1.LabelSelector{}, &metav1.LabelSelector{}).
			Match(t.Context(), a, served(), namespaces{})
		if err != nil {
			t.Fatal(err)
		}
		if outcome.Matched != want {
			t.Fatalf("matched %v, upstream %v: %v on %v %v/%s in %q; reason: %s", outcome.Matched, want, rule,
				a.GetOperation(), a.GetResource(), a.GetSubresource(), a.GetNamespace(), outcome.Reason)
		}
		if want {
			matched++
		}
	}
	if matched == 0 || matched == rounds {
		t.Errorf("%d of %d matched: the rows are too much alike to tell anything", matched, rounds)
	}
}

// criteria are MatchResources as upstream's matcher takes them.
type criteria struct {
	resources admissionregistrationv1.MatchResources
}

func (c criteria) GetMatchResources() admissionregistrationv1.MatchResources { return c.resources }
func (c criteria) GetParsedNamespaceSelector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(c.resources.NamespaceSelector)
}
func (c criteria) GetParsedObjectSelector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(c.resources.ObjectSelector)
}

type lister struct {
	corelisters.NamespaceLister
	namespaces
}

func (l lister) Get(name string) (*corev1.Namespace, error) {
	return l.Namespace(context.Background(), name)
}

func TestSelectorsAsUpstream(t *testing.T) {
	r := random(t)
	stored := namespaces{"one": {"a": "1"}, "two": {"b": "2", corev1.LabelMetadataName: "two"}}
	upstreamNamespaces := &namespace.Matcher{NamespaceLister: lister{namespaces: stored}, Client: fake.NewClientset()}
	upstreamObjects := &object.Matcher{}
	for range rounds {
		c := criteria{admissionregistrationv1.MatchResources{NamespaceSelector: randomSelector(r), ObjectSelector: randomSelector(r)}}
		a := randomAsk(r).attributes()

		namespaceSelector := compileSelector("namespaceSelector", c.resources.NamespaceSelector)
		got, _, err := namespaceSelector.selectsNamespace(t.Context(), a, stored)
		want, wantErr := upstreamNamespaces.MatchNamespaceSelector(c, a)
		if a.GetResource().Resource == "namespaces" && a.GetObject() == nil {
			continue // no request is like this
		}
		if got != want || reasonOf(err) != reasonOf(statusOrNil(wantErr)) {
			t.Fatalf("namespaceSelector %v on %v %v in %q: %v, %v; upstream %v, %v", c.resources.NamespaceSelector,
				a.GetOperation(), a.GetResource(), a.GetNamespace(), got, err, want, wantErr)
		}

		objectSelector := compileSelector("objectSelector", c.resources.ObjectSelector)
		got, _, err = objectSelector.selectsObject(a)
		want, wantErr = upstreamObjects.MatchObjectSelector(c, a)
		if got != want || reasonOf(err) != reasonOf(statusOrNil(wantErr)) {
			t.Fatalf("objectSelector %v on %v, %v: %v, %v; upstream %v, %v", c.resources.ObjectSelector,
				a.GetObject(), a.GetOldObject(), got, err, want, wantErr)
		}
	}
}

func TestPoliciesAsUpstream(t *testing.T) {
	r := random(t)
	stored := namespaces{"one": {"a": "1"}, "two": {"b": "2"}}
	upstream := matching.NewMatcher(lister{namespaces: stored}, fake.NewClientset())
	interfaces := served()
	named := func() (list []admissionregistrationv1.NamedRuleWithOperations) {
		for range r.IntN(3) {
			rule := admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: randomRule(r)}
			if r.IntN(4) == 0 {
				rule.ResourceNames = some(r, "x", "y")
			}
			list = append(list, rule)
		}
		return list
	}
	matched := 0
	for range rounds {
		c := criteria{admissionregistrationv1.MatchResources{
			NamespaceSelector:    randomSelector(r),
			ObjectSelector:       randomSelector(r),
			ResourceRules:        named(),
			ExcludeResourceRules: named(),
			MatchPolicy:          pick(r, nil, ptr(admissionregistrationv1.Exact), ptr(admissionregistrationv1.Equivalent)),
		}}
		a := randomAsk(r).attributes()
		if a.GetResource().Resource == "namespaces" && a.GetObject() == nil {
			continue // no request is like this
		}
		want, resource, kind, wantErr := upstream.Matches(a, interfaces, c)
		outcome, err := ForPolicy(&c.resources).Match(t.Context(), a, interfaces, stored)
		if outcome.Matched != want || reasonOf(err) != reasonOf(wantErr) || want && (outcome.Resource != resource || outcome.Kind != kind) {
			t.Fatalf("%+v on %v %v/%s in %q:\n%+v, %v\nupstream %v, %v, %v, %v", c.resources, a.GetOperation(), a.GetResource(), a.GetSubresource(),
				a.GetNamespace(), outcome, err, want, resource, kind, wantErr)
		}
		if want {
			matched++
		}
	}
	if matched == 0 {
		t.Error("nothing matched: the rows tell nothing")
	}
}

// statusOrNil keeps a nil *StatusError from becoming an error.
func statusOrNil(err *apierrors.StatusError) error {
	if err == nil {
		return nil
	}
	return err
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return "error " + string(apierrors.ReasonForError(err))
}
