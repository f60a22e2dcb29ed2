//go:build unix

package target

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// guard sees to it that the processes of a control plane end with this one, even when it is killed with SIGKILL: a shell
// that waits for the end of a pipe which only this process holds, then kills what is still there and removes the
// directory.
type guard struct {
	dir  string
	cmd  *exec.Cmd
	pipe io.Closer
}

// guardScript gets the directory as $1. A file NAME.pid in it holds the id of a process to kill.
const guardScript = `trap '' HUP INT TERM
read -r _
for file in "$1"/*.pid; do [ -f "$file" ] && kill -9 "$(cat "$file")"; done
rm -rf "$1"`

// newGuard makes a temporary directory, and the guard over it.
func newGuard() (*guard, error) {
	dir, err := os.MkdirTemp("", "gatehouse-envtest-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the control plane: %w", err)
	}
	cmd := exec.Command("/bin/sh", "-c", guardScript, "gatehouse-guard", dir)
	cmd.SysProcAttr = ownGroup() // a Ctrl-C in the terminal is not for it
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the guard of the control plane: %w", err), os.RemoveAll(dir))
	}
	return &guard{dir: dir, cmd: cmd, pipe: pipe}, nil
}

// wrap returns the path of a program that is the binary, but leaves its process id with the guard.
func (g *guard) wrap(binary string) (string, error) {
	name := filepath.Base(binary)
	path := filepath.Join(g.dir, name)
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%s\nexec %s \"$@\"\n", shellQuote(path+".pid"), shellQuote(binary))
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		return "", fmt.Errorf("wrap %s: %w", name, err)
	}
	return path, nil
}

// close ends the guard, and with it the directory; what it guarded must have ended.
func (g *guard) close() error {
	var errs []error
	pids, _ := filepath.Glob(filepath.Join(g.dir, "*.pid"))
	for _, file := range pids {
		errs = append(errs, os.Remove(file))
	}
	errs = append(errs, g.pipe.Close(), g.cmd.Wait())
	return errors.Join(errs...)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// ownGroup starts a process in a group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
