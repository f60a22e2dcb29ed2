package resource_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// ns is the collection that the tests watch.
const ns = "/api/v1/namespaces/ns/configmaps"

// changes makes some changes to objects with the label color.
func changes(a api) {
	a.do("POST", ns, object{"metadata": object{"name": "a", "labels": object{"color": "red"}}})
	a.do("PATCH", ns+"/a", object{"data": object{"k": "v"}})
	a.do("PATCH", ns+"/a", object{"metadata": object{"labels": object{"color": "blue"}}})
	a.do("PATCH", ns+"/a", object{"metadata": object{"labels": object{"color": "red"}}})
	a.do("PATCH", ns+"/a", object{"metadata": object{"labels": object{"color": "red"}}}) // no change
	a.do("POST", ns, object{"metadata": object{"name": "b", "labels": object{"color": "blue"}}})
	a.do("POST", "/api/v1/namespaces/other/configmaps", object{"metadata": object{"name": "c", "labels": object{"color": "red"}}})
	a.do("DELETE", ns+"/b", nil)
	a.do("DELETE", ns+"/a", nil)
}

// show writes an event as TYPE name(color).
func show(event watch.Event) string {
	if event.Type == watch.Error {
		return fmt.Sprintf("ERROR %d", event.Object.(*metav1.Status).Code)
	}
	accessor, err := meta.Accessor(event.Object)
	if err != nil {
		return err.Error()
	}
	if event.Type == watch.Bookmark {
		end := ""
		if accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			end = " end of initial events"
		}
		return "BOOKMARK" + end
	}
	return fmt.Sprintf("%s %s(%s)", event.Type, accessor.GetName(), accessor.GetLabels()["color"])
}

// take reads the events that are there.
func take(w watch.Interface) string {
	var events []string
	for {
		synctest.Wait()
		select {
		case event, open := <-w.ResultChan():
			if !open {
				return strings.Join(append(events, "closed"), ", ")
			}
			events = append(events, show(event))
		default:
			return strings.Join(events, ", ")
		}
	}
}

func TestWatch(t *testing.T) {
	red := labels.SelectorFromSet(labels.Set{"color": "red"})
	all := "ADDED a(red), MODIFIED a(red), MODIFIED a(blue), MODIFIED a(red), ADDED b(blue), DELETED b(blue), DELETED a(red)"
	for name, test := range map[string]struct {
		options metainternalversion.ListOptions
		fromNow bool
		want    string
	}{
		"from a resource version": {metainternalversion.ListOptions{}, true, all},
		"a label": {
			metainternalversion.ListOptions{LabelSelector: red}, true,
			// Entering and leaving the selection is like coming and going.
			"ADDED a(red), MODIFIED a(red), DELETED a(red), ADDED a(red), DELETED a(red)",
		},
		"a name": {
			metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "b")}, true,
			"ADDED b(blue), DELETED b(blue)",
		},
		"without resource version": {metainternalversion.ListOptions{}, false, "ADDED old(red), " + all},
		"with initial events": {
			metainternalversion.ListOptions{
				SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			}, false, "ADDED old(red), BOOKMARK end of initial events, " + all,
		},
		"initial events for clients that know no bookmarks": {
			metainternalversion.ListOptions{SendInitialEvents: ptr.To(true)}, false, "ADDED old(red), " + all,
		},
		"without initial events": {metainternalversion.ListOptions{SendInitialEvents: ptr.To(false)}, false, all},
		"of the future": {
			metainternalversion.ListOptions{SendInitialEvents: ptr.To(true), ResourceVersion: "1000000"}, false, "ERROR 504, closed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			// The bubble ends when all goroutines in it have, so that a watch that does not end is found.
			synctest.Test(t, func(t *testing.T) {
				c := newCatalogue(t, resource.Options{})
				a := api{t: t, catalogue: c}
				old := a.do("POST", ns, object{"metadata": object{"name": "old", "labels": object{"color": "red"}}})
				if test.fromNow {
					test.options.ResourceVersion = old.GetResourceVersion()
				}
				w, err := storageOf[rest.Watcher](t, c, configMaps, "").Watch(in("ns"), &test.options)
				if err != nil {
					t.Fatal(err)
				}
				events := take(w)
				if !strings.HasSuffix(events, "closed") {
					changes(a)
					if later := take(w); events == "" {
						events = later
					} else {
						events += ", " + later
					}
				}
				if events != test.want {
					t.Errorf("events:\n%s\nwant:\n%s", events, test.want)
				}
				w.Stop()
			})
		})
	}
}

func TestWatchEnds(t *testing.T) {
	for name, end := range map[string]func(w watch.Interface, cancel func()){
		"when it is stopped":       func(w watch.Interface, _ func()) { w.Stop() },
		"when it is stopped twice": func(w watch.Interface, _ func()) { w.Stop(); w.Stop() },
		"with its context":         func(_ watch.Interface, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCatalogue(t, resource.Options{})
				ctx, cancel := context.WithCancel(in("ns"))
				defer cancel()
				w, err := storageOf[rest.Watcher](t, c, configMaps, "").Watch(ctx, &metainternalversion.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				// An event that nobody takes must not hold it.
				api{t: t, catalogue: c}.do("POST", ns, object{"metadata": object{"name": "a"}})
				synctest.Wait()
				end(w, cancel)
				if got := take(w); !strings.HasSuffix(got, "closed") {
					t.Errorf("events %q, want the end", got)
				}
			})
		})
	}
}

func TestWatchThatIsTooSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalogue(t, resource.Options{Store: store.New(store.Options{History: 3})})
		a := api{t: t, catalogue: c}
		a.do("POST", ns, object{"metadata": object{"name": "a", "labels": object{"color": "red"}}})
		w, err := storageOf[rest.Watcher](t, c, configMaps, "").Watch(in("ns"), &metainternalversion.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			a.do("PATCH", ns+"/a", object{"data": object{"i": fmt.Sprint(i)}})
		}
		if got := take(w); !strings.HasSuffix(got, "ERROR 410, closed") {
			t.Errorf("events %q, want 410 at the end", got)
		}

		w, err = storageOf[rest.Watcher](t, c, configMaps, "").Watch(in("ns"), &metainternalversion.ListOptions{ResourceVersion: "2"})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := take(w), "ERROR 410, closed"; got != want {
			t.Errorf("events of a watch from long ago: %q, want %q", got, want)
		}
	})
}

// What a client that does not read has not got yet is not kept for it.
func TestNothingIsKeptForWatchersThatDoNotRead(t *testing.T) {
	const history = 3
	kept := store.New(store.Options{History: history})
	c := newCatalogue(t, resource.Options{Store: kept})
	a := api{t: t, catalogue: c}
	a.do("POST", ns, object{"metadata": object{"name": "a"}})
	stored, err := kept.Get(store.Key{Resource: configMaps.GroupResource(), Namespace: "ns", Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	collected := make(chan struct{})
	runtime.AddCleanup(stored.(*corev1.ConfigMap), func(struct{}) { close(collected) }, struct{}{})
	for range 10 {
		w, err := storageOf[rest.Watcher](t, c, configMaps, "").Watch(in("ns"), &metainternalversion.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
	}
	for i := range 3 * history {
		a.do("PATCH", ns+"/a", object{"data": object{"i": fmt.Sprint(i)}})
	}
	for range 100 {
		runtime.GC()
		select {
		case <-collected:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("an object that is long gone is still kept")
}

func TestBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalogue(t, resource.Options{})
		a := api{t: t, catalogue: c}
		ctx, cancel := context.WithTimeout(in("ns"), 90*time.Second)
		defer cancel()
		options := &metainternalversion.ListOptions{AllowWatchBookmarks: true, SendInitialEvents: ptr.To(false)}
		w, err := storageOf[rest.Watcher](t, c, configMaps, "").Watch(ctx, options)
		if err != nil {
			t.Fatal(err)
		}
		// A change elsewhere makes the resource version of the bookmark one that the client did not know.
		other := a.do("POST", "/api/v1/namespaces/other/secrets", object{"metadata": object{"name": "s"}})
		time.Sleep(61 * time.Second)
		synctest.Wait()
		bookmark := <-w.ResultChan()
		if got := show(bookmark); got != "BOOKMARK" {
			t.Fatalf("event %s after a quiet minute, want a bookmark", got)
		}
		if got := bookmark.Object.(*corev1.ConfigMap).ResourceVersion; got == "" || got > other.GetResourceVersion() {
			t.Errorf("bookmark of resource version %q, want one up to %s", got, other.GetResourceVersion())
		}
		time.Sleep(28 * time.Second)
		if got := take(w); got != "BOOKMARK" {
			t.Errorf("events %q before the end, want a bookmark", got)
		}
		time.Sleep(2 * time.Second)
		if got := take(w); got != "closed" {
			t.Errorf("events %q, want the end", got)
		}
	})
}

func TestListInPages(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	for i := range 5 {
		a.do("POST", ns, object{"metadata": object{"name": fmt.Sprintf("c%d", i), "labels": object{"odd": fmt.Sprint(i % 2)}}})
	}
	first := a.do("GET", ns+"?limit=2", nil)
	if remaining := nested(first, "metadata", "remainingItemCount"); remaining != int64(3) {
		t.Errorf("remainingItemCount %v, want 3", remaining)
	}
	// What happens between pages does not show in them.
	a.do("DELETE", ns+"/c4", nil)
	a.do("PATCH", ns+"/c2", object{"data": object{"k": "v"}})
	a.do("POST", ns, object{"metadata": object{"name": "c9"}})
	token := nested(first, "metadata", "continue").(string)
	rest := a.do("GET", ns+"?limit=10&continue="+token, nil)
	var names []string
	for _, item := range rest.Object["items"].([]any) {
		names = append(names, item.(object)["metadata"].(object)["name"].(string))
		if item.(object)["data"] != nil {
			t.Error("a later page shows a later change")
		}
	}
	if got := strings.Join(names, " "); got != "c2 c3 c4" {
		t.Errorf("second page %s, want c2 c3 c4", got)
	}
	if first, second := nested(first, "metadata", "resourceVersion"), nested(rest, "metadata", "resourceVersion"); first != second {
		t.Errorf("pages of resource versions %v and %v", first, second)
	}
	if code, _ := a.call("GET", ns+"?continue="+token+"&resourceVersion=5", "", nil); code != 400 {
		t.Errorf("continue with a resource version: %d, want 400", code)
	}
}

func TestContinueTokenThatIsTooOld(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{Store: store.New(store.Options{History: 2})})}
	for i := range 4 {
		a.do("POST", ns, object{"metadata": object{"name": fmt.Sprintf("c%d", i)}})
	}
	token := nested(a.do("GET", ns+"?limit=2", nil), "metadata", "continue").(string)
	for i := range 20 {
		a.do("PATCH", ns+"/c3", object{"data": object{"i": fmt.Sprint(i)}})
	}
	code, status := a.call("GET", ns+"?limit=2&continue="+token, "", nil)
	if code != 410 {
		t.Fatalf("%d, want 410", code)
	}
	later := a.do("GET", ns+"?continue="+nested(status, "metadata", "continue").(string), nil)
	if items := later.Object["items"].([]any); len(items) != 2 {
		t.Errorf("%d items by the token of the error, want the 2 that are left", len(items))
	}
}
