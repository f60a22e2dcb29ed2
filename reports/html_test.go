package reports

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

func writeHTML(t *testing.T, all ...Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteHTML(&out, all...); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestHTMLGolden(t *testing.T) {
	page := writeHTML(t, New(badRun()))
	for _, name := range []string{"style.css", "script.js"} { // which are files themselves
		asset, err := htmlAsset(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, asset) {
			t.Errorf("the page does not hold %s as it is", name)
		}
		page = strings.Replace(page, asset, name+"\n", 1)
	}
	golden(t, "report.html", []byte(page))
}

func TestHTMLOfNothing(t *testing.T) {
	if err := WriteHTML(&bytes.Buffer{}); err == nil {
		t.Error("a page of no report was written")
	}
}

// TestHTML looks for what each kind of report must show.
func TestHTML(t *testing.T) {
	hostile := sampleResult("update", 24, Fail, "webhook.match.scope.namespaced")
	hostile.Title = `</title><script>alert(1)</script>`
	hostile.Failures = []Failure{{Message: `<img src=x onerror=alert(1)>`, Expected: "</pre><b>", Actual: "\x00"}}
	hostile.Fixture = []fixtures.Excerpt{{Line: 24, Text: "- name: update # </script>"}}

	shown := sampleResult("update", 24, Fail, "webhook.match.scope.namespaced")
	shown.Failures = []Failure{{Step: "steps[0]", Line: 26, Path: "expect.stored", Message: "it was stored"}}
	shown.Fixture = []fixtures.Excerpt{{Line: 24, Text: "- name: update\n  steps:\n  - update: {}"}}
	shown.Transcript = []Step{{Step: "steps[0]", Request: "PUT /x", Body: `{"a":{"b":1}}`, Code: 200}}

	tested := sampleRun(passing()...)
	tested.PolicyTests = &PolicyTests{Policies: []PolicyCoverage{{
		Kind: "ValidatingAdmissionPolicy", Name: "limits", File: "limits.yaml", Line: 1,
		Expressions: []ExpressionCoverage{{Path: "spec.validations[0].expression", Line: 9, Expression: "object.spec.replicas < 5", Boolean: true, True: 2}},
	}}}

	warned := sampleResult("uid", 0, Warn, "contract.uid.echoed")
	warned.Area, warned.Failures = "webhook-contract", []Failure{{Message: "it took 7s", Advice: "answer sooner"}}
	trial := sampleRun(warned)
	trial.Webhook = &WebhookInfo{Names: []string{"pods.example.com (validating)"}, Config: "my config.yaml", Notes: []string{"while it is down, pods are refused"}}

	other := New(sampleRun(passing()...))
	other.Target.Version = "v1.36.0"
	for name, tc := range map[string]struct {
		reports     []Report
		has, hasNot []string
	}{
		"conformant": {
			[]Report{New(sampleRun(passing()...))},
			[]string{`<span class="badge good">conformant</span> <strong>envtest v1.37.2</strong>`, "3 of 3 cases executed in 1m23s", "Durations of 3 cases: half took up to 10ms"},
			[]string{`id="problems"`, `id="not-run"`},
		},
		"what a server sent is shown, never run": {
			[]Report{New(sampleRun(append(passing(), hostile)...))},
			[]string{"&lt;img src=x onerror=alert(1)&gt;", "&lt;/pre&gt;&lt;b&gt;", "\u2400", "# &lt;/script&gt;"},
			[]string{"<img", "<script>alert"},
		},
		"the fixture with the line that failed": {
			[]Report{New(sampleRun(append(passing(), shown)...))},
			[]string{
				`<span class="line failed"><span class="ln">26</span><span class="hidden-mark">&gt; </span>  - update: {}`,
				"&#34;a&#34;: {\n    &#34;b&#34;: 1\n  }",
				`gatehouse conformance --target envtest --focus &#39;^matching-rules/operations/update$&#39;`,
			},
			nil,
		},
		"two targets side by side": {
			[]Report{New(badRun()), other},
			[]string{
				`<th scope="colgroup" colspan="2">envtest v1.37.2</th><th scope="colgroup" colspan="2">envtest v1.36.0</th>`,
				`<span class="badge bad" title="envtest v1.37.2">failed</span> <span class="badge good" title="envtest v1.36.0">held</span>`,
			},
			nil,
		},
		"policy tests": {
			[]Report{New(tested)},
			[]string{"<h1>Gatehouse: tests of policies</h1>", `<a href="#policies">Policies</a>`, "1 of 2 outcomes of expressions were reached", "<pre>object.spec.replicas &lt; 5</pre></td><td>true 2, false 0</td><td>never false</td>"},
			nil,
		},
		"a webhook on trial": {
			[]Report{New(trial)},
			[]string{
				"<h1>Gatehouse: a webhook on trial</h1>", "On trial: <code>pods.example.com (validating)</code>", "while it is down, pods are refused",
				`<span class="badge soft">warn</span>`, "<b>Change:</b> answer sooner", "gatehouse webhook --config &#39;my config.yaml&#39;",
			},
			nil,
		},
		"two runs on one target are told apart": {
			[]Report{New(badRun()), New(badRun())},
			[]string{"<strong>envtest v1.37.2 (1)</strong>", "<strong>envtest v1.37.2 (2)</strong>"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			page := writeHTML(t, tc.reports...)
			checkHTML(t, page)
			for _, want := range tc.has {
				if !strings.Contains(page, want) {
					t.Errorf("the page lacks %q", want)
				}
			}
			for _, not := range tc.hasNot {
				if strings.Contains(page, not) {
					t.Errorf("the page has %q", not)
				}
			}
		})
	}
}

// checkHTML sees that a page needs nothing from elsewhere, that its links have targets and its ids are unique.
func checkHTML(t *testing.T, page string) {
	t.Helper()
	if found := regexp.MustCompile(`(?i)(src|href)="?(https?:|//)|[^a-z]url\(|@import|<link`).FindString(page); found != "" {
		t.Errorf("the page loads something: %s", found)
	}
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids, links := map[string]bool{}, map[string]bool{}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			switch {
			case a.Key == "id" && ids[a.Val]:
				t.Errorf("two elements have the id %q", a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			case a.Key == "href":
				links[strings.TrimPrefix(a.Val, "#")] = true
			}
		}
	}
	for link := range links {
		if !ids[link] {
			t.Errorf("a link leads to #%s, which is not there", link)
		}
	}
}

