package webhook

import (
	"bytes"
	"context"
	"net/http"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// overLargeSize is more than any API server sends: an object and its old version have at most 3 MiB each.
const overLargeSize = 32 << 20

// provoke sends each webhook what is no review, and a plain review after each.
func (t *trial) provoke(ctx context.Context) error {
	for _, h := range t.set.Hooks {
		plain := t.record.plain(h)
		if plain == nil {
			continue
		}
		for _, p := range provocations(plain) {
			x := t.clients[h].Do(ctx, p.method, h.Path(), h.Timeout(), p.body)
			a := &hostileAttempt{Exchange: x, hook: h, kind: p.kind, title: p.title}
			after := &attempt{hook: h, variant: plain.variant, title: plain.title + " (after: " + p.title + ")", base: plain, review: fresh(plain.review)}
			after.Exchange = t.clients[h].Post(ctx, h.Path(), h.Timeout(), encode(after.review))
			a.after = after
			if len(x.Sent) > 4<<10 {
				x.Sent = append(bytes.Clone(x.Sent[:1<<10]), "..."...) // for reports
			}
			t.record.hostile = append(t.record.hostile, a)
			if !after.Responded() { // it is done for, and nothing more can be learnt
				return nil
			}
		}
	}
	return nil
}

// provocation is a request that is no review.
type provocation struct {
	kind   hostileKind
	title  string
	method string
	body   []byte
}

func provocations(plain *attempt) []provocation {
	without := fresh(plain.review)
	delete(without, "request")
	return []provocation{
		{probe, "a GET, as a load balancer probes", http.MethodGet, nil},
		{probe, "a HEAD, as a load balancer probes", http.MethodHead, nil},
		{wrongMethod, "a review by PUT", http.MethodPut, encode(fresh(plain.review))},
		{malformed, "a body that is no JSON", http.MethodPost, []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":`)},
		{malformed, "a body of another type", http.MethodPost, []byte(`["AdmissionReview"]`)},
		{empty, "an empty body", http.MethodPost, []byte{}},
		{noRequest, "a review without a request", http.MethodPost, encode(without)},
		{overLarge, "a body of 32 MiB", http.MethodPost, padded(plain, overLargeSize)},
	}
}

// padded is a review with so many bytes that mean nothing.
func padded(plain *attempt, size int) []byte {
	review := bytes.TrimSuffix(encode(fresh(plain.review)), []byte("}"))
	const before, after = `,"padding":"`, `"}`
	piece := bytes.Repeat([]byte("x"), 64<<10)
	body := make([]byte, 0, len(review)+len(before)+size+len(piece)+len(after)) // it is too large to grow bit by bit
	body = append(append(body, review...), before...)
	for n := 0; n < size; n += len(piece) {
		body = append(body, piece...)
	}
	return append(body, after...)
}

// plain returns an answered attempt of a webhook as the API server sent it, best one that was allowed; nil without one.
func (r *record) plain(h *manifests.Hook) *attempt {
	var found *attempt
	for _, a := range r.attempts {
		if a.hook != h || !asSent(a) || a.Fault != exchange.None {
			continue
		}
		if isCreate(a) && a.Allowed() {
			return a
		}
		if found == nil {
			found = a
		}
	}
	return found
}

// rejects tells that what came back is the answer to a request that cannot be read: a status from 400 up to 499, 501 for a
// method that the server does not have, or a review that refuses. An ended connection and an approval are not.
func (a *hostileAttempt) rejects() bool {
	if a.kind == overLarge && a.Fault == exchange.Closed {
		return true // the answer is lost when the server closes the connection before all of the body is sent
	}
	if a.Fault != exchange.None {
		return false
	}
	if a.Code >= http.StatusBadRequest && a.Code < http.StatusInternalServerError || a.kind == wrongMethod && a.Code == http.StatusNotImplemented {
		return true
	}
	x := *a.Exchange
	return a.Code == http.StatusOK && x.Parse() && x.Denied()
}
