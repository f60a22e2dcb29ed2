package resource

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"
)

// retryInterval is how long a controller waits after it failed, say because admission refused.
const retryInterval = time.Second

// controller calls a function for names that are enqueued, one at a time. A name is due once however often it was
// enqueued, and again when the function fails.
type controller struct {
	sync func(ctx context.Context, name string) error
	wake chan struct{}

	mu  sync.Mutex
	due map[string]struct{}
}

func newController(sync func(ctx context.Context, name string) error) *controller {
	return &controller{sync: sync, wake: make(chan struct{}, 1), due: map[string]struct{}{}}
}

func (c *controller) enqueue(name string) {
	c.mu.Lock()
	c.due[name] = struct{}{}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default: // it is woken already
	}
}

func (c *controller) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.due))
	for name := range c.due {
		names = append(names, name)
	}
	clear(c.due)
	sort.Strings(names)
	return names
}

func (c *controller) run(ctx context.Context) {
	retry := time.NewTimer(retryInterval)
	retry.Stop()
	defer retry.Stop()
	var failed []string
	for {
		var names []string
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
			names = c.take()
		case <-retry.C:
			names, failed = failed, nil
		}
		for _, name := range names {
			if c.sync(ctx, name) != nil && !slices.Contains(failed, name) {
				failed = append(failed, name)
			}
		}
		if len(failed) > 0 {
			retry.Reset(retryInterval)
		}
	}
}