// manyCases is a run of so many cases, some of which failed.
func manyCases(n int) Run {
	ledger := &fixtures.Ledger{Areas: []fixtures.Area{{ID: "many", Title: "Many"}}}
	run := Run{Ledger: ledger, Target: sampleTarget(), Start: start, End: start.Add(time.Minute)}
	for i := range n {
		id := fmt.Sprintf("behavior.%d", i/2)
		if i%2 == 0 {
			ledger.Behaviors = append(ledger.Behaviors, fixtures.Behavior{ID: id, Area: "many", Statement: "It is so.", Level: fixtures.Must, Kind: fixtures.Documented})
		}
		r := Result{ID: fmt.Sprintf("many/file/case-%d", i), Area: "many", Behaviors: []string{id}, File: "many/file.yaml", Line: i + 1, Outcome: Pass, Start: start, Duration: time.Duration(i) * time.Millisecond}
		if i%50 == 0 {
			r.Outcome = Fail
			r.Failures = []Failure{{Step: "steps[0]", Path: "expect", Message: "it is not so", Expected: "a: 1\nb: 2", Actual: "a: 1\nb: 3"}}
			r.Transcript = []Step{{Step: "steps[0]", Request: "GET /x", Code: 200, Answer: strings.Repeat(`{"kind":"ConfigMap"}`, 100)}}
		}
		run.Results = append(run.Results, r)
	}
	return run
}

func BenchmarkWriteHTML(b *testing.B) {
	r := New(manyCases(5000))
	for b.Loop() {
		if err := WriteHTML(&bytes.Buffer{}, r); err != nil {
			b.Fatal(err)
		}
	}
}
