package target

import (
	"bytes"
	"sync"
)

// tailSize is how much of a log is kept, in bytes.
const tailSize = 64 << 10

// tail is a writer that keeps the last tailSize bytes written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - tailSize; extra > tailSize { // seldom, so that writing stays cheap
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

// String returns whole lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.kept
	if extra := len(end) - tailSize; extra > 0 {
		end = end[extra:]
		if newline := bytes.IndexByte(end, '\n'); newline >= 0 {
			end = end[newline+1:]
		}
	}
	return string(end)
}
