package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/hook"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// trialNamespace is where the objects of a trial are that name no namespace.
const trialNamespace = "gatehouse-trial"

// seed is a review that an API server sent because a webhook's rules match a request.
type seed struct {
	hook    *manifests.Hook
	variant variant
	review  map[string]any
	sample  string
	given   *given
}

// observer stands in for one webhook: registered as it is, it takes the reviews and admits everything.
type observer struct {
	hook *manifests.Hook
	name string // of the server
	// bare leaves out what narrows the webhook besides its rules.
	bare bool
}

// capture registers observers with the API server and makes every request there that the webhook's rules match. The
// reviews that come are the seeds of all that is posted to the webhook.
func (t *trial) capture(ctx context.Context) error {
	if err := t.api.discover(); err != nil {
		return err
	}
	labels := map[string]string{}
	for _, h := range t.set.Hooks {
		maps.Copy(labels, selected(h.NamespaceSelector))
	}
	if err := t.api.ensureNamespace(ctx, trialNamespace, labels); err != nil {
		return err
	}
	for _, g := range t.samples {
		if g.setup {
			if err := t.api.install(ctx, g.object); err != nil {
				return usage(fmt.Errorf("%s: the API server refuses the object: %w", g.place, err))
			}
		}
	}
	for _, g := range t.samples {
		if resource, known := t.api.find(g.object.GroupVersionKind()); known && resource.namespaced && g.object.GetNamespace() != "" {
			if err := t.api.ensureNamespace(ctx, g.object.GetNamespace(), labels); err != nil {
				return err
			}
		}
	}
	c := &capturer{trial: t, observed: t.record.observed}
	if err := c.observe(ctx); err != nil {
		return err
	}
	defer c.servers.Close()
	for _, g := range slices.Concat(t.samples, made(t.set, t.samples)) {
		if g.setup {
			continue
		}
		if err := c.exercise(ctx, g); err != nil {
			return err
		}
	}
	t.seeds = c.seeds
	for _, h := range t.set.Hooks {
		if !slices.ContainsFunc(c.seeds, func(s seed) bool { return s.hook == h }) {
			t.record.unseen = append(t.record.unseen, h)
		}
	}
	t.record.untried = append(t.record.untried, c.untried...)
	return c.retire(ctx)
}

// capturer makes requests and keeps the reviews that come of them.
type capturer struct {
	*trial
	servers   *hook.Servers
	observers map[string]observer // by the names of their servers
	observed  map[*manifests.Hook]*observed
	seeds     []seed
	untried   []string
}

// observe registers the observers. What the API server does not take becomes a refusal.
func (c *capturer) observe(ctx context.Context) error {
	c.observers = map[string]observer{}
	webhooks := map[string]fixtures.Webhook{}
	for i, h := range c.set.Hooks {
		c.observed[h] = &observed{}
		for _, bare := range []bool{false, true} {
			o := observer{hook: h, name: fmt.Sprintf("observer-%d-%t", i, bare), bare: bare}
			c.observers[o.name] = o
			webhooks[o.name] = fixtures.Webhook{}
		}
	}
	var err error
	if c.servers, err = c.pool.Open("observers", webhooks); err != nil {
		return err
	}
	for name := range webhooks {
		webhooks[name] = fixtures.Webhook{Answer: []fixtures.Answer{{}}}
	}
	if err := c.servers.Script(webhooks); err != nil {
		return err
	}
	configs := c.servers.ClientConfigs()
	for _, name := range slices.Sorted(maps.Keys(c.observers)) {
		o := c.observers[name]
		if err := c.register(ctx, o, configs[name]); err != nil {
			return err
		}
	}
	return c.api.settle(ctx)
}

