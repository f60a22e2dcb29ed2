package resource_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	pods       = corev1.SchemeGroupVersion.WithResource("pods")
)

// write is one write to a storage that notes what it calls.
type write struct {
	t       *testing.T
	storage rest.StandardStorage
	calls   []string
}

func newWrite(t *testing.T, c *resource.Catalogue) *write {
	return &write{t: t, storage: storageOf[rest.StandardStorage](t, c, configMaps, "")}
}

func (r *write) validate(context.Context, runtime.Object) error {
	r.calls = append(r.calls, "validate")
	return nil
}

func (r *write) validateUpdate(context.Context, runtime.Object, runtime.Object) error {
	r.calls = append(r.calls, "validate update")
	return nil
}

func (r *write) create(object *corev1.ConfigMap) error {
	_, err := r.storage.Create(in("ns"), object, r.validate, &metav1.CreateOptions{})
	return err
}

// update changes an object by mutate, which stands for mutating admission.
func (r *write) update(object *corev1.ConfigMap, mutate func(object *corev1.ConfigMap), options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	info := rest.DefaultUpdatedObjectInfo(object, func(_ context.Context, object, old runtime.Object) (runtime.Object, error) {
		r.calls = append(r.calls, "mutate")
		if mutate != nil {
			mutate(object.(*corev1.ConfigMap))
		}
		return object, nil
	})
	return r.storage.Update(in("ns"), object.Name, info, r.validate, r.validateUpdate, false, options)
}

func named(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func get(t *testing.T, c *resource.Catalogue, name string) *corev1.ConfigMap {
	t.Helper()
	object, err := storageOf[rest.Getter](t, c, configMaps, "").Get(in("ns"), name, &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object.(*corev1.ConfigMap).DeepCopy()
}

func TestOrderOfCreate(t *testing.T) {
	bad := named("new")
	bad.Data = map[string]string{"not a key": ""}
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		object *corev1.ConfigMap
		calls  []string
		is     func(error) bool
	}{
		"valid":                                {named("new"), []string{"validate"}, func(err error) bool { return err == nil }},
		"checks come before admission":         {bad, nil, apierrors.IsInvalid},
		"metadata is checked":                  {named("Not_A_Name"), nil, apierrors.IsInvalid},
		"the name is looked at last":           {named("taken"), []string{"validate"}, apierrors.IsAlreadyExists},
		"nothing is written without admission": {named("denied"), []string{"validate"}, func(err error) bool { return errors.Is(err, refused) }},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCatalogue(t, resource.Options{})
			if err := newWrite(t, c).create(named("taken")); err != nil {
				t.Fatal(err)
			}
			before := len(c.Stored(configMaps.GroupResource(), ""))
			r := newWrite(t, c)
			validate := r.validate
			if test.object.Name == "denied" {
				validate = func(ctx context.Context, object runtime.Object) error {
					return errors.Join(r.validate(ctx, object), refused)
				}
			}
			_, err := r.storage.Create(in("ns"), test.object, validate, &metav1.CreateOptions{})
			if !test.is(err) {
				t.Errorf("error %v", err)
			}
			if !slices.Equal(r.calls, test.calls) {
				t.Errorf("calls %q, want %q", r.calls, test.calls)
			}
			if written := len(c.Stored(configMaps.GroupResource(), "")) - before; (written == 1) != (err == nil) {
				t.Errorf("%d objects were written with error %v", written, err)
			}
		})
	}
}

func TestOrderOfUpdate(t *testing.T) {
	otherUID := func(o *corev1.ConfigMap) { o.UID = "other" }
	badKey := func(o *corev1.ConfigMap) { o.Data = map[string]string{"not a key": ""} }
	for name, test := range map[string]struct {
		change func(object *corev1.ConfigMap)
		mutate func(object *corev1.ConfigMap)
		calls  []string
		is     func(error) bool
	}{
		"valid": {
			func(o *corev1.ConfigMap) { o.Data = map[string]string{"k": "v"} }, nil,
			[]string{"mutate", "validate update"}, func(err error) bool { return err == nil },
		},
		"preconditions come first": {otherUID, nil, nil, apierrors.IsConflict},
		"a conflict is seen after mutation": {
			func(o *corev1.ConfigMap) { o.ResourceVersion = "1" }, nil,
			[]string{"mutate"}, apierrors.IsConflict,
		},
		"a conflict is seen before the checks": {
			func(o *corev1.ConfigMap) { o.ResourceVersion = "1"; badKey(o) }, nil,
			[]string{"mutate"}, apierrors.IsConflict,
		},
		"the checks see what mutation did": {nil, badKey, []string{"mutate"}, apierrors.IsInvalid},
		"metadata may not change": {
			nil, func(o *corev1.ConfigMap) { o.Name = "other" },
			[]string{"mutate"}, apierrors.IsInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCatalogue(t, resource.Options{})
			if err := newWrite(t, c).create(named("x")); err != nil {
				t.Fatal(err)
			}
			object := get(t, c, "x")
			before := object.ResourceVersion
			if test.change != nil {
				test.change(object)
			}
			r := newWrite(t, c)
			_, _, err := r.update(object, test.mutate, &metav1.UpdateOptions{})
			if !test.is(err) {
				t.Errorf("error %v", err)
			}
			if !slices.Equal(r.calls, test.calls) {
				t.Errorf("calls %q, want %q", r.calls, test.calls)
			}
			if written := get(t, c, "x").ResourceVersion != before; written != (err == nil) {
				t.Errorf("written: %v, with error %v", written, err)
			}
		})
	}
}

