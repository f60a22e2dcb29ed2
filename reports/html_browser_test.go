package reports

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// browser returns the path of a Chromium, or skips the test.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("needs Chromium (chromium, chromium-browser or google-chrome) to look at the page as people do")
	return ""
}

// consoleLine is what Chromium logs of a page's own messages and errors.
var consoleLine = regexp.MustCompile(`(?m)^.*CONSOLE.*$`)

// browse opens a page and returns its elements when its script has run. What the page writes to the console is an error.
func browse(t *testing.T, chromium, page, fragment string) *html.Node {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r) // the icon that browsers ask for
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	home := t.TempDir()
	command := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--user-data-dir="+home, "--enable-logging=stderr", "--dump-dom", server.URL+"/"+fragment)
	command.Env = append(os.Environ(), "HOME="+home)
	var dom, log bytes.Buffer
	command.Stdout, command.Stderr = &dom, &log
	if err := command.Run(); err != nil {
		t.Fatalf("%v:\n%s", err, log.String())
	}
	for _, l := range consoleLine.FindAllString(log.String(), -1) {
		if !strings.Contains(l, "favicon.ico") {
			t.Errorf("the page says on the console: %s", l)
		}
	}
	root, err := html.Parse(&dom)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func attribute(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

// withClass returns the elements of a class that are shown, or those that are hidden.
func withClass(root *html.Node, class string, hidden bool) []*html.Node {
	var found []*html.Node
	for n := range root.Descendants() {
		classes, _ := attribute(n, "class")
		_, is := attribute(n, "hidden")
		if n.Type == html.ElementNode && is == hidden && strings.Contains(" "+classes+" ", " "+class+" ") {
			found = append(found, n)
		}
	}
	return found
}

func textContent(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestHTMLInBrowser(t *testing.T) {
	chromium := browser(t)
	bad, many := writeHTML(t, New(badRun())), writeHTML(t, New(manyCases(5000)))
	for name, tc := range map[string]struct {
		page, fragment      string
		behaviors, problems int
		says                string
	}{
		"all":                    {bad, "", 7, 3, ""},
		"by words and level":     {bad, "#?q=SOMETHING+is&level=may", 1, 0, "1 of 7 behaviors, 0 of 3 cases that did not pass"},
		"by verdict and area":    {bad, "#?verdict=failed&area=matching-rules", 3, 3, "3 of 7 behaviors, 3 of 3 cases that did not pass"},
		"five thousand cases":    {many, "#?q=case-4999", 1, 0, "1 of 2500 behaviors, 0 of 100 cases that did not pass"},
		"a place that is not":    {bad, "#nowhere", 7, 3, ""},
		"a filter of no meaning": {bad, "#?verdict=odd", 7, 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := browse(t, chromium, tc.page, tc.fragment)
			if got := len(withClass(root, "behavior", false)); got != tc.behaviors {
				t.Errorf("%d behaviors are shown, want %d", got, tc.behaviors)
			}
			if got := len(withClass(root, "problem", false)); got != tc.problems {
				t.Errorf("%d cases that did not pass are shown, want %d", got, tc.problems)
			}
			for n := range root.Descendants() {
				if id, _ := attribute(n, "id"); id == "shown" && textContent(n) != tc.says {
					t.Errorf("the filter says %q, want %q", textContent(n), tc.says)
				}
				if _, hidden := attribute(n, "hidden"); n.Data == "form" && hidden {
					t.Error("the filter is hidden")
				}
			}
		})
	}
}

// Everything that can be used has a name that is read out, and pictures and tables say what they show.
func TestHTMLHasAccessibleNames(t *testing.T) {
	root, err := html.Parse(strings.NewReader(writeHTML(t, New(badRun()))))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		seen[n.Data]++
		label, _ := attribute(n, "aria-label")
		labelled, _ := attribute(n, "aria-labelledby")
		named := label != "" || labelled != ""
		switch n.Data {
		case "html":
			if lang, _ := attribute(n, "lang"); lang == "" {
				t.Error("the page has no language")
			}
		case "input", "select":
			if n.Parent.Data != "label" && !named {
				t.Errorf("a field has no label: %v", n.Attr)
			}
		case "button", "a", "summary", "th", "h1", "h2", "h3", "h4", "caption":
			if textContent(n) == "" && !named {
				t.Errorf("an element has no text: <%s> %v", n.Data, n.Attr)
			}
		case "svg", "section", "nav", "form":
			if !named {
				t.Errorf("an element has no name: <%s> %v", n.Data, n.Attr)
			}
		case "table":
			if !strings.Contains(textOfChild(n, "caption"), " ") {
				t.Error("a table has no caption")
			}
		}
	}
	for _, element := range []string{"input", "select", "button", "svg", "table", "nav", "main"} {
		if seen[element] == 0 {
			t.Errorf("the page has no <%s>", element)
		}
	}
}

func textOfChild(n *html.Node, name string) string {
	for c := range n.ChildNodes() {
		if c.Data == name {
			return textContent(c)
		}
	}
	return ""
}
