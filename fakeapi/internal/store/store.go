package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// DefaultHistory is how many changes of each resource are remembered when Options do not say.
const DefaultHistory = 10_000

// Options are what a Store is made of.
type Options struct {
	// History is the least number of changes that are remembered of each resource; DefaultHistory when 0. Watches and
	// lists from before are answered with 410 Gone.
	History int
	// Revision is the resource version of the first write; 2 when 0. What was before is answered with 410 Gone, too.
	Revision uint64
}

// Key says where an object is kept.
type Key struct {
	// Resource is the resource that the object is stored under.
	Resource schema.GroupResource
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Name      string
}

// String returns the key in the form in which the real API server's error messages show it.
func (k Key) String() string {
	if k.Resource.Group != "" && strings.Contains(k.Resource.Group, ".") && !strings.HasSuffix(k.Resource.Group, ".k8s.io") {
		return "/registry/" + k.Resource.Group + "/" + k.Resource.Resource + "/" + k.path()
	}
	return "/registry/" + k.Resource.Resource + "/" + k.path()
}

// path is the key within the resource. Lists are in its byte-wise order, as in etcd.
func (k Key) path() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Store keeps objects. Its methods may be called from several goroutines. An object that was given to the store, or
// that the store returned, is shared and must not be changed any more.
type Store struct {
	history int
	// first is the revision of the empty store.
	first uint64

	mu        sync.RWMutex
	revision  uint64
	resources map[schema.GroupResource]*collection
}

// collection holds the objects of one resource.
type collection struct {
	// entries are in order of path.
	entries []entry
	// changes are the remembered ones, oldest first.
	changes []Change
	// forgotten is the revision of the latest change that is not remembered.
	forgotten uint64
	// changed is closed with the next change, forgetting when changes are next forgotten; nil while nobody waits.
	changed, forgetting chan struct{}
}

type entry struct {
	path   string
	object runtime.Object
}

// Change is a write to one object.
type Change struct {
	// Type is watch.Added, watch.Modified or watch.Deleted.
	Type watch.EventType
	// Object is the object as written; of a deletion its last state, with the resource version of the deletion.
	Object runtime.Object
	// Previous is what was there before; nil for watch.Added.
	Previous runtime.Object
	// Revision is the resource version of the write.
	Revision uint64

	path string
}

// New returns an empty store.
func New(options Options) *Store {
	history := options.History
	if history <= 0 {
		history = DefaultHistory
	}
	first := uint64(1) // 0 has a meaning of its own in the API
	if options.Revision > 0 {
		first = max(first, options.Revision-1)
	}
	return &Store{history: history, first: first, revision: first, resources: map[schema.GroupResource]*collection{}}
}

// Revision returns the resource version of the latest write.
func (s *Store) Revision() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.revision
}

// Get returns an object, or an error for which storage.IsNotFound holds.
func (s *Store) Get(key Key) (runtime.Object, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if found, ok := s.get(key); ok {
		return found, nil
	}
	return nil, storage.NewKeyNotFoundError(key.String(), 0)
}

// Create writes a new object and sets its resource version. When the key is taken, the error satisfies storage.IsExist.
func (s *Store) Create(key Key, object runtime.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.get(key); taken {
		return storage.NewKeyExistsError(key.String(), 0)
	}
	return s.write(key, nil, object)
}

// Update replaces an object by what change makes of it and returns the result with its new resource version. change is
// given the current object, which it must not modify, or nil when there is none; it runs without a lock and runs again
// when somebody else wrote in between. A result equal to the current object is not written. An error of change is
// returned as it is.
func (s *Store) Update(ctx context.Context, key Key, change func(current runtime.Object) (runtime.Object, error)) (runtime.Object, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, storage.NewTimeoutError(key.String(), err.Error())
		}
		s.mu.RLock()
		current, _ := s.get(key)
		s.mu.RUnlock()

		updated, err := change(current)
		if err != nil {
			return nil, err
		}
		same, err := unchanged(current, updated)
		if err != nil {
			return nil, err
		}

		s.mu.Lock()
		if now, _ := s.get(key); now != current {
			s.mu.Unlock()
			continue
		}
		if same {
			s.mu.Unlock()
			return current, nil
		}
		err = s.write(key, current, updated)
		s.mu.Unlock()
		return updated, err
	}
}

