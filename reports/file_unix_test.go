//go:build unix

package reports

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWriteFileToPipe: what is no file is written to and not replaced, and its errors are reported.
func TestWriteFileToPipe(t *testing.T) {
	const long = 1 << 20 // more than a pipe takes while nobody reads
	for name, tc := range map[string]struct {
		read int64
		want error
	}{
		"read to the end":    {long, nil},
		"the reader is gone": {1, syscall.EPIPE},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			pipe := filepath.Join(dir, "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Skip(err)
			}
			type outcome struct {
				n   int64
				err error
			}
			read := make(chan outcome)
			go func() {
				f, err := os.Open(pipe)
				if err != nil {
					read <- outcome{0, err}
					return
				}
				n, err := io.CopyN(io.Discard, f, tc.read)
				read <- outcome{n, errors.Join(err, f.Close())}
			}()
			err := WriteFile(link(t, dir, pipe, "link"), write(strings.Repeat("x", long)))
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
				t.Fatalf("the pipe was replaced: %v, %v", info.Mode(), err)
			}
			if got := <-read; got.n != tc.read || got.err != nil {
				t.Errorf("%d bytes came through, %v", got.n, got.err)
			}
		})
	}
}
