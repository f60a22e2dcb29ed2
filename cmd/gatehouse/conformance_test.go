package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
)

// caseSet are some cases of two areas.
func caseSet() *fixtures.Set {
	return &fixtures.Set{
		Ledger: &fixtures.Ledger{Areas: []fixtures.Area{{ID: "rules"}, {ID: "order"}}, Behaviors: []fixtures.Behavior{{ID: "webhook.a", Level: fixtures.Must}, {ID: "webhook.b", Level: fixtures.May}}},
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
	// 3 is serial, so that the others are dealt by their times alone; 2 has the mean of 1 and 4
	times := map[string]time.Duration{"rules/a/1": 1, "order/b/3": 50, "order/b/4": 5}
	for name, test := range map[string]struct {
		selection reports.Selection
		times     map[string]time.Duration
		want      string
	}{
		"everything":              {reports.Selection{}, nil, "1 2 3 4"},
		"focus on an id":          {reports.Selection{Focus: "^order/"}, nil, "3 4"},
		"focus on a title":        {reports.Selection{Focus: "first|third"}, nil, "1 3"},
		"area":                    {reports.Selection{Labels: "rules"}, nil, "1 2"},
		"behaviour":               {reports.Selection{Labels: "webhook.b"}, nil, "2 3"},
		"level":                   {reports.Selection{Labels: "may"}, nil, "2 3"},
		"need":                    {reports.Selection{Labels: "hooks || audit"}, nil, "2 4"},
		"serial":                  {reports.Selection{Labels: "must && !serial"}, nil, "1"},
		"a label by expression":   {reports.Selection{Labels: "/^rul/"}, nil, "1 2"},
		"shard":                   {reports.Selection{Shard: "2/3"}, nil, "2"},
		"first shard":             {reports.Selection{Shard: "1/3"}, nil, "1 4"},
		"shard by times":          {reports.Selection{Shard: "1/2"}, times, "3 4"},
		"other shard by times":    {reports.Selection{Shard: "2/2"}, times, "1 2"},
		"times without shards":    {reports.Selection{}, times, "1 2 3 4"},
		"a shard of none":         {reports.Selection{Shard: "5/5"}, nil, ""},
		"focus, labels and shard": {reports.Selection{Focus: "the", Labels: "!rules", Shard: "2/2"}, nil, "4"},
		"nothing":                 {reports.Selection{Focus: "fifth"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newSelector(test.selection, test.times)
			if err != nil {
				t.Fatal(err)
			}
			chosen, err := s.of(caseSet())
			if (err != nil) != (test.want == "") {
				t.Errorf("error %v", err)
			}
			if got := ids(chosen); got != test.want {
				t.Errorf("selected %q, want %q", got, test.want)
			}
		})
	}
}

func TestConformanceUsage(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}`), 0o600); err != nil {
		t.Fatal(err)
	}
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
		"unknown label":          {[]string{"--labels", "!seriel && must"}, `--labels is "!seriel && must": there is no label "seriel"; did you mean "serial"?`},
		"near a target":          {[]string{"--target", "envtests"}, `want fakeapi, envtest or kubeconfig; did you mean "envtest"?`},
		"near an area":           {[]string{"--focus", "^matching-rule/"}, `no case is selected by --focus ^matching-rule/, of`},
		"near a flag":            {[]string{"--tarjet", "x"}, `unknown flag: --tarjet; did you mean "--target"?`},
		"flavour":                {[]string{"--junit-flavor", "gitlub"}, `--junit-flavor is "gitlub": want portable, gitlab, github or testgrid; did you mean`},
		"known that is not":      {[]string{"--known", "/nonexistent"}, "open /nonexistent"},
		"times that are not":     {[]string{"--times", "/nonexistent"}, "open /nonexistent"},
		"nothing to watch":       {[]string{"--watch"}, "--watch: name the directories to watch by --fixtures or --builtin"},
		"shard":                  {[]string{"--shard", "3/2"}, `--shard: shard "3/2": want I/N`},
		"procs":                  {[]string{"--procs", "-1"}, "--procs is -1: want 1 or more"},
		"procs and one port":     {[]string{"--target", "kubeconfig", "--kubeconfig", kubeconfig, "--hook-address", "h:1", "--procs", "2"}, "with ports in --hook-address one process runs all cases"},
		"no kubeconfig":          {[]string{"--target", "kubeconfig", "--kubeconfig", "/nonexistent"}, "--target kubeconfig: stat /nonexistent"},
		"no context":             {[]string{"--target", "kubeconfig", "--kubeconfig", kubeconfig, "--context", "d"}, `--target kubeconfig: context "d" does not exist`},
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
	times := map[string]time.Duration{"rules/a/1": 9, "order/b/3": 3, "order/b/4": 4}
	for _, test := range []struct {
		cases, hands int
		times        map[string]time.Duration
		want         []string
	}{
		{4, 3, nil, []string{"1 4", "2", "3"}},
		{2, 3, nil, []string{"1", "2"}},
		{4, 1, nil, []string{"1 2 3 4"}},
		{0, 3, nil, nil},
		{4, 2, times, []string{"1 3", "2 4"}}, // 2 is taken to last 5, as the others on average
		{4, 3, times, []string{"1", "2", "3 4"}},
		{2, 3, times, []string{"1", "2"}},
		{0, 3, times, nil},
	} {
		var got []string
		for _, hand := range deal(caseSet().Cases[:test.cases], test.times, test.hands) {
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

// start is when runs of these tests begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestProgressLeft: the time left follows from the times of the cases that are done, and from those of earlier runs.
func TestProgressLeft(t *testing.T) {
	cases := caseSet().Cases
	times := map[string]time.Duration{"rules/a/1": 2 * time.Second, "rules/a/2": 4 * time.Second, "order/b/3": 5 * time.Second, "order/b/4": 9 * time.Second}
	for name, test := range map[string]struct {
		times map[string]time.Duration
		done  int
		after time.Duration
		lost  []string
		want  string
	}{
		"nothing is done":    {nil, 0, time.Minute, nil, "0 of 4 cases, now in rules"},
		"at the beginning":   {nil, 1, 900 * time.Millisecond, nil, "1 of 4 cases, now in rules"},
		"in equal parts":     {nil, 1, 10 * time.Second, nil, "1 of 4 cases, about 30s left, now in rules"},
		"by their times":     {times, 1, 10 * time.Second, nil, "1 of 4 cases, about 1m30s left, now in rules"},
		"further":            {times, 2, 12 * time.Second, nil, "2 of 4 cases, about 28s left, now in rules"},
		"some have no times": {map[string]time.Duration{"rules/a/1": time.Second}, 1, 10 * time.Second, nil, "1 of 4 cases, about 30s left, now in rules"},
		"some are lost":      {times, 2, 12 * time.Second, []string{"order/b/4"}, "3 of 4 cases, 1 not as expected, about 10s left, now in rules"},
		"all are done":       {times, 4, 20 * time.Second, nil, "4 of 4 cases, about 0s left, now in rules"},
	} {
		t.Run(name, func(t *testing.T) {
			now := start
			p := newProgress(io.Discard, cases, test.times)
			p.now = func() time.Time { return now }
			p.started(cases[0].ID)
			for _, c := range cases[:test.done] {
				p.finished(reports.Result{ID: c.ID, Outcome: reports.Pass})
			}
			if test.lost != nil {
				p.lost(test.lost, "killed")
			}
			now = now.Add(test.after)
			if got := p.status(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	failed := reports.Result{ID: "a/b/c", Outcome: reports.Fail, Failures: []reports.Failure{{Message: "is absent\nat length"}}}
	for name, test := range map[string]struct {
		progress progress
		want     string
	}{
		"plain lines": {progress{}, "go\n1 of 3 cases, now in a\nFAIL a/b/c: is absent\n2 of 3 cases, 1 not as expected, now in a\nERROR killed: 1 cases have no result\n"},
		"a terminal": {progress{terminal: true, width: 20}, "\r\x1b[Kgo\n\r\x1b[K0 of 3 cases" + "\r\x1b[K0 of 3 cases  a/b/c" +
			"\r\x1b[K1 of 3 cases  a/b/c" + "\r\x1b[K1 of 3 cases  a/b/c" + "\r\x1b[K1 of 3 cases  a/b/c" +
			"\r\x1b[KFAIL a/b/c: is absent\n\r\x1b[K2 of 3 cases, 1 not" + "\r\x1b[K2 of 3 cases, 1 not" + "\r\x1b[KERROR killed: 1 cases have no result\n\r\x1b[K3 of 3 cases, 2 not" + "\r\x1b[K"},
		"colours": {progress{color: true}, "go\n1 of 3 cases, now in a\n\x1b[31mFAIL\x1b[0m a/b/c: is absent\n2 of 3 cases, 1 not as expected, now in a\n\x1b[31mERROR\x1b[0m killed: 1 cases have no result\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := test.progress
			p.out, p.total, p.now = &out, 3, func() time.Time { return start }
			p.say("go")
			p.started("a/b/c")
			p.finished(reports.Result{ID: "a/b/b", Outcome: reports.Pass})
			p.tick()
			p.tick() // nothing new
			p.finished(failed)
			p.tick()
			p.lost([]string{"a/b/d"}, "killed")
			p.end()
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}
