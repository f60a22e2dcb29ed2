package authz_test

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/authz"
)

//go:generate go run ../../../hack/generate/served roles testdata/roles.json.gz

// TestRecordedRoles compares the roles and bindings with those that a kube-apiserver v1.37.2 starts with.
func TestRecordedRoles(t *testing.T) {
	var recorded struct {
		ClusterRoles        rbacv1.ClusterRoleList
		ClusterRoleBindings rbacv1.ClusterRoleBindingList
	}
	file, err := os.Open("testdata/roles.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() // only read
	content, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(content).Decode(&recorded); err != nil {
		t.Fatal(err)
	}
	roles := map[string]rbacv1.ClusterRole{}
	for _, role := range recorded.ClusterRoles.Items {
		role.ObjectMeta = given(role.ObjectMeta)
		roles[role.Name] = role
	}
	for _, role := range authz.BootstrapRoles() {
		if role.AggregationRule != nil {
			role.Rules = nil // the real server's are those of a controller
		}
		if diff := cmp.Diff(roles[role.Name], *role); diff != "" {
			t.Errorf("role %s (-real +ours):\n%s", role.Name, diff)
		}
	}
	bindings := map[string]rbacv1.ClusterRoleBinding{}
	for _, binding := range recorded.ClusterRoleBindings.Items {
		binding.ObjectMeta = given(binding.ObjectMeta)
		bindings[binding.Name] = binding
	}
	for _, binding := range authz.BootstrapBindings() {
		if diff := cmp.Diff(bindings[binding.Name], *binding); diff != "" {
			t.Errorf("binding %s (-real +ours):\n%s", binding.Name, diff)
		}
	}
}

// given is the metadata that is not filled in when an object is stored.
func given(metadata metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: metadata.Name, Labels: metadata.Labels, Annotations: metadata.Annotations}
}
