package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const program = `package main

import "fmt"

type box[T any] struct{ value T }

// get has a receiver that it does not name.
func (box[T]) name() string { return "box" }

func (b *box[T]) set(v T, _ ...string) { b.value = v }

func sum[N int | float64](first N, others ...N) (total N) {
	total = first
	for _, n := range others {
		total += n
	}
	return total
}

func pair(int, string) (a, b string) { return "a", "b" }

const greeting = "hello"

func main() {
	var b box[int]
	b.set(sum(1, 2, 3), "x")
	first, second := pair(1, "")
	fmt.Println(greeting, b.name(), b.value, first, second)
}
`

// edits are the mutants that share a build, each told by what it changes in program, with what the program then prints.
var edits = []struct{ mutant, old, new, want string }{
	{"method", `{ return "box" }`, `{ return "crate" }`, "hello crate 6 a b"},
	{"no-result", `b.value = v }`, `_ = v }`, "hello box 0 a b"},
	{"generic", `total += n`, `total -= n`, "hello box -4 a b"},
	{"generic-again", `total = first`, `total = 2 * first`, "hello box 7 a b"},
	{"unnamed", `return "a", "b" }`, `return "b", "a" }`, "hello box 6 b a"},
	{"import", `{ return "box" }`, `{ return strings.ToUpper("box") }`, "hello BOX 6 a b"},
	{"main", `b.value, first`, `"value", first`, "hello box value a b"},
}

func mutate(t *testing.T, old, replacement string) map[string][]byte {
	t.Helper()
	mutated := strings.Replace(program, old, replacement, 1)
	if mutated == program {
		t.Fatalf("the program does not hold %q", old)
	}
	if strings.Contains(replacement, "strings.") {
		mutated = strings.Replace(mutated, `import "fmt"`, "import (\n\t\"fmt\"\n\t\"strings\"\n)", 1)
	}
	return map[string][]byte{"main.go": []byte(mutated)}
}

func TestCombination(t *testing.T) {
	c := &combination{files: map[string]*combinedFile{}}
	original := map[string][]byte{"main.go": []byte(program)}
	for _, e := range edits {
		if err := c.add(e.mutant, original, mutate(t, e.old, e.new)); err != nil {
			t.Fatalf("%s: %v", e.mutant, err)
		}
	}
	dir := t.TempDir()
	for file, data := range c.sources() {
		if err := write(filepath.Join(dir, file), data); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(filepath.Join(dir, "go.mod"), []byte("module combined\n\ngo 1.26\n")); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "combined")
	if out, err := command(t.Context(), dir, "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	prints := func(mutant, want string) {
		t.Run("mutant="+mutant, func(t *testing.T) {
			run := command(t.Context(), dir, binary)
			run.Env = append(os.Environ(), selected+"="+mutant)
			out, err := run.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != want {
				t.Errorf("prints %q (%v), want %q", got, err, want)
			}
		})
	}
	prints("", "hello box 6 a b")
	for _, e := range edits {
		prints(e.mutant, e.want)
	}
}

// TestNotCombinable has mutants that change more than the bodies of functions, which are built alone.
func TestNotCombinable(t *testing.T) {
	for _, e := range []struct{ name, old, new string }{
		{"constant", `"hello"`, `"goodbye"`},
		{"field", `value T }`, `value, other T }`},
		{"signature", `(first N, others`, `(first N, _ int, others`},
		{"another function", `func main`, "func helper() {}\n\nfunc main"},
		{"comment alone", `it does not name`, `it has no name for`},
	} {
		t.Run(e.name, func(t *testing.T) {
			c := &combination{files: map[string]*combinedFile{}}
			err := c.add("m", map[string][]byte{"main.go": []byte(program)}, mutate(t, e.old, e.new))
			if !errors.Is(err, errNotCombinable) || len(c.files) != 0 {
				t.Errorf("error %v and %d files, want %q and none", err, len(c.files), errNotCombinable)
			}
		})
	}
}
