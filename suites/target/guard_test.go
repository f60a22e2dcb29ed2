//go:build unix

package target

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is the program that TestGuard kills, when the environment says so.
func TestMain(m *testing.M) {
	if os.Getenv("GATEHOUSE_GUARD_TEST") == "" {
		os.Exit(m.Run())
	}
	if err := guardSleep(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// guardSleep guards a process, prints the directory and the process id, and waits to be killed.
func guardSleep() error {
	g, err := newGuard()
	if err != nil {
		return err
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return err
	}
	path, err := g.wrap(sleep)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, "3600")
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		return err
	}
	for { // until it has told its id
		if text, err := os.ReadFile(path + ".pid"); err == nil && strings.HasSuffix(string(text), "\n") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println(g.dir, cmd.Process.Pid)
	return cmd.Wait()
}

// TestGuard shows that processes end, and their directory is removed, when whoever started them is killed.
func TestGuard(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GATEHOUSE_GUARD_TEST=1", "TMPDIR="+t.TempDir())
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(output).ReadString('\n')
	dir, pidText, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, err := strconv.Atoi(pidText)
	if err != nil {
		t.Fatalf("the program says %q", line)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the guarded process does not run: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	deadline := time.Now().Add(30 * time.Second)
	for running, there := true, true; running || there; time.Sleep(5 * time.Millisecond) {
		running = !ended(pid)
		_, err := os.Stat(dir)
		there = !errors.Is(err, os.ErrNotExist)
		if time.Now().After(deadline) {
			t.Fatalf("process %d runs: %v; directory %s is there: %v", pid, running, dir, there)
		}
	}
}

// ended tells whether a process is gone, or dead and just not waited for by whoever inherited it.
func ended(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// TestGuardClose shows that a guard which is closed leaves nothing, and kills nothing that has a process id of old.
func TestGuardClose(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	g, err := newGuard()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "3600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	if err := os.WriteFile(filepath.Join(g.dir, "old.pid"), []byte(strconv.Itoa(other.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(g.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
	if ended(other.Process.Pid) {
		t.Error("the other process was killed")
	}
}
