package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
)

// caseSet are some cases of two areas.
func caseSet() *fixtures.Set {
	return &fixtures.Set{
		Ledger: &fixtures.Ledger{Behaviors: []fixtures.Behavior{{ID: "webhook.a", Level: fixtures.Must}, {ID: "webhook.b", Level: fixtures.May}}},
		Cases: []*fixtures.LoadedCase{
			{ID: "rules/a/1", Area: "rules", Title: "the first", Behaviors: []string{"webhook.a"}},
			{ID: "rules/a/2", Area: "rules", Title: "the second", Behaviors: []string{"webhook.b"}, Needs: []fixtures.Need{fixtures.NeedHooks}},
			{ID: "order/b/3", Area: "order", Title: "the third", Behaviors: []string{"webhook.a", "webhook.b"}, Serial: true},
			{ID: "order/b/4", Area: "order", Title: "the fourth", Needs: []fixtures.Need{fixtures.NeedAudit}},
		},
	}
}

func ids(cases []*fixtures.LoadedCase) string {
	var list []string
	for _, c := range cases {
		list = append(list, c.ID[strings.LastIndex(c.ID, "/")+1:])
	}
	return strings.Join(list, " ")
}

func TestSelector(t *testing.T) {
	for name, test := range map[string]struct {
		selection reports.Selection
		want      string
	}{
		"everything":              {reports.Selection{}, "1 2 3 4"},
		"focus on an id":          {reports.Selection{Focus: "^order/"}, "3 4"},
		"focus on a title":        {reports.Selection{Focus: "first|third"}, "1 3"},
		"area":                    {reports.Selection{Labels: "rules"}, "1 2"},
		"behaviour":               {reports.Selection{Labels: "webhook.b"}, "2 3"},
		"level":                   {reports.Selection{Labels: "may"}, "2 3"},
		"need":                    {reports.Selection{Labels: "hooks || audit"}, "2 4"},
		"serial":                  {reports.Selection{Labels: "must && !serial"}, "1"},
		"shard":                   {reports.Selection{Shard: "2/3"}, "2"},
		"first shard":             {reports.Selection{Shard: "1/3"}, "1 4"},
		"focus, labels and shard": {reports.Selection{Focus: "the", Labels: "!rules", Shard: "2/2"}, "4"},
		"nothing":                 {reports.Selection{Focus: "fifth"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newSelector(test.selection)
			if err != nil {
				t.Fatal(err)
			}
			if got := ids(s.of(caseSet())); got != test.want {
				t.Errorf("selected %q, want %q", got, test.want)
			}
		})
	}
}

func TestConformanceUsage(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":           {[]string{"--targets", "x"}, "unknown flag: --targets"},
		"argument":               {[]string{"fakeapi"}, `unknown command "fakeapi"`},
		"unknown target":         {[]string{"--target", "kind"}, `--target is "kind": want fakeapi, envtest or kubeconfig`},
		"kubeconfig for another": {[]string{"--kubeconfig", "x"}, "--kubeconfig is for --target kubeconfig, not for fakeapi"},
		"hooks for another":      {[]string{"--target", "envtest", "--hook-address", "x"}, "--hook-address is for --target kubeconfig, not for envtest"},
		"focus":                  {[]string{"--focus", "("}, "--focus: error parsing regexp: missing closing ): `(`"},
		"labels":                 {[]string{"--labels", "a &&"}, `--labels is "a &&"`},
		"shard":                  {[]string{"--shard", "3/2"}, `--shard: shard "3/2": want I/N`},
		"procs":                  {[]string{"--procs", "-1"}, "--procs is -1: want 1 or more"},
		"procs and one port":     {[]string{"--target", "kubeconfig", "--hook-address", "h:1", "--procs", "2"}, "with ports in --hook-address one process runs all cases"},
		"nothing selected":       {[]string{"--focus", "^no such case$"}, "no case is selected by --focus ^no such case$"},
		"fixtures that are not":  {[]string{"--fixtures", "/nonexistent"}, "/nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := run(context.Background(), append([]string{"conformance"}, test.args...), &stdout, &stderr); status != exitUsage {
				t.Errorf("exit status %d, want %d", status, exitUsage)
			}
			if !strings.Contains(stderr.String(), test.want) {
				t.Errorf("said %q, want %q in it", stderr.String(), test.want)
			}
		})
	}
}

