package resource

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// bookmarkInterval is how long a watch is quiet before a bookmark tells the client how far it is; bookmarkLead is how
// long before the end of a watch that has an end a last one is sent.
const (
	bookmarkInterval = time.Minute
	bookmarkLead     = 2 * time.Second
)

// Watch implements rest.Watcher. The watch ends when it is stopped or the context is done.
func (r *REST) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	revision, err := parseRevision(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	predicate := r.predicate(options)
	namespace := r.scopeOf(ctx, predicate)

	initial := revision == 0
	if options.SendInitialEvents != nil {
		initial = *options.SendInitialEvents
	}
	var objects []runtime.Object
	switch {
	case initial:
		if err := r.checkNotTooNew(options.ResourceVersion); err != nil {
			return failedWatch(err), nil
		}
		objects, revision = r.catalogue.store.List(r.stored, namespace)
	case revision == 0:
		revision = r.catalogue.store.Revision()
	}
	source, err := r.catalogue.store.Watch(r.stored, namespace, revision)
	if err != nil {
		return failedWatch(err), nil
	}
	w := &watcher{
		rest: r, predicate: predicate, source: source,
		bookmarks:  options.AllowWatchBookmarks,
		endInitial: options.AllowWatchBookmarks && options.SendInitialEvents != nil && *options.SendInitialEvents,
		events:     make(chan watch.Event), stopped: make(chan struct{}), forgetting: source.Forgetting(),
	}
	go w.run(ctx, objects, revision)
	return w, nil
}

// failedWatch tells the client in an event that a watch cannot begin where it was asked to.
func failedWatch(err error) watch.Interface {
	events := make(chan watch.Event, 1)
	events <- watch.Event{Type: watch.Error, Object: statusOf(err)}
	close(events)
	return watch.NewProxyWatcher(events)
}

// watcher sends the changes of a view's objects to a client.
type watcher struct {
	rest      *REST
	predicate storage.SelectionPredicate
	source    *store.Watch
	// bookmarks is whether the client understands bookmarks, endInitial whether it is told the end of initial events.
	bookmarks, endInitial bool

	events  chan watch.Event
	stopped chan struct{}
	stop    sync.Once
	// forgetting is closed when the store forgets changes, perhaps some that the client has not taken yet.
	forgetting <-chan struct{}
}

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.stop.Do(func() { close(w.stopped) }) }

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

// errLeft says that the client does not want any more events.
var errLeft = errors.New("the client has left")

// run sends initial objects, which are the state at a revision, and then changes, until the client leaves or has to be
// told that it cannot go on.
func (w *watcher) run(ctx context.Context, initial []runtime.Object, revision uint64) {
	defer close(w.events)
	err := w.sendInitial(ctx, initial, revision)
	if err == nil {
		err = w.sendChanges(ctx)
	}
	if errors.Is(err, errLeft) {
		return
	}
	select {
	case w.events <- watch.Event{Type: watch.Error, Object: statusOf(err)}:
	case <-w.stopped:
	case <-ctx.Done():
	}
}

// sendInitial sends the objects that are there, and that they are all.
func (w *watcher) sendInitial(ctx context.Context, objects []runtime.Object, revision uint64) error {
	for _, object := range objects {
		if matches, err := w.predicate.Matches(object); err != nil || !matches {
			continue
		}
		if err := w.send(ctx, watch.Added, object); err != nil {
			return err
		}
	}
	if w.endInitial {
		return w.sendBookmark(ctx, revision, true)
	}
	return nil
}

// sendChanges sends changes as they come, and bookmarks while there are none.
func (w *watcher) sendChanges(ctx context.Context) error {
	quiet := time.NewTimer(w.untilBookmark(ctx))
	defer quiet.Stop()
	for {
		changes, changed, err := w.source.Next()
		if err != nil {
			return err
		}
		for _, change := range changes {
			if err := w.sendChange(ctx, change); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-quiet.C:
			if w.bookmarks {
				if err := w.sendBookmark(ctx, w.source.Revision(), false); err != nil {
					return err
				}
			}
			quiet.Reset(w.untilBookmark(ctx))
		case <-w.stopped:
			return errLeft
		case <-ctx.Done():
			return errLeft
		}
	}
}

// untilBookmark is the time until the next bookmark.
func (w *watcher) untilBookmark(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		if lead := time.Until(deadline) - bookmarkLead; lead > 0 && lead < bookmarkInterval {
			return lead
		}
	}
	return bookmarkInterval
}

// sendChange sends what a change is to a client that sees only the selected objects.
func (w *watcher) sendChange(ctx context.Context, change store.Change) error {
	is, err := w.selected(change.Object)
	if err != nil {
		return err
	}
	was, err := w.selected(change.Previous)
	if err != nil {
		return err
	}
	switch {
	case change.Type == watch.Deleted && was:
		return w.send(ctx, watch.Deleted, change.Object)
	case change.Type == watch.Deleted, !is && !was:
		return nil
	case is && was:
		return w.send(ctx, watch.Modified, change.Object)
	case is:
		return w.send(ctx, watch.Added, change.Object)
	}
	// The client last saw the object as it was before it left the selection.
	left := shallowCopy(change.Previous)
	accessor, err := meta.Accessor(left)
	if err != nil {
		return err
	}
	accessor.SetResourceVersion(strconv.FormatUint(change.Revision, 10))
	return w.send(ctx, watch.Deleted, left)
}

func (w *watcher) selected(object runtime.Object) (bool, error) {
	if object == nil {
		return false, nil
	}
	return w.predicate.Matches(object)
}

func (w *watcher) send(ctx context.Context, kind watch.EventType, stored runtime.Object) error {
	object, err := w.rest.readListed(stored)
	if err != nil {
		return err
	}
	return w.deliver(ctx, watch.Event{Type: kind, Object: object})
}

// sendBookmark tells the client that it has seen everything up to a revision.
func (w *watcher) sendBookmark(ctx context.Context, revision uint64, endInitial bool) error {
	object := w.rest.newObject()
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	accessor.SetResourceVersion(strconv.FormatUint(revision, 10))
	if endInitial {
		if err := storage.AnnotateInitialEventsEndBookmark(object); err != nil {
			return err
		}
	}
	return w.deliver(ctx, watch.Event{Type: watch.Bookmark, Object: object})
}

// deliver waits until the client takes the event. It gives up on a client that falls so far behind that what would come
// next is forgotten: nothing is to be kept for one that has stopped to read.
func (w *watcher) deliver(ctx context.Context, event watch.Event) error {
	for {
		select {
		case w.events <- event:
			return nil
		case <-w.forgetting:
			if err := w.source.Err(); err != nil {
				return err
			}
			w.forgetting = w.source.Forgetting()
		case <-w.stopped:
			return errLeft
		case <-ctx.Done():
			return errLeft
		}
	}
}

func statusOf(err error) *metav1.Status {
	if status, ok := err.(apierrors.APIStatus); ok {
		s := status.Status()
		return &s
	}
	return &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: fmt.Sprintf("Internal error occurred: %v", err),
	}
}
