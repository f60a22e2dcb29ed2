package reports

import (
	"bytes"
	"strings"
	"testing"
)

func writeMarkdown(t *testing.T, all ...Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteMarkdown(&out, all...); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestMarkdownGolden(t *testing.T) {
	golden(t, "report.md", []byte(writeMarkdown(t, New(badRun()))))
}

func TestMarkdownOfNothing(t *testing.T) {
	if err := WriteMarkdown(&bytes.Buffer{}); err == nil {
		t.Error("a summary of no report was written")
	}
}

func TestMarkdown(t *testing.T) {
	fenced := sampleResult("update", 24, Fail, "webhook.match.scope.namespaced")
	fenced.Failures = []Failure{{Message: "got @everyone | <b>", Expected: "a: 1\n```\n  b: 2\n", Actual: "a: 1\n  b: 3\n"}}
	several := writeMarkdown(t, New(sampleRun(passing()...)), New(sampleRun(append(passing(), fenced)...)))
	for _, want := range []string{
		"✅ **envtest v1.37.2 (1)**: conformant. 3 of 3 cases executed in 1m23s.\n",
		"❌ **envtest v1.37.2 (2)**: not conformant.",
		"got &#64;everyone \\| &lt;b>",
		"  a: 1\n- '''\n-   b: 2\n+   b: 3\n```\n",
		"<details><summary><b>fail</b> on envtest v1.37.2 (2): <code>matching-rules/operations/update</code></summary>",
		"| Rules | 2 of 2 | 2 of 3 | 2 of 3 (1 failed) | 1 of 3 |",
	} {
		if !strings.Contains(several, want) {
			t.Errorf("the summary lacks %q:\n%s", want, several)
		}
	}
}

// However much there is to say, the summary is short, its parts are closed, and it says what it leaves out.
func TestMarkdownIsShort(t *testing.T) {
	run := manyCases(20_000)
	long := strings.Repeat("x", 100_000)
	for i := range run.Results {
		if run.Results[i].Outcome == Fail {
			run.Results[i].Failures[0].Message, run.Results[i].Failures[0].Actual = long, long
		}
	}
	summary := writeMarkdown(t, New(run))
	if len(summary) > MarkdownLimit {
		t.Errorf("the summary has %d bytes, want at most %d", len(summary), MarkdownLimit)
	}
	if opened, closed := strings.Count(summary, "<details>"), strings.Count(summary, "</details>"); opened != closed || opened == 0 {
		t.Errorf("%d details are opened and %d closed", opened, closed)
	}
	for _, want := range []string{"400 cases failed", "more cases are not shown here", "| Many | 19600 of 20000 (400 failed) |"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary lacks %q", want)
		}
	}
}
