package match

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func BenchmarkNoMatch(b *testing.B) {
	equivalent := admissionregistrationv1.Equivalent
	criteria := ForWebhook(rules(rulesOn("CREATE,UPDATE", "apps", "v1", "deployments", "statefulsets")), &equivalent, &metav1.LabelSelector{}, &metav1.LabelSelector{})
	a, o := ask{resource: "v1/configmaps", namespace: "a"}.attributes(), served()
	b.ReportAllocs()
	for b.Loop() {
		if outcome, err := criteria.Match(b.Context(), a, o, namespaces{}); err != nil || outcome.Matched {
			b.Fatal(outcome, err)
		}
	}
}
