package target

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// settleTimeout is how long one round may take. Policies act within some seconds even on a busy server.
	settleTimeout = 60 * time.Second
	// probePause is the first pause between two looks at a sentinel; it doubles up to probePauseMax.
	probePause    = time.Millisecond
	probePauseMax = 50 * time.Millisecond
)

// lanes run the rounds of one probe. A lane runs one round at a time, with a sentinel of its own; where rounds are long,
// several lanes spare callers the wait for the end of a round that began before they came.
type lanes struct {
	settler *settler
	probe   probe

	mu  sync.Mutex // over the lanes' running and next
	all []*lane
}

// lane is a sequence of rounds.
type lane struct {
	name string // unique to the settler; short, for it is a label's value

	running bool
	next    *round // the round that has not begun; nil when nobody waits for one

	// used by the running round alone
	count int  // of rounds so far
	known bool // the server knows the sentinel
}

// round is one turn of a lane.
type round struct {
	done chan struct{}
	err  error // read after done
}

// wait waits for a round that begins after now.
func (l *lanes) wait(ctx context.Context) error {
	mine := l.join()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return fmt.Errorf("settle %s: %w", l.probe.name, context.Cause(ctx))
	}
}

// join returns a round that has not begun: in a lane that is free, else together with others who wait for one.
func (l *lanes) join() *round {
	l.mu.Lock()
	defer l.mu.Unlock()
	chosen := l.all[0]
	for _, candidate := range l.all {
		if !candidate.running {
			chosen = candidate
			break
		}
		if candidate.next != nil {
			chosen = candidate
		}
	}
	if chosen.next == nil {
		chosen.next = &round{done: make(chan struct{})}
	}
	mine := chosen.next
	if !chosen.running {
		if err := l.settler.begin(func() { l.run(chosen) }); err != nil {
			chosen.next = nil
			mine.err = fmt.Errorf("settle %s: %w", l.probe.name, err)
			close(mine.done)
			return mine
		}
		chosen.running = true
	}
	return mine
}

// run runs the lane's rounds as long as somebody waits.
func (l *lanes) run(lane *lane) {
	for {
		l.mu.Lock()
		r := lane.next
		lane.next = nil
		if r == nil {
			lane.running = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		r.err = l.turn(lane)
		close(r.done)
	}
}

// turn is one round: write the sentinel, look until it acts.
func (l *lanes) turn(lane *lane) error {
	ctx, cancel := context.WithTimeoutCause(l.settler.ctx, settleTimeout, fmt.Errorf("the sentinel did not act within %v", settleTimeout))
	defer cancel()
	err := l.settler.makeNamespace(ctx)
	if err == nil && l.probe.rehearse && !lane.known {
		err = l.once(ctx, lane)
	}
	if err == nil {
		lane.known = true
		err = l.once(ctx, lane)
	}
	if err == nil && l.probe.remove != nil {
		lane.known = false
		err = l.probe.remove(ctx, lane.name)
	}
	if err != nil {
		return fmt.Errorf("settle %s: %w", l.probe.name, err)
	}
	return nil
}

func (l *lanes) once(ctx context.Context, lane *lane) error {
	lane.count++
	token := fmt.Sprintf("round-%06d", lane.count) // of one length, so that none is the beginning of another
	if err := l.probe.write(ctx, lane.name, token); err != nil {
		return err
	}
	return await(ctx, func() (bool, string) { return l.probe.look(ctx, lane.name, token) })
}

// await looks until it is so.
func await(ctx context.Context, look func() (so bool, answer string)) error {
	pause := probePause
	for {
		so, answer := look()
		if so {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; the last answer to a probe: %s", context.Cause(ctx), answer)
		case <-time.After(pause):
		}
		pause = min(2*pause, probePauseMax)
	}
}

// lanesOf returns the lanes of the probe, made when it is asked for first.
func (s *settler) lanesOf(p probe) *lanes {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, found := s.lanes[p.name]
	if !found {
		l = &lanes{settler: s, probe: p}
		for n := range max(1, p.lanes) {
			l.all = append(l.all, &lane{name: fmt.Sprintf("%d-%d", len(s.lanes), n)})
		}
		s.lanes[p.name] = l
	}
	return l
}

// begin runs a lane, unless the settler has ended.
func (s *settler) begin(run func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return errStopped
	}
	s.rounds.Go(run)
	return nil
}

var errStopped = errors.New("the target has been stopped")