func TestConformanceWithoutAPlaceForReports(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	status := run(context.Background(), []string{"conformance", "--out", filepath.Join(file, "out")}, &stdout, &stderr)
	if status != exitEnvironment || !strings.Contains(stderr.String(), "--out: ") {
		t.Errorf("exit status %d, said %q; want %d and what is wrong with --out", status, stderr.String(), exitEnvironment)
	}
	if strings.Contains(stderr.String(), "starting") {
		t.Error("the target was started before")
	}
}

func TestComplete(t *testing.T) {
	set := caseSet()
	c := &conformance{set: set, chosen: set.Cases[:2], flags: conformanceFlags{selection: reports.Selection{Focus: "rules"}}}
	got := map[string]string{}
	for _, r := range c.complete(map[string]reports.Result{"rules/a/1": {ID: "rules/a/1", Outcome: reports.Pass}}, "why it ended\nat length") {
		got[r.ID] = string(r.Outcome) + " " + string(r.Cause) + " " + r.Reason
	}
	want := map[string]string{
		"rules/a/1": "pass  ",
		"rules/a/2": "not-run interrupted why it ended",
		"order/b/3": "not-run deselected not selected by --focus rules",
		"order/b/4": "not-run deselected not selected by --focus rules",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestDeal(t *testing.T) {
	for _, test := range []struct {
		cases, hands int
		want         []string
	}{
		{4, 3, []string{"1 4", "2", "3"}},
		{2, 3, []string{"1", "2"}},
		{4, 1, []string{"1 2 3 4"}},
		{0, 3, nil},
	} {
		var got []string
		for _, hand := range deal(caseSet().Cases[:test.cases], test.hands) {
			got = append(got, ids(hand))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%d cases for %d: %q, want %q", test.cases, test.hands, got, test.want)
		}
	}
}

func TestLastBytes(t *testing.T) {
	l := &lastBytes{}
	for range 3 {
		if n, err := l.Write(bytes.Repeat([]byte("x"), outputLimit/2)); n != outputLimit/2 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	l.Write([]byte("the end"))
	if len(l.kept) != outputLimit || !strings.HasSuffix(string(l.kept), "xthe end") {
		t.Errorf("kept %d bytes that end with %q", len(l.kept), l.kept[len(l.kept)-10:])
	}
}

func TestProgress(t *testing.T) {
	failed := reports.Result{ID: "a/b/c", Outcome: reports.Fail, Failures: []reports.Failure{{Message: "is absent\nat length"}}}
	for name, test := range map[string]struct {
		progress progress
		want     string
	}{
		"plain lines": {progress{}, "go\n1 of 3 cases\nFAIL a/b/c: is absent\n2 of 3 cases, 1 not as expected\nERROR killed: 1 cases have no result\n"},
		"a terminal": {progress{terminal: true, width: 20}, "\r\x1b[Kgo\n\r\x1b[K0 of 3 cases" + "\r\x1b[K0 of 3 cases  a/b/c" +
			"\r\x1b[K1 of 3 cases  a/b/c" + "\r\x1b[KFAIL a/b/c: is absent\n\r\x1b[K2 of 3 cases, 1 not" +
			"\r\x1b[KERROR killed: 1 cases have no result\n\r\x1b[K3 of 3 cases, 2 not" + "\r\x1b[K"},
		"colours": {progress{color: true}, "go\n1 of 3 cases\n\x1b[31mFAIL\x1b[0m a/b/c: is absent\n2 of 3 cases, 1 not as expected\n\x1b[31mERROR\x1b[0m killed: 1 cases have no result\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := test.progress
			p.out, p.total = &out, 3
			p.say("go")
			p.started("a/b/c")
			p.finished(reports.Result{ID: "a/b/b", Outcome: reports.Pass})
			p.tick()
			p.tick() // nothing new
			p.finished(failed)
			p.tick()
			p.lost(1, "killed")
			p.end()
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}
