package zoo

import (
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/gatehouse-dev/gatehouse/suites/webhook"
)

// Animal is a webhook of the zoo.
type Animal struct {
	// Rule is the id of the only rule that it breaks; empty for the good one.
	Rule string
	// Name says in a few words what it does wrong.
	Name string
	// Handler makes its handler; nil for that of the good one.
	Handler func(webhook.Environment) http.Handler
	// Manifests change the manifests of the good one.
	Manifests []Edit
	// Secret adds a Secret with such a certificate to the manifests; nil adds none.
	Secret *Certificate
	// Admitted changes the sample that must be admitted.
	Admitted []Edit
	// Shown is the certificate of its server, for an animal that runs already and is tried at a URL; nil for the others.
	Shown *Certificate
	// Process tells that the animal has to run as a process of its own.
	Process bool
	// Serve runs the animal as a process, for those whose fault is there; nil for the way of the good one.
	Serve func(Process) error
}

// Edit is one change of a text: Old stands in it exactly once.
type Edit struct{ Old, New string }

//go:embed manifests.yaml
var manifests string

//go:embed admitted.yaml
var admitted string

//go:embed refused.yaml
var refused string

// Files returns the animal's files by their names.
func (a Animal) Files() (map[string]string, error) {
	files := map[string]string{"refused.yaml": refused}
	for _, file := range []struct {
		name, text string
		edits      []Edit
	}{{"manifests.yaml", manifests, slices.Concat(a.Manifests, secret(a.Secret))}, {"admitted.yaml", admitted, a.Admitted}} {
		text := file.text
		for _, edit := range file.edits {
			if strings.Count(text, edit.Old) != 1 {
				return nil, fmt.Errorf("animal %q: %q stands %d times in %s, want once", a.Name, edit.Old, strings.Count(text, edit.Old), file.name)
			}
			text = strings.Replace(text, edit.Old, edit.New, 1)
		}
		files[file.name] = text
	}
	return files, nil
}

// handler is the animal's handler.
func (a Animal) handler(e webhook.Environment) http.Handler {
	if a.Handler == nil {
		return serve(good)
	}
	return a.Handler(e)
}

// NewHandler makes the animal's handler, for webhook.Options.
func (a Animal) NewHandler(e webhook.Environment) (http.Handler, error) { return a.handler(e), nil }

// Good is the webhook that keeps every rule.
func Good() Animal { return Animal{Name: "good"} }

// Animals returns the webhooks that break a rule each.
func Animals() []Animal {
	return slices.Concat(endpointAnimals(), certificateAnimals(), responseAnimals(), requestAnimals(), mutatingAnimals(), effectAnimals(), processAnimals(), manifestAnimals())
}

// Breaking returns the webhooks that break a rule.
func Breaking(rule string) []Animal {
	return slices.DeleteFunc(Animals(), func(a Animal) bool { return a.Rule != rule })
}

// Unseen begins the notes of those rules in the ledger that nothing outside a webhook can look at, so that no animal breaks
// them.
const Unseen = "cannot be seen from outside"

// deciding is a handler that decides in another way than the good one.
func deciding(decide decider) func(webhook.Environment) http.Handler {
	return func(webhook.Environment) http.Handler { return serve(decide) }
}

// answering is a handler that changes the answers of the good one.
func answering(change func(*request, *admissionv1.AdmissionResponse)) func(webhook.Environment) http.Handler {
	return deciding(func(q *request) *admissionv1.AdmissionResponse {
		response := good(q)
		change(q, response)
		return response
	})
}

// around is a handler around that of the good one.
func around(wrap func(next http.Handler) http.HandlerFunc) func(webhook.Environment) http.Handler {
	return func(webhook.Environment) http.Handler { return wrap(serve(good)) }
}

// choking is a handler that panics on some requests, as one with a nil pointer does.
func choking(on func(*request) bool) func(webhook.Environment) http.Handler {
	return answering(func(q *request, _ *admissionv1.AdmissionResponse) {
		if on(q) {
			panic(http.ErrAbortHandler) // as any panic, but quiet
		}
	})
}
