package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

var configMaps = schema.GroupResource{Resource: "configmaps"}

func key(namespace, name string) store.Key {
	return store.Key{Resource: configMaps, Namespace: namespace, Name: name}
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func mustCreate(t *testing.T, s *store.Store, namespace, name string) *corev1.ConfigMap {
	t.Helper()
	object := configMap(namespace, name)
	if err := s.Create(key(namespace, name), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// set writes a value under data.v.
func set(t *testing.T, s *store.Store, namespace, name, value string) *corev1.ConfigMap {
	t.Helper()
	updated, err := s.Update(t.Context(), key(namespace, name), func(current runtime.Object) (runtime.Object, error) {
		object := current.DeepCopyObject().(*corev1.ConfigMap)
		object.Data = map[string]string{"v": value}
		return object, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return updated.(*corev1.ConfigMap)
}

func remove(t *testing.T, s *store.Store, namespace, name string) runtime.Object {
	t.Helper()
	current, err := s.Get(key(namespace, name))
	if err != nil {
		t.Fatal(err)
	}
	removed, err := s.Delete(key(namespace, name), current)
	if err != nil {
		t.Fatal(err)
	}
	return removed
}

func version(t *testing.T, object runtime.Object) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(object.(metav1.Object).GetResourceVersion(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// names shows objects as namespace/name=value.
func names(objects []runtime.Object) string {
	var list []string
	for _, object := range objects {
		o := object.(*corev1.ConfigMap)
		list = append(list, fmt.Sprintf("%s/%s=%s", o.Namespace, o.Name, o.Data["v"]))
	}
	return strings.Join(list, " ")
}

func TestResourceVersionsIncreaseOverAllResources(t *testing.T) {
	s := store.New(store.Options{})
	first := mustCreate(t, s, "a", "x")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	if err := s.Create(store.Key{Resource: schema.GroupResource{Resource: "secrets"}, Name: "x"}, secret); err != nil {
		t.Fatal(err)
	}
	updated := set(t, s, "a", "x", "1")
	removed := remove(t, s, "a", "x")
	versions := []uint64{version(t, first), version(t, secret), version(t, updated), version(t, removed)}
	for i := range versions[1:] {
		if versions[i+1] != versions[i]+1 {
			t.Fatalf("resource versions %v are not consecutive", versions)
		}
	}
	if got := s.Revision(); got != versions[3] {
		t.Errorf("Revision() = %d, want that of the deletion, %d", got, versions[3])
	}
}

func TestWritesThatMustFail(t *testing.T) {
	s := store.New(store.Options{})
	old := mustCreate(t, s, "a", "x")
	set(t, s, "a", "x", "1")
	for name, test := range map[string]struct {
		write func() error
		is    func(error) bool
	}{
		"create where something is": {func() error { return s.Create(key("a", "x"), configMap("a", "x")) }, storage.IsExist},
		"delete what was changed":   {func() error { _, err := s.Delete(key("a", "x"), old); return err }, storage.IsConflict},
		"delete what is not there":  {func() error { _, err := s.Delete(key("a", "y"), old); return err }, storage.IsNotFound},
		"get what is not there":     {func() error { _, err := s.Get(key("a", "y")); return err }, storage.IsNotFound},
		"an update's own error": {func() error {
			_, err := s.Update(t.Context(), key("a", "x"), func(runtime.Object) (runtime.Object, error) { return nil, errStop })
			return err
		}, func(err error) bool { return errors.Is(err, errStop) }},
	} {
		before := s.Revision()
		if err := test.write(); !test.is(err) {
			t.Errorf("%s: error %v", name, err)
		}
		if s.Revision() != before {
			t.Errorf("%s: something was written", name)
		}
	}
}

var errStop = errors.New("stop")

func TestUpdateIsTriedAgainAfterAWriteInBetween(t *testing.T) {
	s := store.New(store.Options{})
	mustCreate(t, s, "a", "x")
	var saw []string
	updated, err := s.Update(t.Context(), key("a", "x"), func(current runtime.Object) (runtime.Object, error) {
		object := current.DeepCopyObject().(*corev1.ConfigMap)
		saw = append(saw, object.Data["v"])
		if len(saw) == 1 {
			set(t, s, "a", "x", "meanwhile")
		}
		object.Labels = map[string]string{"l": "1"}
		return object, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"", "meanwhile"}; !slices.Equal(saw, want) {
		t.Errorf("the update saw %q, want %q", saw, want)
	}
	if got := updated.(*corev1.ConfigMap); got.Data["v"] != "meanwhile" || got.Labels["l"] != "1" {
		t.Errorf("the other write was lost: %v", got)
	}
}

func TestUpdateThatChangesNothingIsNotWritten(t *testing.T) {
	s := store.New(store.Options{})
	created := mustCreate(t, s, "a", "x")
	before := s.Revision()
	updated, err := s.Update(t.Context(), key("a", "x"), func(current runtime.Object) (runtime.Object, error) {
		object := current.DeepCopyObject().(*corev1.ConfigMap)
		object.Data = map[string]string{} // means the same as none
		object.ResourceVersion = ""
		return object, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if updated != runtime.Object(created) || s.Revision() != before {
		t.Errorf("the update was written: revision %d, was %d", s.Revision(), before)
	}
}

func TestUpdateEndsWithItsContext(t *testing.T) {
	s := store.New(store.Options{})
	mustCreate(t, s, "a", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Update(ctx, key("a", "x"), func(current runtime.Object) (runtime.Object, error) { return current, nil })
	if !storage.IsRequestTimeout(err) {
		t.Errorf("error %v, want a timeout", err)
	}
}

func TestConcurrentUpdatesLoseNothing(t *testing.T) {
	s := store.New(store.Options{})
	mustCreate(t, s, "a", "x")
	const writers, writes = 8, 50
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for range writes {
				_, err := s.Update(context.Background(), key("a", "x"), func(current runtime.Object) (runtime.Object, error) {
					object := current.DeepCopyObject().(*corev1.ConfigMap)
					n, _ := strconv.Atoi(object.Data["v"])
					object.Data = map[string]string{"v": strconv.Itoa(n + 1)}
					return object, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	object, err := s.Get(key("a", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if got := object.(*corev1.ConfigMap).Data["v"]; got != strconv.Itoa(writers*writes) {
		t.Errorf("counted to %s, want %d", got, writers*writes)
	}
}

func TestListIsInOrderOfTheKey(t *testing.T) {
	s := store.New(store.Options{})
	for _, name := range []string{"b/x", "a-b/x", "a/y", "a/x", "a.b/x"} {
		namespace, name, _ := strings.Cut(name, "/")
		mustCreate(t, s, namespace, name)
	}
	for namespace, want := range map[string]string{
		"":   "a-b/x= a.b/x= a/x= a/y= b/x=",
		"a":  "a/x= a/y=",
		"no": "",
	} {
		objects, revision := s.List(configMaps, namespace)
		if got := names(objects); got != want {
			t.Errorf("namespace %q: %s, want %s", namespace, got, want)
		}
		if revision != s.Revision() {
			t.Errorf("namespace %q: revision %d, want %d", namespace, revision, s.Revision())
		}
	}
}

func TestListOfThePast(t *testing.T) {
	s := store.New(store.Options{})
	steps := []func(){
		func() { mustCreate(t, s, "a", "x") },
		func() { mustCreate(t, s, "b", "y") },
		func() { set(t, s, "a", "x", "1") },
		func() { remove(t, s, "b", "y") },
		func() { mustCreate(t, s, "b", "y") },
		func() { set(t, s, "b", "y", "2") },
		func() { remove(t, s, "a", "x") },
	}
	type state struct {
		revision uint64
		all, b   string
	}
	var states []state
	for _, step := range steps {
		step()
		all, revision := s.List(configMaps, "")
		b, _ := s.List(configMaps, "b")
		states = append(states, state{revision, names(all), names(b)})
	}
	for _, was := range states {
		for namespace, want := range map[string]string{"": was.all, "b": was.b} {
			objects, err := s.ListAt(configMaps, namespace, was.revision)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(objects); got != want {
				t.Errorf("namespace %q at %d: %s, want %s", namespace, was.revision, got, want)
			}
		}
	}
	if _, err := s.ListAt(configMaps, "", s.Revision()+1); !storage.IsTooLargeResourceVersion(err) {
		t.Errorf("list of the future: error %v", err)
	}
}

// read shows what a watch returns as TYPE namespace/name=value.
func read(t *testing.T, w *store.Watch) []string {
	t.Helper()
	changes, _, err := w.Next()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, change := range changes {
		list = append(list, string(change.Type)+" "+names([]runtime.Object{change.Object}))
	}
	return list
}

func TestWatchResumes(t *testing.T) {
	s := store.New(store.Options{})
	mustCreate(t, s, "a", "x")
	since := s.Revision()
	mustCreate(t, s, "b", "y")
	set(t, s, "a", "x", "1")
	remove(t, s, "b", "y")

	for name, test := range map[string]struct {
		namespace string
		since     uint64
		want      []string
	}{
		"everything":        {"", since, []string{"ADDED b/y=", "MODIFIED a/x=1", "DELETED b/y="}},
		"one namespace":     {"a", since, []string{"MODIFIED a/x=1"}},
		"from the middle":   {"", since + 1, []string{"MODIFIED a/x=1", "DELETED b/y="}},
		"from now":          {"", s.Revision(), nil},
		"from what will be": {"", s.Revision() + 100, nil},
	} {
		w, err := s.Watch(configMaps, test.namespace, test.since)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, w); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if got := read(t, w); got != nil {
			t.Errorf("%s: read twice: %q", name, got)
		}
	}
}

func TestWatchIsWokenAndKnowsHowFarItIs(t *testing.T) {
	s := store.New(store.Options{})
	w, err := s.Watch(configMaps, "a", s.Revision())
	if err != nil {
		t.Fatal(err)
	}
	_, changed, err := w.Next()
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
		t.Fatal("woken before anything changed")
	default:
	}
	mustCreate(t, s, "b", "y")
	select {
	case <-changed:
	default:
		t.Fatal("not woken by a change of the resource")
	}
	if got := read(t, w); got != nil {
		t.Errorf("changes of another namespace: %q", got)
	}
	if w.Revision() != s.Revision() {
		t.Errorf("Revision() = %d, want %d: all changes have been looked at", w.Revision(), s.Revision())
	}
}

func TestTooOld(t *testing.T) {
	s := store.New(store.Options{History: 2})
	mustCreate(t, s, "a", "x")
	start := s.Revision()
	slow, err := s.Watch(configMaps, "", start)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		set(t, s, "a", "x", strconv.Itoa(i))
	}
	if _, err := s.Watch(configMaps, "", start); !apierrors.IsResourceExpired(err) {
		t.Errorf("watch: error %v, want 410", err)
	}
	if _, err := s.ListAt(configMaps, "", start); !apierrors.IsResourceExpired(err) {
		t.Errorf("list: error %v, want 410", err)
	}
	if _, _, err := slow.Next(); !apierrors.IsResourceExpired(err) {
		t.Errorf("slow watch: error %v, want 410", err)
	}
	if w, err := s.Watch(configMaps, "", s.Revision()-2); err != nil {
		t.Errorf("the last %d changes must be remembered: %v", 2, err)
	} else if got := read(t, w); len(got) != 2 {
		t.Errorf("read %q, want 2 changes", got)
	}
}

func TestWatchReadsManyChangesInParts(t *testing.T) {
	s := store.New(store.Options{})
	w, err := s.Watch(configMaps, "", s.Revision())
	if err != nil {
		t.Fatal(err)
	}
	const writes = 1000
	for i := range writes {
		mustCreate(t, s, "a", fmt.Sprintf("%04d", i))
	}
	var got []uint64
	for parts := 0; len(got) < writes; parts++ {
		changes, changed, err := w.Next()
		if err != nil || len(changes) == 0 {
			t.Fatalf("part %d: %d changes, error %v", parts, len(changes), err)
		}
		if len(changes) == writes {
			t.Fatal("all changes in one part")
		}
		for _, change := range changes {
			got = append(got, change.Revision)
		}
		select {
		case <-changed:
		default:
			if len(got) < writes {
				t.Fatalf("part %d: nobody says that there are more", parts)
			}
		}
	}
	for i, revision := range got {
		if want := got[0] + uint64(i); revision != want {
			t.Fatalf("change %d is of revision %d, want %d", i, revision, want)
		}
	}
}

func TestWatchKnowsWhenItIsTooSlow(t *testing.T) {
	s := store.New(store.Options{History: 2})
	mustCreate(t, s, "a", "x")
	w, err := s.Watch(configMaps, "", s.Revision())
	if err != nil {
		t.Fatal(err)
	}
	forgetting := w.Forgetting()
	for i := 0; ; i++ {
		if i == 10 {
			t.Fatal("nothing was ever forgotten")
		}
		if err := w.Err(); err != nil {
			t.Fatalf("after %d changes: %v", i, err)
		}
		set(t, s, "a", "x", strconv.Itoa(i))
		select {
		case <-forgetting:
		default:
			continue
		}
		break
	}
	if err := w.Err(); !apierrors.IsResourceExpired(err) {
		t.Errorf("error %v, want 410", err)
	}
}

func TestHistoryIsKeptByResource(t *testing.T) {
	s := store.New(store.Options{History: 2})
	mustCreate(t, s, "a", "x")
	start := s.Revision()
	for i := range 10 {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"i": strconv.Itoa(i)}}}
		if err := s.Put(store.Key{Resource: schema.GroupResource{Resource: "secrets"}, Name: "s"}, secret); err != nil {
			t.Fatal(err)
		}
	}
	w, err := s.Watch(configMaps, "", start)
	if err != nil {
		t.Fatalf("a busy resource made another one's history too old: %v", err)
	}
	if got := read(t, w); got != nil {
		t.Errorf("changes %q", got)
	}
}

func TestPutReplacesWhateverIsThere(t *testing.T) {
	s := store.New(store.Options{})
	since := s.Revision()
	for _, value := range []string{"1", "2"} {
		object := configMap("a", "x")
		object.Data = map[string]string{"v": value}
		if err := s.Put(key("a", "x"), object); err != nil {
			t.Fatal(err)
		}
	}
	w, err := s.Watch(configMaps, "", since)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, w), []string{"ADDED a/x=1", "MODIFIED a/x=2"}; !slices.Equal(got, want) {
		t.Errorf("watch saw %q, want %q", got, want)
	}
}
