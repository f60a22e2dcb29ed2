// Package configtest holds the table of what is right and wrong in configurations and policies. Package config is tested
// with it, and hack/compare checks the table itself against the validation of Kubernetes.
package configtest

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var tables embed.FS

// Case is one write of an object.
type Case struct {
	Name string
	// Object is what is written, before defaulting, and Old what is stored; nil for a create.
	Object, Old runtime.Object
	// Want are the errors, in order.
	Want []string
}

// table is a file of cases.
type table struct {
	Kinds []string       `json:"kinds"`
	Base  map[string]any `json:"base"`
	Cases []struct {
		Name string `json:"name"`
		// Kind is the one kind, of those of the table, that the case is for.
		Kind string   `json:"kind"`
		Old  *change  `json:"old"`
		Want []string `json:"want"`
		change
	} `json:"cases"`
}

// change is how an object differs from the base of its table.
type change struct {
	// Object is a JSON merge patch of the object.
	Object map[string]any `json:"object"`
	// Webhook is a JSON merge patch of its one webhook, and Webhooks a list of such patches, a webhook each.
	Webhook  map[string]any   `json:"webhook"`
	Webhooks []map[string]any `json:"webhooks"`
	// Conditions is the number of match conditions of its one webhook, or of the policy.
	Conditions int `json:"conditions"`
}

// Cases reads all tables.
func Cases(t testing.TB) []Case {
	t.Helper()
	var cases []Case
	files, err := tables.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := tables.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		var read table
		if err := yaml.UnmarshalStrict(content, &read); err != nil {
			t.Fatalf("%s: %v", file.Name(), err)
		}
		for _, c := range read.Cases {
			for _, kind := range read.Kinds {
				if c.Kind != "" && c.Kind != kind {
					continue
				}
				made := Case{Name: fmt.Sprintf("%s/%s/%s", file.Name(), kind, c.Name), Want: c.Want}
				if made.Object, err = object(kind, read.Base, c.change); err != nil {
					t.Fatalf("%s: %v", made.Name, err)
				}
				if c.Old != nil {
					if made.Old, err = object(kind, read.Base, *c.Old); err != nil {
						t.Fatalf("%s: old: %v", made.Name, err)
					}
				}
				cases = append(cases, made)
			}
		}
	}
	return cases
}

// object makes an object of the kind from the base of a table and a change.
func object(kind string, base map[string]any, c change) (runtime.Object, error) {
	content := maps.Clone(base)
	if webhooks := c.Webhooks; webhooks != nil || c.Webhook != nil {
		if webhooks == nil {
			webhooks = []map[string]any{c.Webhook}
		}
		original := base["webhooks"].([]any)[0]
		var changed []any
		for _, patch := range webhooks {
			webhook, err := merge(original, patch)
			if err != nil {
				return nil, err
			}
			changed = append(changed, webhook)
		}
		content["webhooks"] = changed
	}
	if c.Object != nil {
		merged, err := merge(content, c.Object)
		if err != nil {
			return nil, err
		}
		content = merged
	}
	encoded, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	made := map[string]runtime.Object{
		"MutatingWebhookConfiguration":     &admissionregistrationv1.MutatingWebhookConfiguration{},
		"ValidatingWebhookConfiguration":   &admissionregistrationv1.ValidatingWebhookConfiguration{},
		"MutatingAdmissionPolicy":          &admissionregistrationv1.MutatingAdmissionPolicy{},
		"MutatingAdmissionPolicyBinding":   &admissionregistrationv1.MutatingAdmissionPolicyBinding{},
		"ValidatingAdmissionPolicy":        &admissionregistrationv1.ValidatingAdmissionPolicy{},
		"ValidatingAdmissionPolicyBinding": &admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
	}[kind]
	if err := yaml.UnmarshalStrict(encoded, made); err != nil {
		return nil, err
	}
	addConditions(made, c.Conditions)
	return made, nil
}

// merge is a JSON merge patch that leaves both as they are.
func merge(original, patch any) (map[string]any, error) {
	before, err := json.Marshal(original)
	if err != nil {
		return nil, err
	}
	change, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, change)
	if err != nil {
		return nil, err
	}
	var merged map[string]any
	return merged, json.Unmarshal(after, &merged)
}

func addConditions(object runtime.Object, count int) {
	conditions := make([]admissionregistrationv1.MatchCondition, count)
	for i := range conditions {
		conditions[i] = admissionregistrationv1.MatchCondition{Name: fmt.Sprintf("c%d", i), Expression: "true"}
	}
	if count == 0 {
		return
	}
	switch object := object.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		object.Webhooks[0].MatchConditions = conditions
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		object.Webhooks[0].MatchConditions = conditions
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		object.Spec.MatchConditions = conditions
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		object.Spec.MatchConditions = conditions
	}
}
