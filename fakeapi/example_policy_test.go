package fakeapi_test

import (
	"context"
	"fmt"
	"log"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// A test of a ValidatingAdmissionPolicy. It is an object here; Options.Load takes it from the file that is deployed.
func Example_policy() {
	ctx := context.Background()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "few-replicas"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
						Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
					},
				}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression:        "object.spec.replicas <= 5",
				MessageExpression: "'at most 5 replicas, not ' + string(object.spec.replicas)",
			}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "few-replicas"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        "few-replicas",
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	api, err := fakeapi.Start(ctx, fakeapi.Options{Objects: []runtime.Object{policy, binding}})
	if err != nil {
		log.Fatal(err)
	}
	defer api.Stop()

	deployments := kubernetes.NewForConfigOrDie(api.RESTConfig()).AppsV1().Deployments("default")
	for _, replicas := range []int32{3, 50} {
		labels := map[string]string{"app": "web"}
		_, err := deployments.Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", replicas)},
			Spec: appsv1.DeploymentSpec{
				Replicas: &replicas,
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example.com/web:1"}}},
				},
			},
		}, metav1.CreateOptions{})
		fmt.Println(replicas, "→", err)
	}
	// Output:
	// 3 → <nil>
	// 50 → deployments.apps "web-50" is forbidden: ValidatingAdmissionPolicy 'few-replicas' with binding 'few-replicas' denied request: at most 5 replicas, not 50
}
