package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/subject"
)

// end tries what can be tried last: a certificate that changes, a review under way when the process is asked to end, and
// what users see without it.
func (t *trial) end(ctx context.Context) error {
	if err := t.rotate(ctx); err != nil {
		return err
	}
	t.shutDown(ctx)
	return t.down(ctx)
}

// rotate replaces the certificate and looks whether the new one is served.
func (t *trial) rotate(ctx context.Context) error {
	r := &t.record.rotation
	if !slices.ContainsFunc(t.set.Hooks, func(h *manifests.Hook) bool { return t.record.plain(h) != nil }) {
		r.reason = "no review was answered"
		return nil
	}
	shown := t.record.shown[t.set.Hooks[0]]
	switch {
	case shown.certificate == nil:
		r.reason = "no certificate is served"
		return nil
	case t.config.Run != nil && !shown.ours:
		r.reason = "the server shows a certificate that is not from ${certDir}"
		return nil
	}
	switch err := t.subject.Rotate(); {
	case errors.Is(err, subject.ErrNotOurs):
		r.reason = "only the files of a process that Gatehouse started can be replaced: see run in gatehouse.yaml"
		return nil
	case err != nil:
		return err
	}
	wait := max(t.limits.Rotation, 250*time.Millisecond) // servers that watch their files need less
	for start := time.Now(); time.Since(start) < wait; {
		if now, err := t.certificate(ctx, shown.name); err == nil && !now.Equal(shown.certificate) {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
	if t.limits.Rotation == 0 {
		r.reason = "the webhook did not take up a new certificate at once; --rotation-wait says how long it may take"
		return nil
	}
	r.problem = fmt.Sprintf("%s after tls.crt and tls.key were replaced, the server still shows the old certificate", wait)
	return nil
}

// shutDown asks the process to end while a review is under way.
func (t *trial) shutDown(ctx context.Context) {
	s := &t.record.shutdown
	var plain *attempt
	for _, h := range t.set.Hooks {
		if plain = t.record.plain(h); plain != nil {
			break
		}
	}
	if plain == nil {
		s.reason = "no review was answered"
		return
	}
	if n := len(t.record.hostile); n > 0 && !t.record.hostile[n-1].after.Responded() {
		s.reason = "the webhook no longer answers"
		return
	}
	config := t.clients[plain.hook].TLS()
	config.NextProtos = []string{"http/1.1"}
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", t.subject.Address)
	if err != nil {
		s.reason = "no connection: " + err.Error()
		return
	}
	defer connection.Close()
	body := encode(fresh(plain.review))
	head := fmt.Sprintf("POST %s?timeout=%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		plain.hook.Path(), plain.hook.Timeout(), t.subject.Address, len(body))
	if _, err := connection.Write(append([]byte(head), body[:len(body)/2]...)); err != nil {
		s.reason = "the review could not be begun: " + err.Error()
		return
	}
	time.Sleep(20 * time.Millisecond) // for the server to take it up
	switch err := t.subject.Terminate(); {
	case errors.Is(err, subject.ErrNotOurs):
		s.reason = "only a process that Gatehouse started is ended: see run in gatehouse.yaml"
		return
	case err != nil:
		s.reason = "the process could not be asked to end: " + err.Error()
		return
	}
	t.refusing(ctx)
	s.problem = finish(connection, body[len(body)/2:], plain.hook.Timeout())
}

// refusing waits until the server takes no more connections, as one does that begins to end. One that goes on for a while
// is no worse for it.
func (t *trial) refusing(ctx context.Context) {
	const limit, pause = 2 * time.Second, 20 * time.Millisecond
	for start := time.Now(); time.Since(start) < limit; time.Sleep(pause) {
		connection, err := (&net.Dialer{Timeout: pause}).DialContext(ctx, "tcp", t.subject.Address)
		if err != nil {
			break
		}
		_ = connection.Close()
	}
	time.Sleep(pause) // connections end after the listener
}

// finish sends the rest of a review and waits for the answer; it returns what is wrong with it.
func finish(connection net.Conn, rest []byte, timeout time.Duration) string {
	_ = connection.SetDeadline(time.Now().Add(timeout))
	if _, err := connection.Write(rest); err != nil {
		return "the connection of a review under way was cut off: " + err.Error()
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return "a review under way got no answer: " + err.Error()
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "a review under way was answered with " + answer.Status
	}
	return ""
}
