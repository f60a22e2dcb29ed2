package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"
)

// settleTime is how long after a change the others are waited for that belong to it: editors write in steps.
const settleTime = 50 * time.Millisecond

// watchConformance runs the command in a process of its own, as Ginkgo runs once in one, and again after every change of
// its fixtures, until ctx is done.
func watchConformance(ctx context.Context, flags conformanceFlags, set *pflag.FlagSet, stdout, stderr io.Writer) error {
	dirs := slices.Clone(flags.fixtures)
	if flags.builtin != "" {
		dirs = append(dirs, flags.builtin)
	}
	if len(dirs) == 0 {
		return usageError("--watch: name the directories to watch by --fixtures or --builtin")
	}
	executable, err := os.Executable()
	if err != nil {
		return exitError{exitEnvironment, err}
	}
	changes, err := watchDirs(ctx, dirs)
	if err != nil {
		return exitError{exitEnvironment, err}
	}
	given := flagArguments(set, "watch")
	watch(ctx, changes, func(ctx context.Context, changed []string) {
		args := append([]string{"conformance"}, given...)
		files := changedFiles(dirs, changed)
		for _, file := range files {
			args = append(args, "--"+onlyFlag, file)
		}
		if len(files) > 0 && flags.selection.Focus == "" {
			args = append(args, "--focus", focusOn(files))
		}
		command := exec.CommandContext(ctx, executable, args...)
		command.Stdout, command.Stderr = stdout, stderr
		command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
		command.WaitDelay = shardGrace
		if err := command.Run(); err != nil && ctx.Err() == nil && command.ProcessState == nil {
			fmt.Fprintf(stderr, "gatehouse: %v\n", err) // what a run says itself it has said
		}
		if ctx.Err() == nil {
			fmt.Fprintf(stderr, "gatehouse: waiting for a change in %s\n", strings.Join(dirs, ", "))
		}
	})
	return nil
}

// watch calls run, at first with nothing changed, and again with what changed, until ctx is done or there are no more
// changes. A change ends the call before; there is one at a time.
func watch(ctx context.Context, changes <-chan []string, run func(ctx context.Context, changed []string)) {
	var changed []string
	for more := true; more; {
		running, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			run(running, changed)
		}()
		select {
		case changed, more = <-changes:
		case <-ctx.Done():
			more = false
		}
		stop()
		<-ended
	}
}

// watchDirs tells of the files that are written or go away in directories and below them, until ctx is done; then it
// closes the channel. Files that change together are told of together.
func watchDirs(ctx context.Context, dirs []string) (<-chan []string, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	for _, dir := range dirs {
		if err := addBelow(watcher, dir); err != nil {
			return nil, errors.Join(fmt.Errorf("watch files: %w", err), watcher.Close())
		}
	}
	changes := make(chan []string)
	go func() {
		defer close(changes)
		defer watcher.Close()
		tell(ctx, watcher, dirs, changes)
	}()
	return changes, nil
}

// tell passes changes on, those of a moment together.
func tell(ctx context.Context, watcher *fsnotify.Watcher, dirs []string, changes chan<- []string) {
	changed := sets.New[string]()
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-watcher.Events:
			switch {
			case !ok:
				return
			case event.Op == fsnotify.Chmod:
			case filepath.Ext(event.Name) == ".yaml":
				changed.Insert(event.Name)
			case event.Has(fsnotify.Create) && isDir(event.Name):
				changed.Insert("") // with all that is in it
			}
		case <-watcher.Errors: // events were lost, so that anything may have changed
			changed.Insert("")
		case <-settled:
			settled = nil
			for _, dir := range dirs { // those that are new; one that is gone again is no matter
				_ = addBelow(watcher, dir)
			}
			select {
			case changes <- sets.List(changed):
				changed.Clear()
			case <-ctx.Done():
				return
			}
		}
		if changed.Len() > 0 && settled == nil {
			settled = time.After(settleTime)
		}
	}
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// addBelow watches a directory and those in it.
func addBelow(watcher *fsnotify.Watcher, dir string) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return watcher.Add(name)
	})
}

// onlyFlag is the flag by which a run reads some files alone, so that it begins at once.
const onlyFlag = "only"

// changedFiles returns the files of cases that have changed, as AREA/FILE.yaml; none when something else has changed
// too, so that all cases have to run.
func changedFiles(dirs, changed []string) []string {
	var files []string
	for _, name := range changed {
		file := ""
		for _, dir := range dirs {
			inside, err := filepath.Rel(dir, name)
			if inside = filepath.ToSlash(inside); err == nil && strings.Count(inside, "/") == 1 && !strings.HasPrefix(inside, "../") {
				file = inside
			}
		}
		if _, err := os.Stat(name); err != nil || file == "" {
			return nil
		}
		files = append(files, file)
	}
	return files
}

// focusOn returns the focus of the cases of some files.
func focusOn(files []string) string {
	var ids []string
	for _, file := range files {
		ids = append(ids, regexp.QuoteMeta(strings.TrimSuffix(file, ".yaml")))
	}
	return "^(" + strings.Join(ids, "|") + ")/"
}
