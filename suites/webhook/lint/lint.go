// Package lint finds what is wrong with the manifests of a webhook without running anything.
package lint

import (
	"fmt"
	"time"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// Finding is one thing that is wrong with a manifest.
type Finding struct {
	// Rule is the id of the demand, contract.registration.*.
	Rule string
	// Hook is the webhook; nil for an object that is none.
	Hook *manifests.Hook
	// Place is FILE:LINE of the object.
	Place string
	// Path is the field, such as webhooks[0].timeoutSeconds.
	Path string
	// Message says what is wrong.
	Message string
}

// Check looks at all manifests. The rules about certificates go by the time given.
func Check(set *manifests.Set, now time.Time) []Finding {
	c := &checker{set: set, now: now}
	for _, h := range set.Hooks {
		c.hook = h
		for _, check := range []func(){
			c.version, c.name, c.sideEffects, c.reviewVersions, c.timeout, c.objectSelector, c.clientConfig, // registration.go
			c.matchPolicy, c.versions, // versions.go
			c.wildcards, c.hotResources, c.ownConfiguration, c.connect, c.namespaces, c.shadows, // rules.go
		} {
			check()
		}
	}
	c.certificates()
	return c.findings
}

// checker collects findings.
type checker struct {
	set      *manifests.Set
	now      time.Time
	hook     *manifests.Hook // the one that is looked at
	findings []Finding
}

// find adds a finding about a field of the webhook that is looked at.
func (c *checker) find(rule, field, format string, args ...any) {
	path := c.hook.Field()
	if field != "" {
		path += "." + field
	}
	c.findings = append(c.findings, Finding{
		Rule: "contract.registration." + rule, Hook: c.hook, Place: c.hook.Place, Path: path, Message: fmt.Sprintf(format, args...),
	})
}
