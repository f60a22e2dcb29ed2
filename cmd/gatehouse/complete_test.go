package main

import (
	"bytes"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestCompletion asks for completions as shells do.
func TestCompletion(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want []string // the first ones
	}{
		"a command":            {[]string{"conf"}, []string{"conformance"}},
		"a target":             {[]string{"conformance", "--target", ""}, []string{"fakeapi", "envtest", "kubeconfig"}},
		"a target of replay":   {[]string{"replay", "--target", "f"}, []string{"fakeapi", "envtest", "kubeconfig"}},
		"a label":              {[]string{"conformance", "--labels", "seri"}, []string{"serial"}},
		"a label after others": {[]string{"conformance", "--labels", "must&&!(dry-run-side"}, []string{"must&&!(dry-run-side-effects"}},
		"a behavior's label":   {[]string{"conformance", "--labels", "webhook.dry-run.none-c"}, []string{"webhook.dry-run.none-called"}},
		"a focus":              {[]string{"conformance", "--focus", "^matching-r"}, []string{"^matching-rules/"}},
		"a flavour":            {[]string{"report", "--junit-flavor", ""}, []string{"portable", "gitlab", "github", "testgrid"}},
		"an area":              {[]string{"behaviors", "--area", "matching-r"}, []string{"matching-rules"}},
		"a behavior":           {[]string{"behaviors", "webhook.dry-run.none-c"}, []string{"webhook.dry-run.none-called"}},
		"a file of JSON":       {[]string{"report", "--from", ""}, []string{"json"}},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), append([]string{cobra.ShellCompRequestCmd}, test.args...), &stdout, &stderr); status != 0 {
				t.Fatalf("exit status %d: %s", status, &stderr)
			}
			var got []string
			for line := range strings.SplitSeq(stdout.String(), "\n") {
				if word, _, _ := strings.Cut(line, "\t"); word != "" && !strings.HasPrefix(word, ":") {
					got = append(got, word)
				}
			}
			if diff := cmp.Diff(test.want, got[:min(len(got), len(test.want))]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHelp: every command says at length what it does, with examples that name it.
func TestHelp(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			return
		}
		if len(c.Long) <= len(c.Short) {
			t.Errorf("%s: its long help says no more than the short one", c.CommandPath())
		}
		if !strings.Contains(c.Example, "  "+c.CommandPath()) {
			t.Errorf("%s: no example", c.CommandPath())
		}
		for line := range strings.SplitSeq(c.Long, "\n") {
			if len(line) > 120 {
				t.Errorf("%s: a line of %d columns: %s", c.CommandPath(), len(line), line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(rootCommand())
}

func TestWriteVersion(t *testing.T) {
	for name, test := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"a build from a commit": {
			debug.BuildInfo{
				GoVersion: "go1.26.0", Main: debug.Module{Version: "v0.1.0"}, Deps: []*debug.Module{{Path: "k8s.io/apiserver", Version: "v0.37.2"}},
				Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}},
			},
			"gatehouse v0.1.0\ncommit abc, and changes to it\nkubernetes libraries v0.37.2\ngo go1.26.0 ",
		},
		"nothing known": {debug.BuildInfo{}, "gatehouse unknown\ngo unknown "},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := writeVersion(&out, &test.info); err != nil {
				t.Fatal(err)
			}
			var lines []string
			for line := range strings.Lines(out.String()) {
				lines = append(lines, strings.Join(strings.Fields(line), " "))
			}
			if got := strings.Join(lines, "\n"); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
