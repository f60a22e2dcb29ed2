package decision

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Explain tells in plain words what was decided on a request, and why: a line about the request and its end, then one
// about each step, in order, with what it called, changed and warned of below it. It has no newline at its end.
func Explain(record Record) string {
	var text strings.Builder
	text.WriteString(headline(record))
	if len(record.Steps) == 0 {
		text.WriteString("\n  there was no webhook and no policy to consider")
	}
	section := ""
	for _, step := range record.Steps {
		if s := sectionOf(step); s != section {
			section = s
			text.WriteString("\n  " + section)
		}
		text.WriteString("\n    " + step.subject() + ": " + step.ending())
		for _, line := range step.details() {
			text.WriteString("\n      " + line)
		}
	}
	return text.String()
}

// headline is such as
//
//	CREATE configmaps default/probe (v1 ConfigMap) by alice: refused: ... [Audit-ID 5f2...]
func headline(record Record) string {
	request := record.Request
	var text strings.Builder
	text.WriteString(request.Operation + " " + resourceName(request.Resource, request.Subresource))
	switch {
	case request.Namespace != "" && request.Namespace != request.Name:
		text.WriteString(" " + request.Namespace + "/" + request.Name)
	case request.Name != "":
		text.WriteString(" " + request.Name)
	}
	text.WriteString(" (" + kindName(request.Kind) + ")")
	if request.User != "" {
		text.WriteString(" by " + request.User)
	}
	if request.DryRun {
		text.WriteString(", a dry run")
	}
	if record.Allowed {
		text.WriteString(": allowed")
	} else {
		text.WriteString(": refused: " + record.Error)
	}
	if record.AuditID != "" {
		text.WriteString(" [Audit-ID " + record.AuditID + "]")
	}
	return text.String()
}

func resourceName(resource schema.GroupVersionResource, subresource string) string {
	name := resource.Resource
	if resource.Group != "" {
		name += "." + resource.Group
	}
	if subresource != "" {
		name += "/" + subresource
	}
	return name
}

func kindName(kind schema.GroupVersionKind) string {
	return kind.GroupVersion().String() + " " + kind.Kind
}

// sectionOf names the part of the chain that a step belongs to.
func sectionOf(step Step) string {
	section := string(step.Phase)
	if step.Round > 0 {
		section += ", second round"
	}
	if step.Attempt > 1 {
		section += fmt.Sprintf(", attempt %d", step.Attempt)
	}
	return section
}

// subject names what was considered.
func (s Step) subject() string {
	switch {
	case s.Configuration == "":
		return s.Plugin
	case s.isWebhook():
		return fmt.Sprintf("webhook %s (configuration %s)", s.Name, s.Configuration)
	case s.Name == "":
		return "policy " + s.Configuration
	default:
		return fmt.Sprintf("policy %s (binding %s)", s.Configuration, s.Name)
	}
}

func (s Step) isWebhook() bool { return strings.HasSuffix(s.Plugin, "Webhook") }

// ending says how the step ended, and why.
func (s Step) ending() string {
	reason := ""
	if s.Reason != "" {
		reason = ": " + s.Reason
	}
	switch s.Outcome {
	case Skipped:
		if s.isWebhook() {
			return "not called" + reason
		}
		return "does not apply" + reason
	case Allowed:
		// The reason is why the step ran, not why it allowed.
		because := ""
		if s.Reason != "" {
			because = " (" + s.Reason + ")"
		}
		if len(s.Changes) > 0 {
			return s.ran() + because + ": changed the object"
		}
		return s.ran() + because + ": allowed the request"
	case Denied:
		return s.ran() + ": denied the request" + reason
	case FailedOpen:
		return s.ran() + ": failed, and failurePolicy Ignore lets the request pass" + reason
	case Failed:
		return s.ran() + ": failed, and so the request was refused" + reason
	default:
		return string(s.Outcome) + reason
	}
}

// ran says that the step did something.
func (s Step) ran() string {
	switch {
	case s.Reinvoked != "" && s.isWebhook():
		return "called again, because " + s.Reinvoked
	case s.Reinvoked != "":
		return "applied again, because " + s.Reinvoked
	case s.Call != nil:
		return "called"
	case s.isWebhook():
		return "not called"
	case s.Configuration == "":
		return "checked"
	default:
		return "applied"
	}
}

// details are the lines below a step.
func (s Step) details() []string {
	var lines []string
	if s.Call != nil {
		lines = append(lines, s.Call.line())
	}
	if s.Matched != "" && s.Call != nil && s.Outcome != Allowed {
		lines = append(lines, "called because "+s.Matched+" matches")
	}
	told := sets.New[string]() // messages evaluate again the variables of the validations
	for _, evaluation := range s.Evaluations {
		for _, line := range evaluation.lines() {
			if !told.Has(line) {
				lines = append(lines, line)
			}
			told.Insert(line)
		}
	}
	for _, change := range s.Changes {
		lines = append(lines, "change: "+change)
	}
	for _, warning := range s.Warnings {
		lines = append(lines, "warning: "+warning)
	}
	return lines
}

// lines tell what the parts of an expression came to, such as
//
//	validations[0].expression: object.spec.replicas <= params.max: 7 <= 5 is false
func (e Evaluation) lines() []string {
	prefix := strings.TrimPrefix(e.Expression, "spec.") + ": "
	if e.Param != "" {
		prefix = "param " + e.Param + ": " + prefix
	}
	var lines []string
	for _, part := range e.Parts {
		line := prefix + part.Expression
		if part.Filled != "" {
			line += ": " + part.Filled
		}
		if part.Failed {
			line += " failed: " + part.Value
		} else {
			line += " is " + part.Value
		}
		lines = append(lines, line)
	}
	return lines
}

// line is such as
//
//	POST https://127.0.0.1:8443/?timeout=10s, a v1 review of apps/v1 Deployment: 200 after 3ms
func (c Call) line() string {
	line := fmt.Sprintf("POST %s, a %s review of %s: ", c.URL, c.ReviewVersion, kindName(c.Kind))
	if c.Status == 0 {
		line += "no answer"
	} else {
		line += fmt.Sprint(c.Status)
	}
	return line + " after " + rounded(c.Duration).String()
}

// rounded leaves as much of a duration as a reader wants to know.
func rounded(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond)
	default:
		return d.Round(time.Microsecond)
	}
}
