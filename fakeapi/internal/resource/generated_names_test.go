package resource_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// Validating admission, which sees the generated name, takes it away from the object that is being created.
func TestGeneratedNamesThatAreTaken(t *testing.T) {
	for name, test := range map[string]struct{ taken, attempts int }{
		"none":         {0, 1},
		"the first":    {1, 2},
		"seven":        {7, 8},
		"one too many": {8, 8},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCatalogue(t, resource.Options{})
			creater := storageOf[rest.Creater](t, c, configMaps, "")
			attempts := 0
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"}}
			created, err := creater.Create(in("ns"), object, func(_ context.Context, object runtime.Object) error {
				attempts++
				if attempts > test.taken {
					return nil
				}
				_, err := creater.Create(in("ns"), named(object.(*corev1.ConfigMap).Name), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
				return err
			}, &metav1.CreateOptions{})
			if attempts != test.attempts {
				t.Errorf("%d attempts, want %d", attempts, test.attempts)
			}
			if test.taken == test.attempts {
				if !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), "not able to generate a unique name") {
					t.Errorf("error %v, want a 409 about the generated name", err)
				}
				return
			}
			if err != nil || !strings.HasPrefix(created.(*corev1.ConfigMap).Name, "made-") {
				t.Errorf("created %v, error %v", created, err)
			}
		})
	}
}