func TestUpdateRunsAgainAfterAWriteInBetween(t *testing.T) {
	c := newCatalogue(t, resource.Options{})
	if err := newWrite(t, c).create(named("x")); err != nil {
		t.Fatal(err)
	}
	r := newWrite(t, c)
	object := named("x") // without a resource version: whatever is there
	attempts := 0
	_, _, err := r.update(object, func(o *corev1.ConfigMap) {
		attempts++
		o.Labels = map[string]string{"mine": "yes"}
		if attempts == 1 {
			other := get(t, c, "x")
			other.Data = map[string]string{"theirs": "yes"}
			if _, _, err := newWrite(t, c).update(other, nil, &metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}
	}, &metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"mutate", "validate update", "mutate", "validate update"}
	if !slices.Equal(r.calls, want) {
		t.Errorf("calls %q, want %q", r.calls, want)
	}
}

func TestDryRunsWriteNothing(t *testing.T) {
	c := newCatalogue(t, resource.Options{})
	if err := newWrite(t, c).create(named("x")); err != nil {
		t.Fatal(err)
	}
	all := []string{metav1.DryRunAll}
	storage := storageOf[rest.StandardStorage](t, c, configMaps, "")
	for name, do := range map[string]func(r *write) error{
		"create": func(r *write) error {
			_, err := storage.Create(in("ns"), named("y"), r.validate, &metav1.CreateOptions{DryRun: all})
			return err
		},
		"update": func(r *write) error {
			object := get(t, c, "x")
			object.Data = map[string]string{"k": "v"}
			answer, _, err := r.update(object, nil, &metav1.UpdateOptions{DryRun: all})
			if err == nil && answer.(*corev1.ConfigMap).Data["k"] != "v" {
				t.Error("the answer does not show the update")
			}
			return err
		},
		"delete": func(r *write) error {
			_, _, err := storage.Delete(in("ns"), "x", r.validate, &metav1.DeleteOptions{DryRun: all})
			return err
		},
		"delete with a finalizer to add": func(r *write) error {
			foreground := metav1.DeletePropagationForeground
			_, _, err := storage.Delete(in("ns"), "x", r.validate, &metav1.DeleteOptions{DryRun: all, PropagationPolicy: &foreground})
			return err
		},
		"deletecollection": func(r *write) error {
			_, err := storage.DeleteCollection(in("ns"), r.validate, &metav1.DeleteOptions{DryRun: all}, nil)
			return err
		},
	} {
		before := get(t, c, "x").ResourceVersion
		r := newWrite(t, c)
		if err := do(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.calls) == 0 {
			t.Errorf("%s: admission was not asked", name)
		}
		if got := get(t, c, "x").ResourceVersion; got != before {
			t.Errorf("%s: resource version %s, was %s", name, got, before)
		}
	}
	if objects := c.Stored(configMaps.GroupResource(), ""); len(objects) != 1 {
		t.Errorf("%d objects are stored, want 1", len(objects))
	}
}

func TestDeletionOfPods(t *testing.T) {
	for name, test := range map[string]struct {
		node  string
		calls int
		stays bool
		grace int64
	}{
		// Admission is asked for the update that begins a graceful deletion, and for the removal.
		"not scheduled": {"", 2, false, 0},
		"scheduled":     {"node", 1, true, 30},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCatalogue(t, resource.Options{})
			a := api{t: t, catalogue: c}
			a.do("POST", "/api/v1/namespaces/ns/pods", object{
				"metadata": object{"name": "p"},
				"spec":     object{"nodeName": test.node, "containers": []any{object{"name": "c", "image": "x"}}},
			})
			calls := 0
			validate := func(context.Context, runtime.Object) error { calls++; return nil }
			answer, deleted, err := storageOf[rest.GracefulDeleter](t, c, pods, "").Delete(in("ns"), "p", validate, &metav1.DeleteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if calls != test.calls {
				t.Errorf("admission was asked %d times, want %d", calls, test.calls)
			}
			stored := c.Stored(pods.GroupResource(), "ns")
			if stays := len(stored) == 1; stays != test.stays || deleted == test.stays {
				t.Errorf("stays: %v, reported as deleted: %v", stays, deleted)
			}
			pod := answer.(*corev1.Pod)
			if pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds != test.grace {
				t.Errorf("grace period %v, want %d", pod.DeletionGracePeriodSeconds, test.grace)
			}
		})
	}
}