// register registers one observer.
func (c *capturer) register(ctx context.Context, o observer, config hook.ClientConfig) error {
	entry := o.hook.MutatingWebhook.DeepCopy()
	entry.Name = "observer.gatehouse.example.com"
	entry.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &config.URL, CABundle: config.CABundle}
	none, ignore := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Ignore
	entry.SideEffects, entry.FailurePolicy, entry.AdmissionReviewVersions = &none, &ignore, []string{"v1"} // what rules of their own look at
	if o.bare {
		entry.NamespaceSelector, entry.ObjectSelector, entry.MatchConditions = nil, nil, nil
	}
	// It must look at nothing else in the cluster.
	entry.MatchConditions = append(entry.MatchConditions, c.ours())
	return c.registered(o.hook, c.configure(ctx, o.name, o.hook.Mutating, entry))
}

// registered notes that the API server refuses a registration; any other error is returned.
func (t *trial) registered(h *manifests.Hook, err error) error {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		return err
	}
	r := refusal{hook: h, message: err.Error()}
	if details := status.Status().Details; details != nil && len(details.Causes) > 0 {
		r.field, r.message = details.Causes[0].Field, details.Causes[0].Message
	}
	r.field = strings.Replace(r.field, "webhooks[0]", h.Field(), 1)
	if !slices.Contains(t.record.refusals, r) {
		t.record.refusals = append(t.record.refusals, r)
	}
	return nil
}

// configure makes a configuration of one webhook.
func (t *trial) configure(ctx context.Context, name string, mutating bool, entries ...*admissionregistrationv1.MutatingWebhook) error {
	kind := "ValidatingWebhookConfiguration"
	if mutating {
		kind = "MutatingWebhookConfiguration"
	}
	list := []any{}
	for _, entry := range entries {
		list = append(list, entry)
	}
	path := "/apis/admissionregistration.k8s.io/v1/" + strings.ToLower(kind) + "s"
	_, err := t.api.must(ctx, http.MethodPost, path, map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": "gatehouse-" + name}, "webhooks": list,
	})
	if err == nil {
		t.api.made(path + "/gatehouse-" + name)
		t.configured = append(t.configured, path+"/gatehouse-"+name)
	}
	return err
}

// retire takes the configurations of the trial away.
func (t *trial) retire(ctx context.Context) error {
	for _, path := range t.configured {
		got, err := t.api.remove(ctx, path)
		if err == nil {
			err = got.err()
		}
		if err != nil {
			return fmt.Errorf("take a configuration away: %w", err)
		}
	}
	t.configured = nil
	return t.api.settle(ctx)
}

// ours is the condition that a request is of the trial: by its namespace, or by the name of its object.
func (t *trial) ours() admissionregistrationv1.MatchCondition {
	namespaces := map[string]bool{trialNamespace: true}
	names := map[string]bool{"": true} // that of a collection
	for _, g := range t.samples {
		if g.object.GetNamespace() != "" {
			namespaces[g.object.GetNamespace()] = true
		}
		if g.object.GetName() != "" {
			names[g.object.GetName()] = true
		}
	}
	quoted := func(set map[string]bool) string {
		data, _ := json.Marshal(slices.Sorted(maps.Keys(set))) // a list of strings
		return string(data)
	}
	expression := fmt.Sprintf("request.namespace in %s || request.name.startsWith('gatehouse-') || request.name in %s",
		quoted(namespaces), quoted(names))
	return admissionregistrationv1.MatchCondition{Name: "gatehouse-trial", Expression: expression}
}

// matches tells that the rules of any webhook may match a resource, in this version or in an equivalent one.
func (c *capturer) matches(s served) bool {
	return slices.ContainsFunc(c.set.Hooks, func(h *manifests.Hook) bool {
		return slices.ContainsFunc(h.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
			return has(rule.APIGroups, s.Group) && (h.Equivalent() || has(rule.APIVersions, s.Version)) && resourceMatches(rule.Resources, s)
		})
	})
}

func has(list []string, word string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, word)
}

// resourceMatches tells that one of the patterns of a rule's resources matches.
func resourceMatches(patterns []string, s served) bool {
	for _, pattern := range patterns {
		resource, sub, _ := strings.Cut(pattern, "/")
		if (resource == "*" || resource == s.parent()) && (sub == s.sub() || sub == "*" || pattern == "*/*") {
			return true
		}
	}
	return false
}

