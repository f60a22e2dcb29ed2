package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// List returns the objects of a resource in a namespace, or in all when namespace is empty, in byte-wise order of
// "namespace/name", and the resource version that they are the state of.
func (s *Store) List(resource schema.GroupResource, namespace string) ([]runtime.Object, uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c, ok := s.resources[resource]
	if !ok {
		return nil, s.revision
	}
	return objects(inNamespace(c.entries, namespace)), s.revision
}

// ListAt returns what List returned at a resource version. When that is too long ago, the error is 410 Gone; when it is
// yet to come, storage.IsTooLargeResourceVersion holds.
func (s *Store) ListAt(resource schema.GroupResource, namespace string, revision uint64) ([]runtime.Object, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if revision > s.revision {
		return nil, storage.NewTooLargeResourceVersionError(revision, s.revision, 1)
	}
	c := s.peek(resource)
	if revision < c.forgotten {
		return nil, c.expired(revision)
	}
	entries := inNamespace(c.entries, namespace)
	if len(c.since(revision)) == 0 {
		return objects(entries), nil
	}
	return objects(rewind(entries, c.since(revision), namespace)), nil
}

// rewind undoes changes, the latest first.
func rewind(entries []entry, changes []Change, namespace string) []entry {
	past := &collection{entries: slices.Clone(entries)}
	for _, change := range slices.Backward(changes) {
		if !change.in(namespace) {
			continue
		}
		at, found := past.find(change.path)
		switch change.Type {
		case watch.Added:
			past.entries = slices.Delete(past.entries, at, at+1)
		case watch.Deleted:
			past.entries = slices.Insert(past.entries, at, entry{change.path, change.Previous})
		default:
			if found {
				past.entries[at].object = change.Previous
			}
		}
	}
	return past.entries
}

// inNamespace returns the entries of a namespace, or all when it is empty.
func inNamespace(entries []entry, namespace string) []entry {
	if namespace == "" {
		return entries
	}
	byPath := func(e entry, path string) int { return strings.Compare(e.path, path) }
	from, _ := slices.BinarySearchFunc(entries, namespace+"/", byPath)
	// "0" is the byte after "/".
	to, _ := slices.BinarySearchFunc(entries, namespace+"0", byPath)
	return entries[from:to]
}

func objects(entries []entry) []runtime.Object {
	list := make([]runtime.Object, len(entries))
	for i, e := range entries {
		list[i] = e.object
	}
	return list
}

// peek returns the objects of a resource, also where there never were any; the caller holds the lock for reading.
func (s *Store) peek(resource schema.GroupResource) *collection {
	if c, ok := s.resources[resource]; ok {
		return c
	}
	return &collection{forgotten: s.first - 1}
}

// Last returns the latest change of an object, if it is remembered.
func (s *Store) Last(key Key) (Change, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	path := key.path()
	for _, change := range slices.Backward(s.peek(key.Resource).changes) {
		if change.path == path {
			return change, true
		}
	}
	return Change{}, false
}

// Watch reads the changes of a resource, one after another. It holds nothing that must be released. It must not be used
// from several goroutines at once.
type Watch struct {
	store     *Store
	resource  schema.GroupResource
	namespace string
	position  uint64
}

// Watch returns a reader of the changes after a resource version in a namespace, or in all when it is empty. When it is
// too long ago, the error is 410 Gone.
func (s *Store) Watch(resource schema.GroupResource, namespace string, since uint64) (*Watch, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c := s.peek(resource); since < c.forgotten {
		return nil, c.expired(since)
	}
	return &Watch{store: s, resource: resource, namespace: namespace, position: since}, nil
}

// Revision returns the resource version up to which all changes have been returned.
func (w *Watch) Revision() uint64 { return w.position }

// maxBatch is how many changes Next returns at most: a reader that stops in the middle keeps few objects.
const maxBatch = 256

// Next returns changes that were not returned yet, at most some hundred of them, and a channel that is closed when there
// are more. When they were forgotten because nobody asked for too long, the error is 410 Gone.
func (w *Watch) Next() ([]Change, <-chan struct{}, error) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	c := w.store.collection(w.resource)
	if w.position < c.forgotten {
		return nil, nil, c.expired(w.position)
	}
	var changes []Change
	for _, change := range c.since(w.position) {
		if !change.in(w.namespace) {
			continue
		}
		if len(changes) == maxBatch {
			w.position = changes[maxBatch-1].Revision
			more := make(chan struct{})
			close(more)
			return changes, more, nil
		}
		changes = append(changes, change)
	}
	// A watch may be asked to begin in the future.
	w.position = max(w.position, w.store.revision)
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return changes, c.changed, nil
}

// Forgetting returns a channel that is closed when the store next forgets changes of the resource.
func (w *Watch) Forgetting() <-chan struct{} {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	c := w.store.collection(w.resource)
	if c.forgetting == nil {
		c.forgetting = make(chan struct{})
	}
	return c.forgetting
}

// Err returns 410 Gone when changes after those that Next returned are forgotten.
func (w *Watch) Err() error {
	w.store.mu.RLock()
	defer w.store.mu.RUnlock()
	if c := w.store.peek(w.resource); w.position < c.forgotten {
		return c.expired(w.position)
	}
	return nil
}

// since returns the remembered changes after a revision.
func (c *collection) since(revision uint64) []Change {
	at, _ := slices.BinarySearchFunc(c.changes, revision+1, func(change Change, from uint64) int {
		return cmp.Compare(change.Revision, from)
	})
	return c.changes[at:]
}

func (c *collection) expired(revision uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", revision, c.forgotten))
}

func (change Change) in(namespace string) bool {
	return namespace == "" || strings.HasPrefix(change.path, namespace+"/")
}