func TestFinalizers(t *testing.T) {
	c := newCatalogue(t, resource.Options{})
	object := named("x")
	object.Finalizers = []string{"example.com/hold"}
	if err := newWrite(t, c).create(object); err != nil {
		t.Fatal(err)
	}
	storage := storageOf[rest.StandardStorage](t, c, configMaps, "")
	answer, deleted, err := storage.Delete(in("ns"), "x", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if held := answer.(*corev1.ConfigMap); deleted || !held.DeletionTimestamp.Time.Equal(start) {
		t.Errorf("deleted: %v, deletionTimestamp %v, want one of the server's clock", deleted, held.DeletionTimestamp)
	}

	err = newWrite(t, c).create(named("x"))
	if want := `object is being deleted: configmaps "x" already exists`; err == nil || err.Error() != want {
		t.Errorf("create meanwhile: %v, want %s", err, want)
	}

	last := get(t, c, "x")
	last.Finalizers = nil
	r := newWrite(t, c)
	if _, _, err := r.update(last, nil, &metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"mutate", "validate update"}; !slices.Equal(r.calls, want) {
		t.Errorf("calls %q, want %q: admission sees the update and no deletion", r.calls, want)
	}
	if objects := c.Stored(configMaps.GroupResource(), ""); len(objects) != 0 {
		t.Errorf("the last finalizer is gone and the object is not")
	}
}

func TestWhoMayCreateByUpdate(t *testing.T) {
	leases := object{"metadata": object{"name": "x"}, "spec": object{}}
	for path, test := range map[string]struct {
		body object
		code int
	}{
		"/apis/coordination.k8s.io/v1/namespaces/default/leases/x":                {leases, 201},
		"/api/v1/namespaces/default/configmaps/x":                                 {object{"metadata": object{"name": "x"}}, 404},
		"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/x": {object{"metadata": object{"name": "x"}}, 404},
	} {
		a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
		if code, answer := a.call("PUT", path, "application/json", test.body); code != test.code {
			t.Errorf("PUT %s: %d, want %d: %v", path, code, test.code, answer.Object["message"])
		}
	}
}

func TestWhoMustNameTheResourceVersion(t *testing.T) {
	for path, code := range map[string]int{
		"/api/v1/namespaces/default/configmaps":                                 200,
		"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations":   422,
		"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": 422,
		"/apis/coordination.k8s.io/v1/namespaces/default/leases":                422,
	} {
		a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
		body := object{"metadata": object{"name": "x"}}
		a.do("POST", path, body)
		if got, answer := a.call("PUT", path+"/x", "application/json", body); got != code {
			t.Errorf("PUT %s/x without resource version: %d, want %d: %v", path, got, code, answer.Object["message"])
		}
	}
}

func TestGeneration(t *testing.T) {
	webhook := func(name string) object {
		return object{"name": name, "clientConfig": object{"url": "https://example.com/"}, "sideEffects": "None", "admissionReviewVersions": []any{"v1"}}
	}
	for path, test := range map[string]struct{ create, change object }{
		"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": {
			object{"webhooks": []any{webhook("a.example.com")}}, object{"webhooks": []any{webhook("b.example.com")}},
		},
		"/apis/networking.k8s.io/v1/namespaces/default/networkpolicies": {
			object{"spec": object{"podSelector": object{}}}, object{"spec": object{"podSelector": object{"matchLabels": object{"a": "b"}}}},
		},
	} {
		a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
		test.create["metadata"] = object{"name": "x", "generation": 7}
		if got := a.do("POST", path, test.create).GetGeneration(); got != 1 {
			t.Errorf("%s: generation %d after create, want 1", path, got)
		}
		if got := a.do("PATCH", path+"/x", object{"metadata": object{"labels": object{"a": "b"}, "generation": 9}}).GetGeneration(); got != 1 {
			t.Errorf("%s: generation %d after a change of labels, want 1", path, got)
		}
		if got := a.do("PATCH", path+"/x", test.change).GetGeneration(); got != 2 {
			t.Errorf("%s: generation %d after a change of what is wanted, want 2", path, got)
		}
	}
}

func TestObjectsGetTheServersTimeAndUID(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	created := a.do("POST", "/api/v1/namespaces/default/configmaps", object{"metadata": object{
		"name": "x", "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z",
	}})
	if uid := created.GetUID(); uid == "mine" || uid == types.UID("") {
		t.Errorf("uid %q", uid)
	}
	if at := created.GetCreationTimestamp(); !at.Time.Equal(start) {
		t.Errorf("creationTimestamp %s, want %s", at, start)
	}
	for _, entry := range created.GetManagedFields() {
		if !entry.Time.Time.Equal(start) {
			t.Errorf("managed fields of %s are from %s, want %s", entry.Manager, entry.Time, start)
		}
	}
}
