package compare_test

import (
	"encoding/json"
	"fmt"

	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config/configtest"
)

const rounds = 4000

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // Kubernetes compares its two kinds of validation and logs what differs
	os.Exit(m.Run())
}

// TestRandom changes objects of the tables here and there, and compares what becomes of them: defaults and errors.
func TestRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	cases := configtest.Cases(t)
	valid, tried := 0, 0
	for range rounds {
		source := cases[r.IntN(len(cases))]
		object := mutate(r, source.Object)
		var old runtime.Object
		if r.IntN(2) == 0 {
			old = mutate(r, source.Object)
		}
		if object == nil {
			continue
		}
		description := fmt.Sprintf("%s\nnew: %s\nold: %s", source.Name, text(object), text(old))
		want := kubernetes(t, object, old)

		theirs := object.DeepCopyObject()
		legacyscheme.Scheme.Default(theirs)
		config.Default(object)
		if diff := cmp.Diff(theirs, object); diff != "" {
			t.Fatalf("%s\ndefaults (-kubernetes +fakeapi):\n%s", description, diff)
		}
		errs := config.Validate(object)
		if old != nil {
			config.Default(old)
			errs = config.ValidateUpdate(object, old)
		}
		if diff := cmp.Diff(want, texts(errs)); diff != "" {
			t.Fatalf("%s\nerrors (-kubernetes +fakeapi):\n%s", description, diff)
		}
		if diff := cmp.Diff(kubernetesWarnings(t, object), config.Warnings(object)); diff != "" {
			t.Fatalf("%s\nwarnings (-kubernetes +fakeapi):\n%s", description, diff)
		}
		tried++
		if len(want) == 0 {
			valid++
		}
	}
	if valid == 0 || valid == tried {
		t.Errorf("%d of %d objects were valid: they are too much alike to tell anything", valid, tried)
	}
}

func text(object runtime.Object) string {
	encoded, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}

// mutate returns an object with a few values changed; nil where that does not give an object of the kind.
func mutate(r *rand.Rand, object runtime.Object) runtime.Object {
	var content any
	if err := json.Unmarshal([]byte(text(object)), &content); err != nil {
		return nil
	}
	for range r.IntN(4) {
		content = change(r, content)
	}
	encoded, err := json.Marshal(content)
	if err != nil {
		return nil
	}
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(object)
	if err != nil {
		return nil
	}
	changed, err := legacyscheme.Scheme.New(kinds[0])
	if err != nil || json.Unmarshal(encoded, changed) != nil {
		return nil
	}
	return changed
}

// pool are values that are wrong in many places and right in some.
var pool = []any{
	nil, "", " ", "*", "*/*", "pods", "pods/*", "*/scale", "a/b/c", "A_b", "-", "v1", "v1beta1", "v2", "CREATE", "DELETE",
	"Fail", "Ignore", "Exact", "Never", "IfNeeded", "None", "Some", "Cluster", "Deny", "Warn", "Audit", "JSONPatch",
	"true", "'x'", "1", "nope", "object.x == 1", "variables.a", "variables.a == 'x'", "params.x == 1", "null",
	"authorizer.path('/x').check('get').allowed()", "Object{}", "[JSONPatch{}]", "https://a.example.com", "http://a:b@c#d?e",
	"a.example.com", "In", "Exists", "a\nb", float64(0), float64(1), float64(31), true,
	"tokenreviews", "authentication.k8s.io", "a.static.k8s.io", []any{}, []any{"*"}, []any{"v1", "v1"}, map[string]any{}, map[string]any{"a": "b"},
}

// change changes one value somewhere in the content.
func change(r *rand.Rand, content any) any {
	switch content := content.(type) {
	case map[string]any:
		keys := make([]string, 0, len(content))
		for key := range content {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		if len(keys) == 0 || r.IntN(12) == 0 {
			return pool[r.IntN(len(pool))]
		}
		key := keys[r.IntN(len(keys))]
		if r.IntN(8) == 0 {
			delete(content, key)
		} else {
			content[key] = change(r, content[key])
		}
		return content
	case []any:
		switch {
		case len(content) == 0 || r.IntN(12) == 0:
			return append(content, pool[r.IntN(len(pool))])
		case r.IntN(8) == 0:
			return append(content, content[r.IntN(len(content))])
		}
		i := r.IntN(len(content))
		content[i] = change(r, content[i])
		return content
	default:
		return pool[r.IntN(len(pool))]
	}
}
