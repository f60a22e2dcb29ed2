package target

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// newLanes makes the lanes of a probe without a server.
func newLanes(t *testing.T, p probe) *lanes {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &settler{ctx: ctx, cancel: cancel, lanes: map[string]*lanes{}, namespaceMade: true}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s.lanesOf(p)
}

// lateServer is a cache that follows a log of writes, one at a time, some time after they were made.
type lateServer struct {
	mu      sync.Mutex
	log     []string
	applied int
}

func (s *lateServer) write(entry string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, entry)
	return len(s.log)
}

func (s *lateServer) apply() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.applied < len(s.log) {
		s.applied++
	}
}

// acts tells whether the entry has been applied, and how many have been.
func (s *lateServer) acts(entry string) (bool, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, applied := range s.log[:s.applied] {
		if applied == entry {
			return true, s.applied
		}
	}
	return false, s.applied
}

// TestLanesNeverReturnEarly has many callers write and wait side by side.
func TestLanesNeverReturnEarly(t *testing.T) {
	for _, count := range []int{0, 1, 3} {
		t.Run(fmt.Sprintf("%d lanes", count), func(t *testing.T) {
			server := &lateServer{}
			l := newLanes(t, probe{
				name: "test", lanes: count, rehearse: count == 1,
				write: func(_ context.Context, lane, token string) error {
					server.write(lane + "/" + token)
					return nil
				},
				look: func(_ context.Context, lane, token string) (bool, string) {
					acts, _ := server.acts(lane + "/" + token)
					return acts, ""
				},
			})
			stop := make(chan struct{})
			var follower, callers sync.WaitGroup
			follower.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						server.apply()
						time.Sleep(10 * time.Microsecond)
					}
				}
			})
			for caller := range 20 {
				callers.Go(func() {
					for n := range 20 {
						at := server.write(fmt.Sprintf("caller %d, write %d", caller, n))
						if err := l.wait(t.Context()); err != nil {
							t.Error(err)
							return
						}
						if _, applied := server.acts(""); applied < at {
							t.Errorf("write %d has not been applied, but %d have", at, applied)
						}
					}
				})
			}
			callers.Wait()
			close(stop)
			follower.Wait()
		})
	}
}

// TestLanesJoin shows that those who come while a round runs wait for one more round, together.
func TestLanesJoin(t *testing.T) {
	writes := make(chan string)
	l := newLanes(t, probe{
		name:  "test",
		write: func(_ context.Context, _, token string) error { writes <- token; return nil },
		look:  func(context.Context, string, string) (bool, string) { return true, "" },
	})
	done := make(chan error)
	wait := func() { done <- l.wait(t.Context()) }
	go wait()
	waitForJoin(t, l, func(one *lane) bool { return one.running && one.next == nil }) // round 1 is about to write
	const others = 5
	for range others {
		go wait()
	}
	waitForJoin(t, l, func(one *lane) bool { return one.next != nil })
	if token := <-writes; token != "round-000001" {
		t.Errorf("the first round writes %s", token)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if token := <-writes; token != "round-000002" {
		t.Errorf("the second round writes %s", token)
	}
	for range others {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case token := <-writes: // one that came after the second round had begun
			if token != "round-000003" {
				t.Errorf("a round too many writes %s", token)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
}

func waitForJoin(t *testing.T, l *lanes, so func(*lane) bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		is := so(l.all[0])
		l.mu.Unlock()
		if is {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it never was so")
		}
	}
}

// TestLanesErrors shows that whoever waits learns why a round came to nothing, and that the next round begins anew.
func TestLanesErrors(t *testing.T) {
	refused, gone := errors.New("refused"), errors.New("gone")
	fail := true
	l := newLanes(t, probe{
		name: "test",
		write: func(context.Context, string, string) error {
			if fail {
				return refused
			}
			return nil
		},
		look: func(context.Context, string, string) (bool, string) { return false, "the request was admitted" },
	})
	if err := l.wait(t.Context()); !errors.Is(err, refused) {
		t.Errorf("a write that fails: %v", err)
	}
	fail = false
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := l.wait(ctx); !errors.Is(err, gone) {
		t.Errorf("a caller who gives up: %v", err)
	}
	if err := l.settler.close(); err != nil {
		t.Fatal(err)
	}
	if err := l.wait(t.Context()); !errors.Is(err, errStopped) && !errors.Is(err, context.Canceled) {
		t.Errorf("a settler that has ended: %v", err)
	}
}
