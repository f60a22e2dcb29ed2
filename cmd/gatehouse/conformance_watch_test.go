package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWatch: a change ends the run that goes on and begins another with what changed; the end of ctx ends all.
func TestWatch(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	changes := make(chan []string)
	began, ended := make(chan []string), make(chan struct{}, 3)
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch(ctx, changes, func(ctx context.Context, changed []string) {
			began <- changed
			if !slices.Contains(changed, "quick") {
				<-ctx.Done()
			}
			ended <- struct{}{}
		})
	}()
	if got := <-began; got != nil {
		t.Errorf("the first run is of %q", got)
	}
	for _, change := range []string{"quick", "slow"} {
		changes <- []string{change}
		<-ended
		if got := <-began; !slices.Equal(got, []string{change}) {
			t.Errorf("after %s the run is of %q", change, got)
		}
	}
	stop()
	<-done
}

// TestWatchDirs: what is written in a directory is told of once, also in one that was made in the meantime.
func TestWatchDirs(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "area"), 0o755); err != nil {
		t.Fatal(err)
	}
	changes, err := watchDirs(t.Context(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"area/one.yaml", "area/two.yaml", "area/notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for len(got) < 2 { // a slow machine may tell of them apart
		for _, name := range <-changes {
			if inside, _ := filepath.Rel(dir, name); !slices.Contains(got, inside) {
				got = append(got, inside)
			}
		}
	}
	if diff := cmp.Diff([]string{"area/one.yaml", "area/two.yaml"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.Rename(filepath.Join(dir, "area"), filepath.Join(dir, "renamed")); err != nil {
		t.Fatal(err)
	}
	later := filepath.Join(dir, "renamed", "one.yaml")
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !slices.Contains(got, later) {
		select {
		case got = <-changes:
		case <-again.C: // until the new directory is watched
			if err := os.WriteFile(later, []byte("y"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := watchDirs(t.Context(), []string{filepath.Join(dir, "gone")}); err == nil {
		t.Error("a directory that is not there can be watched")
	}
}

func TestChangedFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"area/one.yaml", "area/t.wo.yaml", "behaviors.yaml", "area/deep/er.yaml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for changed, want := range map[string]string{
		"":                             "",
		"area/one.yaml":                "area/one.yaml",
		"area/one.yaml area/t.wo.yaml": "area/one.yaml area/t.wo.yaml",
		"area/gone.yaml":               "",
		"behaviors.yaml":               "",
		"area/one.yaml behaviors.yaml": "",
		"area/deep/er.yaml":            "",
		"../elsewhere/one.yaml":        "",
	} {
		var names []string
		for _, name := range strings.Fields(changed) {
			names = append(names, filepath.Join(dir, name))
		}
		if got := strings.Join(changedFiles([]string{dir}, names), " "); got != want {
			t.Errorf("%q: got %q, want %q", changed, got, want)
		}
	}
	if got, want := focusOn([]string{"area/one.yaml", "area/t.wo.yaml"}), `^(area/one|area/t\.wo)/`; got != want {
		t.Errorf("focus %q, want %q", got, want)
	}
}

func TestFlagArguments(t *testing.T) {
	command := conformanceCommand()
	args := []string{"--fixtures=a", "--fixtures=b", "--labels=must && !serial", "--procs=2"}
	if err := command.ParseFlags(append(args, "--watch")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(args, flagArguments(command.Flags(), "watch")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
