//go:build !unix

package target

import (
	"fmt"
	"os"
	"syscall"
)

// guard is the directory of a control plane. Without a Unix shell nothing ends the processes when this one is killed.
type guard struct{ dir string }

func newGuard() (*guard, error) {
	dir, err := os.MkdirTemp("", "gatehouse-envtest-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the control plane: %w", err)
	}
	return &guard{dir: dir}, nil
}

func (g *guard) wrap(binary string) (string, error) { return binary, nil }

func (g *guard) close() error { return os.RemoveAll(g.dir) }

func ownGroup() *syscall.SysProcAttr { return nil }