// Put writes an object whatever is there.
func (s *Store) Put(key Key, object runtime.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	current, _ := s.get(key)
	return s.write(key, current, object)
}

// Delete removes an object if it is still what Get returned, and returns its last state with the resource version of
// the deletion. The errors satisfy storage.IsNotFound or, when it was changed meanwhile, storage.IsConflict.
func (s *Store) Delete(key Key, expected runtime.Object) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	current, ok := s.get(key)
	if !ok {
		return nil, storage.NewKeyNotFoundError(key.String(), 0)
	}
	if current != expected {
		return nil, storage.NewResourceVersionConflictsError(key.String(), 0)
	}
	last := current.DeepCopyObject()
	if err := setRevision(last, s.revision+1); err != nil {
		return nil, err
	}
	s.revision++
	c := s.collection(key.Resource)
	at, _ := c.find(key.path())
	c.entries = slices.Delete(c.entries, at, at+1)
	c.record(Change{Type: watch.Deleted, Object: last, Previous: current, Revision: s.revision, path: key.path()}, s.history)
	return last, nil
}

// write stores object in place of current, which may be nil.
func (s *Store) write(key Key, current, object runtime.Object) error {
	if err := setRevision(object, s.revision+1); err != nil {
		return err
	}
	s.revision++
	c := s.collection(key.Resource)
	path := key.path()
	change := Change{Type: watch.Modified, Object: object, Previous: current, Revision: s.revision, path: path}
	if at, found := c.find(path); found {
		c.entries[at].object = object
	} else {
		c.entries = slices.Insert(c.entries, at, entry{path, object})
		change.Type = watch.Added
	}
	c.record(change, s.history)
	return nil
}

func (s *Store) get(key Key) (runtime.Object, bool) {
	c, ok := s.resources[key.Resource]
	if !ok {
		return nil, false
	}
	at, found := c.find(key.path())
	if !found {
		return nil, false
	}
	return c.entries[at].object, true
}

// collection returns the objects of a resource; the caller holds the lock for writing.
func (s *Store) collection(resource schema.GroupResource) *collection {
	c, ok := s.resources[resource]
	if !ok {
		c = &collection{forgotten: s.first - 1}
		s.resources[resource] = c
	}
	return c
}

func (c *collection) find(path string) (int, bool) {
	return slices.BinarySearchFunc(c.entries, path, func(e entry, path string) int { return strings.Compare(e.path, path) })
}

// record remembers a change, forgets old ones, and wakes who waits.
func (c *collection) record(change Change, limit int) {
	if len(c.changes) >= 2*limit {
		// Copying, so that the forgotten objects can be collected and slices handed out stay as they are.
		c.forgotten = c.changes[len(c.changes)-limit-1].Revision
		c.changes = append(make([]Change, 0, 2*limit), c.changes[len(c.changes)-limit:]...)
		if c.forgetting != nil {
			close(c.forgetting)
			c.forgetting = nil
		}
	}
	c.changes = append(c.changes, change)
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// unchanged tells whether an update would write what is there already.
func unchanged(current, updated runtime.Object) (bool, error) {
	if current == nil {
		return false, nil
	}
	accessor, err := meta.Accessor(current)
	if err != nil {
		return false, fmt.Errorf("stored object: %w", err)
	}
	updatedAccessor, err := meta.Accessor(updated)
	if err != nil {
		return false, fmt.Errorf("updated object: %w", err)
	}
	updatedAccessor.SetResourceVersion(accessor.GetResourceVersion())
	return equality.Semantic.DeepEqual(current, updated), nil
}

func setRevision(object runtime.Object, revision uint64) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return fmt.Errorf("stored object: %w", err)
	}
	accessor.SetResourceVersion(strconv.FormatUint(revision, 10))
	return nil
}
