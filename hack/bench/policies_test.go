package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// policyScenarios are numbers of validating policies, and how many of them match the creates that are measured.
var policyScenarios = []struct{ policies, matching int }{{0, 0}, {1, 1}, {50, 1}, {50, 50}, {500, 1}, {500, 500}}

// policyFigure names what was measured with so many policies.
func policyFigure(what string, policies, matching int) string {
	return fmt.Sprintf("%s, %d policies, %d match", what, policies, matching)
}

// BenchmarkPolicies measures creates of a config map, one after the other, under validating policies of two expressions,
// and how much longer than without a policy each takes.
func BenchmarkPolicies(b *testing.B) {
	for _, s := range subjects {
		b.Run("server="+s.name, func(b *testing.B) {
			started, client := run(b, s.start)
			defer func() {
				if err := started.stop(); err != nil {
					b.Error(err)
				}
			}()
			if err := firstCreate(b.Context(), client); err != nil {
				b.Fatal(err)
			}
			var without time.Duration
			for _, scenario := range policyScenarios {
				policies, matching := scenario.policies, scenario.matching
				b.Run(fmt.Sprintf("policies=%d,matching=%d", policies, matching), func(b *testing.B) {
					namespace := makeNamespace(b, client)
					if err := makePolicies(b.Context(), client, namespace, policies, matching); err != nil {
						b.Fatal(err)
					}
					defer func() {
						if err := removePolicies(context.WithoutCancel(b.Context()), client, namespace); err != nil {
							b.Error(err)
						}
					}()
					each := measure(b, started, policyFigure("per create", policies, matching), s.name, func() {
						if _, err := client.CoreV1().ConfigMaps(namespace).Create(b.Context(), probe(), metav1.CreateOptions{}); err != nil {
							b.Fatal(err)
						}
					})
					note(policyFigure("creates", policies, matching), s.name, 1/each.Seconds())
					if policies == 0 {
						without = each
						return
					}
					added := milliseconds(each - without)
					b.ReportMetric(added, "added-ms")
					note(policyFigure("added latency", policies, matching), s.name, added)
				})
			}
		})
	}
}

// sentinel is the name of a config map that every policy refuses.
const sentinel = "sentinel"

// makePolicies makes policies with a binding each, of which some match what is created in the namespace, and waits until
// they act.
func makePolicies(ctx context.Context, client kubernetes.Interface, namespace string, policies, matching int) error {
	api := client.AdmissionregistrationV1()
	for i := range policies {
		selected := namespace
		if i < policies-matching {
			selected = "another"
		}
		made := metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", namespace, i), Labels: map[string]string{"bench": namespace}}
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: made, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: selected}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{
				{Expression: fmt.Sprintf("object.metadata.?name.orValue('') != '%s'", sentinel), Reason: ptr.To(metav1.StatusReasonForbidden)},
				{Expression: "has(object.data) && object.data.all(key, key.matches('^[a-z]+$') && object.data[key].size() < 1000)"},
			},
		}}
		if _, err := api.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
			return err
		}
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: made, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		}}
		if _, err := api.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if matching == 0 {
		return nil
	}
	// The last policy matches, and a server learns of policies in the order of their making.
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		refused := probe()
		refused.Name = sentinel
		_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, refused, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		var status apierrors.APIStatus
		if errors.As(err, &status) && status.Status().Code == http.StatusForbidden {
			return true, nil
		}
		return false, err
	})
}

// removePolicies takes away what makePolicies made in the namespace's name.
func removePolicies(ctx context.Context, client kubernetes.Interface, namespace string) error {
	api := client.AdmissionregistrationV1()
	mine := metav1.ListOptions{LabelSelector: "bench=" + namespace}
	return errors.Join(
		api.ValidatingAdmissionPolicyBindings().DeleteCollection(ctx, metav1.DeleteOptions{}, mine),
		api.ValidatingAdmissionPolicies().DeleteCollection(ctx, metav1.DeleteOptions{}, mine),
	)
}
