// Package recent keeps what was recorded about the latest requests, and forgets the oldest.
package recent

import "sync"

// Log keeps values by key, in order of arrival, for a bounded number of keys. It is safe for use by several goroutines.
type Log[V any] struct {
	mu     sync.Mutex
	values map[string][]V
	// keys is a ring of the keys in order of their first value; next is where the next new key goes.
	keys []string
	next int
}

// New returns a log that keeps the values of the latest keys, at most that many.
func New[V any](keys int) *Log[V] {
	return &Log[V]{values: make(map[string][]V), keys: make([]string, max(keys, 1))}
}

// Add appends a value under a key. The first value of a key that is one too many forgets the oldest key.
func (l *Log[V]) Add(key string, value V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.values[key]; !known {
		delete(l.values, l.keys[l.next])
		l.keys[l.next] = key
		l.next = (l.next + 1) % len(l.keys)
	}
	l.values[key] = append(l.values[key], value)
}

// Get returns the values of a key in order of arrival, and nil when there are none or they are forgotten. The slice is
// the caller's.
func (l *Log[V]) Get(key string) []V {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.values[key]) == 0 {
		return nil
	}
	return append([]V(nil), l.values[key]...)
}
