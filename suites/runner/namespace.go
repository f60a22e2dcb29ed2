package runner

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// namespaceTimeout is how long the server may take to furnish a new namespace.
const namespaceTimeout = 30 * time.Second

// uniqueName is a DNS label for ${case}: the end of the case's id for people, and something random for the server.
func uniqueName(id string) string {
	name := strings.ToLower(id[strings.LastIndex(id, "/")+1:])
	name = strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name), "-")
	if len(name) > 20 {
		name = strings.TrimRight(name[:20], "-")
	}
	if name == "" || name[0] < 'a' {
		name = "c" + name
	}
	return name + "-" + utilrand.String(6)
}

// makeNamespace creates the case's own namespace and waits until the server's controllers have furnished it, so that
// what they create there is not taken for the case's.
func (s *Server) makeNamespace(ctx context.Context, name string, described fixtures.Namespace) error {
	labels := map[string]string{"app.kubernetes.io/managed-by": "gatehouse"}
	for key, value := range described.Labels {
		labels[key] = value
	}
	namespace := corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: described.Annotations},
	}
	if _, err := s.client.post(ctx, "/api/v1/namespaces", namespace); err != nil {
		return fmt.Errorf("making the case's namespace: %w", err)
	}
	furniture, err := s.inNamespaces(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, namespaceTimeout)
	defer cancel()
	for _, path := range furniture {
		err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			return s.exists(ctx, "/api/v1/namespaces/"+name+path)
		})
		if err != nil {
			return fmt.Errorf("waiting for %s in the case's namespace: %w", path, err)
		}
	}
	return nil
}

// findInNamespaces looks in the namespace default for what controllers put into every namespace.
func (s *Server) findInNamespaces(ctx context.Context) ([]string, error) {
	var found []string
	for _, path := range []string{"/serviceaccounts/default", "/configmaps/kube-root-ca.crt"} {
		there, err := s.exists(ctx, "/api/v1/namespaces/default"+path)
		if err != nil {
			return nil, err
		}
		if there {
			found = append(found, path)
		}
	}
	return found, nil
}

func (s *Server) exists(ctx context.Context, path string) (bool, error) {
	a, err := s.client.do(ctx, &request{method: http.MethodGet, path: path})
	if err != nil {
		return false, err
	}
	return a.code == http.StatusOK, nil
}
