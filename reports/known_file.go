package reports

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures/tree"
)

// ReadKnown reads a list of known failures in YAML, whose entries have the fields of KnownFailure:
//
//	# Failures of our servers that we know of.
//	- id: matching-rules/operations/create
//	  reason: Our proxy answers 500 here.
//	  link: https://tracker.example.com/7
//	  expires: 2026-12-31
//
// All that is wrong is one error, a line for each fault, in the form file:line:column: message. An empty list is [].
func ReadKnown(file string, data []byte) ([]KnownFailure, error) {
	root, problems := tree.Parse(file, data)
	if root == nil {
		return nil, problems.Err()
	}
	d := tree.Decoder{Problems: problems}
	var known []KnownFailure
	if root.Kind != tree.List {
		d.Problems.Addf(root, "got %s, want a list of known failures: each with id, reason, link and expires", root.Describe())
	} else {
		d.Decode(root, &known)
	}
	if len(d.Problems) > 0 { // a wrong type or a missing field leaves nothing to check
		return nil, d.Problems.Err()
	}
	lines := map[string]int{}
	for i := range known {
		checkKnown(&known[i], root.Items[i], lines, &d.Problems)
	}
	return known, d.Problems.Err()
}

// caseID is the form of the ids of cases: AREA/FILE/NAME.
var caseID = regexp.MustCompile(`^[^/\s]+(/[^/\s]+){2}$`)

// checkKnown checks what the types do not say. lines are the lines of the entries so far, by id.
func checkKnown(k *KnownFailure, n *tree.Node, lines map[string]int, problems *tree.Problems) {
	switch id := n.Get("id"); {
	case !caseID.MatchString(k.ID):
		problems.Addf(id, "id: got %q, want the id of a case: AREA/FILE/NAME", k.ID)
	case lines[k.ID] != 0:
		problems.Addf(id, "id: the case %s is listed at line %d already", k.ID, lines[k.ID])
	default:
		lines[k.ID] = id.Pos.Line
	}
	if k.Reason = strings.TrimSpace(k.Reason); k.Reason == "" || strings.Contains(k.Reason, "\n") {
		problems.Addf(n.Get("reason"), "reason: got %q, want one line that says why the case fails", k.Reason)
	}
	if link := n.Get("link"); link != nil {
		if u, err := url.Parse(k.Link); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			problems.Addf(link, "link: got %q, want the URL of the page where the failure is tracked", k.Link)
		}
	}
	if _, err := time.Parse(time.DateOnly, k.Expires); err != nil {
		problems.Addf(n.Get("expires"), "expires: got %q, want the last day on which the entry counts, such as 2026-12-31", k.Expires)
	}
}
