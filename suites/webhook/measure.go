package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/subject"
)

// concurrencies are the numbers of reviews at a time that are measured.
var concurrencies = []int{1, 8, 64}

// maxMeasured is how many webhooks are measured: more of one server tell little and cost time.
const maxMeasured = 4

// measure posts many reviews at a time, and looks at the memory of the process meanwhile.
func (t *trial) measure(ctx context.Context) error {
	var busiest *attempt
	measured := 0
	for _, h := range t.set.Hooks {
		plain := t.record.plain(h)
		if plain == nil || measured == maxMeasured {
			continue
		}
		measured++
		if busiest == nil {
			busiest = plain
		}
		for _, concurrent := range concurrencies {
			t.record.loads = append(t.record.loads, t.load(ctx, plain, concurrent, t.limits.Load, 0))
		}
	}
	if busiest != nil {
		t.growth(ctx, busiest)
	} else {
		t.record.memory.reason = "no review was answered"
	}
	return nil
}

// load posts a review again and again, so many at a time, each with a uid of its own, for a time or until there were so
// many; 0 for any number.
func (t *trial) load(ctx context.Context, plain *attempt, concurrent int, limit time.Duration, reviews int) load {
	l := load{hook: plain.hook, concurrent: concurrent}
	body, uid := template(plain)
	client := t.clients[plain.hook]
	var mu sync.Mutex
	var times []time.Duration
	var begun atomic.Int64
	end := time.Now().Add(limit)
	var group sync.WaitGroup
	for range concurrent {
		group.Go(func() {
			more := func(mine int) bool {
				if reviews > 0 {
					return begun.Add(1) <= int64(reviews) && time.Now().Before(end)
				}
				return mine == 0 || time.Now().Before(end) // so many are under way at least once
			}
			for i := 0; more(i) && ctx.Err() == nil; i++ {
				mine := exchange.NewUID()
				x := client.Post(ctx, plain.hook.Path(), plain.hook.Timeout(), bytes.ReplaceAll(body, uid, []byte(mine)))
				mu.Lock()
				times = append(times, x.Took)
				a := &attempt{Exchange: x, hook: plain.hook, variant: plain.variant, title: fmt.Sprintf("%s (%d at a time)", plain.title, concurrent)}
				switch {
				case !x.Responded() && l.failed == nil:
					l.failed = a
				case x.Responded() && string(x.Answer.Response.UID) != mine && l.mixed == nil:
					l.mixed = a
				case x.Responded() && x.Allowed() != plain.Allowed() && l.differing == nil:
					a.base, l.differing = plain, a
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.Sort(times)
	l.reviews = len(times)
	l.p50, l.p95, l.p99 = percentile(times, 50), percentile(times, 95), percentile(times, 99)
	return l
}

// template is a review to be posted many times, and the uid to be replaced in it. A webhook with side effects gets dry
// runs.
func template(plain *attempt) (body, uid []byte) {
	review := fresh(plain.review)
	if plain.hook.HasSideEffects() {
		requestOf(review)["dryRun"] = true
	}
	return encode(review), fmt.Append(nil, requestOf(review)["uid"])
}

func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// chunks are the parts of the reviews after each of which the memory is looked at.
const chunks = 10

// growth posts many reviews and looks at the memory after each part of them. It ends when the time is up; half of the
// parts have to be done by then.
func (t *trial) growth(ctx context.Context, plain *attempt) {
	m := &t.record.memory
	if _, err := t.subject.Memory(); err != nil {
		m.reason = err.Error()
		if errors.Is(err, subject.ErrNotOurs) {
			m.reason = "the memory of a process that Gatehouse did not start is not looked at: see run in gatehouse.yaml"
		}
		return
	}
	end := time.Now().Add(t.limits.Memory)
	part, total := max(t.limits.MemoryReviews/chunks, 1), 0
	for len(m.bytes) < chunks {
		l := t.load(ctx, plain, 8, time.Until(end), part)
		total += l.reviews
		if l.reviews < part {
			break
		}
		bytes, err := t.subject.Memory()
		if err != nil {
			m.reason = err.Error()
			return
		}
		m.reviews, m.bytes = append(m.reviews, total), append(m.bytes, bytes)
	}
	if len(m.bytes) < chunks/2 {
		m.reason = fmt.Sprintf("only %d of %d reviews were answered in %s", total, t.limits.MemoryReviews, t.limits.Memory)
	}
}