// exercise makes all requests about one sample: it is created, changed, connected to, and deleted.
func (c *capturer) exercise(ctx context.Context, g *given) error {
	resource, known := c.api.find(g.object.GroupVersionKind())
	if !known {
		if g.place != "" {
			return usage(fmt.Errorf("%s: the API server does not serve %s", g.place, g.object.GroupVersionKind()))
		}
		return nil
	}
	parts := c.parts(resource)
	if !c.matches(resource) && len(parts) == 0 {
		return nil
	}
	e := &exercise{capturer: c, given: g, resource: resource, namespace: g.object.GetNamespace()}
	if resource.namespaced && e.namespace == "" {
		e.namespace = trialNamespace
	}
	object := g.object.DeepCopy()
	if object.GetName() == "" && object.GetGenerateName() == "" {
		object.SetName(trialName(resource.Resource))
	}
	c.label(object)
	return e.run(ctx, object, parts)
}

// parts are the subresources of a resource that the rules may match.
func (c *capturer) parts(resource served) []served {
	var parts []served
	for _, s := range c.api.served {
		if s.GroupVersion() == resource.GroupVersion() && s.parent() == resource.Resource && s.sub() != "" && c.matches(s) {
			parts = append(parts, s)
		}
	}
	return parts
}

// label gives an object the labels that the webhooks' selectors want.
func (c *capturer) label(object *unstructured.Unstructured) {
	labels := object.GetLabels()
	for _, h := range c.set.Hooks {
		for key, value := range selected(h.ObjectSelector) {
			if labels == nil {
				labels = map[string]string{}
			}
			if _, given := labels[key]; !given {
				labels[key] = value
			}
		}
	}
	if labels != nil {
		object.SetLabels(labels)
	}
}

// take keeps the reviews that came of the last request.
func (c *capturer) take(ctx context.Context, v variant, g *given) error {
	calls, err := c.servers.Drain(ctx)
	if err != nil {
		return err
	}
	for _, call := range calls {
		o := c.observers[call.Hook]
		if o.bare {
			c.observed[o.hook].matched++
			continue
		}
		c.observed[o.hook].passed++
		c.seeds = append(c.seeds, seed{hook: o.hook, variant: variantOf(v, call.Review), review: call.Review, sample: nameOf(call.Review), given: g})
	}
	return nil
}

// variantOf refines the variant of a request by the review that came of it.
func variantOf(v variant, review map[string]any) variant {
	request, _ := review["request"].(map[string]any)
	kind, requested := gvkOf(request, "kind"), gvkOf(request, "requestKind")
	namespace, _ := request["namespace"].(string)
	switch {
	case v != create && v != update && v != remove:
		return v
	case requested != kind && requested.Kind == kind.Kind:
		return converted
	case v == create && namespace == "":
		return clusterScoped
	}
	return v
}

func gvkOf(request map[string]any, field string) schema.GroupVersionKind {
	group, _, _ := unstructured.NestedString(request, field, "group")
	version, _, _ := unstructured.NestedString(request, field, "version")
	kind, _, _ := unstructured.NestedString(request, field, "kind")
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

// nameOf says in one line what a review asks.
func nameOf(review map[string]any) string {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(review, append([]string{"request"}, fields...)...)
		return value
	}
	resource := text("resource", "resource")
	if sub := text("subResource"); sub != "" {
		resource += "/" + sub
	}
	name := text("name")
	if name == "" {
		name = "(no name yet)"
	}
	if namespace := text("namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	return text("operation") + " " + resource + " " + name
}

// note says that a request could not be tried.
func (c *capturer) note(g *given, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if g.place != "" {
		text = g.place + ": " + text
	}
	c.untried = append(c.untried, text)
}

// metaOf returns the metadata of an object to change.
func metaOf(object map[string]any) map[string]any {
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		object["metadata"] = meta
	}
	return meta
}
