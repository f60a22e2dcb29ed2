package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mutant is one patch file.
type mutant struct {
	name      string // the file's, without .patch
	title     string
	cases     []string
	behaviors []string // what it is said to break; all that the cases show when empty
	files     []string // what the diff changes, relative to the root
	diff      string
	err       error // why it cannot be judged
}

func read(name, path string) *mutant {
	m := &mutant{name: name}
	data, err := os.ReadFile(path)
	if err != nil {
		m.err = err
		return m
	}
	head, diff, found := strings.Cut(string(data), "\n--- ")
	if !found {
		m.err = fmt.Errorf("%s holds no unified diff (a line that begins with ---)", path)
		return m
	}
	m.diff = "--- " + diff
	for _, line := range strings.Split(head, "\n") {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "Title":
			m.title = value
		case "Cases":
			m.cases = append(m.cases, ids(value)...)
		case "Behaviors":
			m.behaviors = append(m.behaviors, ids(value)...)
		}
	}
	for _, line := range strings.Split(m.diff, "\n") {
		if file, ok := strings.CutPrefix(line, "+++ b/"); ok {
			m.files = append(m.files, strings.TrimSpace(file))
		}
	}
	if m.title == "" || len(m.cases) == 0 || len(m.files) == 0 {
		m.err = fmt.Errorf("%s needs the headers Title: and Cases:, and a diff with +++ b/PATH lines", path)
	}
	return m
}

// ids splits a list of ids at its commas.
func ids(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// apply returns the files that the diff changes as they are and as the mutant has them, by the path relative to the root.
func (m *mutant) apply(ctx context.Context, root string) (original, mutated map[string][]byte, err error) {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	original, mutated = map[string][]byte{}, map[string][]byte{}
	for _, file := range m.files {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, nil, err
		}
		original[file] = data
		if err := write(filepath.Join(dir, file), data); err != nil {
			return nil, nil, err
		}
	}
	// Outside of any repository, git apply works on plain files.
	apply := command(ctx, dir, "git", "apply", "-")
	apply.Stdin = strings.NewReader(m.diff)
	if out, err := apply.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("the patch does not apply: %w\n%s", err, out)
	}
	for _, file := range m.files {
		if mutated[file], err = os.ReadFile(filepath.Join(dir, file)); err != nil {
			return nil, nil, err
		}
	}
	return original, mutated, nil
}

// write writes a file and makes its directories.
func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// command is exec.CommandContext in a directory.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	return cmd
}
