package webhook

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatehouse-dev/gatehouse/fakeapi/manifest"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/config"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/sample"
)

// given is an object to try the webhook with.
type given struct {
	object *unstructured.Unstructured
	// place is FILE:LINE; what Gatehouse made itself has none.
	place string
	// refused tells that the webhook must refuse it, with a message that matches.
	refused bool
	message string
	// setup tells that it must be there before the others.
	setup bool
}

// readSamples reads the samples of gatehouse.yaml.
func readSamples(file *config.File) ([]*given, error) {
	var all []*given
	add := func(path string, refused bool, message string, setup bool) error {
		objects, err := manifest.Read(file.Resolve(path))
		if err != nil {
			return fmt.Errorf("samples: %w", err)
		}
		for _, o := range objects {
			all = append(all, &given{
				object: o.Unstructured, place: fmt.Sprintf("%s:%d", o.File, o.Line), refused: refused, message: message, setup: setup,
			})
		}
		return nil
	}
	for _, path := range file.Samples.Setup {
		if err := add(path, false, "", true); err != nil {
			return nil, err
		}
	}
	for _, path := range file.Samples.Admitted {
		if err := add(path, false, "", false); err != nil {
			return nil, err
		}
	}
	for _, r := range file.Samples.Refused {
		if err := add(r.File, true, r.Message, false); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// made returns the objects that Gatehouse makes itself: samples of built-in kinds and of the custom resources of the
// manifests, but for those kinds that the author has given an object of.
func made(set *manifests.Set, samples []*given) []*given {
	has := func(u *unstructured.Unstructured) bool {
		return slices.ContainsFunc(samples, func(g *given) bool {
			return !g.setup && !g.refused && g.object.GroupVersionKind() == u.GroupVersionKind()
		})
	}
	var more []*given
	for _, object := range sample.Builtin() {
		if !has(object) {
			more = append(more, &given{object: object})
		}
	}
	for _, definition := range set.Definitions {
		versions := sample.Versions(definition)
		for _, name := range sample.Served(definition) {
			if object := sample.Custom(definition, versions[name]); !has(object) {
				more = append(more, &given{object: object})
			}
		}
	}
	return more
}

// selected returns labels that a selector selects, as far as one can tell: those that its requirements name.
func selected(selector *metav1.LabelSelector) map[string]string {
	labels := map[string]string{}
	if selector == nil {
		return labels
	}
	maps.Copy(labels, selector.MatchLabels)
	for _, requirement := range selector.MatchExpressions {
		switch {
		case requirement.Operator == metav1.LabelSelectorOpIn && len(requirement.Values) > 0:
			labels[requirement.Key] = requirement.Values[0]
		case requirement.Operator == metav1.LabelSelectorOpExists:
			labels[requirement.Key] = "true"
		}
	}
	delete(labels, "kubernetes.io/metadata.name") // the API server sets it
	return labels
}

// name is the name of an object that Gatehouse makes of a resource.
func trialName(resource string) string { return "gatehouse-" + strings.ToLower(resource) }
