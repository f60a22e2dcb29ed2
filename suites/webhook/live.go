package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/hook"
	"github.com/gatehouse-dev/gatehouse/suites/runner"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// live registers the webhook with the API server as its manifests say, and tries the samples and tables on it. Servers of
// the suite stand in between and record what is said.
func (t *trial) live(ctx context.Context) error {
	var reachable []*manifests.Hook
	for _, h := range t.set.Hooks {
		if !t.mute(h) && !slices.ContainsFunc(t.record.refusals, func(r refusal) bool { return r.hook == h }) {
			reachable = append(reachable, h)
		}
	}
	if len(reachable) == 0 {
		return nil
	}
	alone, err := t.timeCreates(ctx)
	if err != nil {
		return err
	}
	webhooks := map[string]fixtures.Webhook{}
	for i := range reachable {
		webhooks[fmt.Sprintf("live-%d", i)] = fixtures.Webhook{}
	}
	servers, err := t.pool.Open("live", webhooks)
	if err != nil {
		return err
	}
	defer servers.Close()
	configs := servers.ClientConfigs()
	for i, h := range reachable {
		name := fmt.Sprintf("live-%d", i)
		if err := servers.Forward(name, t.clients[h].URL(h.Path(), 0), t.clients[h].TLS()); err != nil {
			return err
		}
		if err := t.registerAs(ctx, name, h, configs[name]); err != nil {
			return err
		}
	}
	if err := t.api.settle(ctx); err != nil {
		return err
	}
	for _, g := range t.samples {
		if g.setup {
			continue
		}
		if err := t.trySample(ctx, servers, g); err != nil {
			return err
		}
	}
	if err := t.runTables(ctx); err != nil {
		return err
	}
	with, err := t.timeCreates(ctx)
	if err != nil {
		return err
	}
	t.record.calls = t.proxy.Requests()
	if alone > 0 && with > 0 {
		more := "no longer"
		if with > alone {
			more = brief(with-alone) + " longer"
		}
		t.record.notes = append(t.record.notes, fmt.Sprintf("A create takes %s with the webhook: %s, without it %s (median of %d, on %s).",
			more, brief(with), brief(alone), timedCreates, t.target.Info().Name))
	}
	return t.retire(ctx)
}

// registerAs registers a webhook as its manifests say, at a server of the suite, with more match conditions.
func (t *trial) registerAs(ctx context.Context, name string, h *manifests.Hook, config hook.ClientConfig, more ...admissionregistrationv1.MatchCondition) error {
	entry := h.MutatingWebhook.DeepCopy()
	entry.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &config.URL, CABundle: config.CABundle}
	entry.MatchConditions = append(entry.MatchConditions, more...)
	return t.registered(h, t.configure(ctx, name, h.Mutating, entry))
}

// trySample creates a sample for good, and deletes it.
func (t *trial) trySample(ctx context.Context, servers *hook.Servers, g *given) error {
	resource, known := t.api.find(g.object.GroupVersionKind())
	if !known {
		return usage(fmt.Errorf("%s: the API server does not serve %s", g.place, g.object.GroupVersionKind()))
	}
	object := g.object.DeepCopy()
	if object.GetName() == "" && object.GetGenerateName() == "" {
		object.SetName(trialName(resource.Resource))
	}
	namespace := object.GetNamespace()
	if resource.namespaced && namespace == "" {
		namespace = trialNamespace
	}
	if _, err := servers.Drain(ctx); err != nil {
		return err
	}
	got, err := t.api.do(ctx, http.MethodPost, resource.path(namespace, ""), object)
	if err != nil {
		return err
	}
	calls, err := servers.Drain(ctx)
	if err != nil {
		return err
	}
	sample := liveSample{place: g.place, title: "CREATE " + resource.Resource + " " + object.GetName(), refused: g.refused, want: g.message, code: got.code}
	for _, call := range calls {
		sample.calls = append(sample.calls, liveCall{hook: call.Hook, review: string(call.Raw), answer: string(call.Answer)})
	}
	if problem := got.err(); problem != nil {
		sample.err = problem.Error()
		sample.denied = strings.Contains(sample.err, "denied the request")
		sample.failed = apierrors.IsInternalError(problem) && strings.Contains(sample.err, "failed calling webhook")
	} else if err := t.undo(ctx, resource, namespace, got.object); err != nil {
		return err
	}
	t.record.live = append(t.record.live, sample)
	return nil
}

// undo deletes an object while the webhook is registered, which may refuse that.
func (t *trial) undo(ctx context.Context, resource served, namespace string, object *unstructured.Unstructured) error {
	path := resource.path(namespace, object.GetName())
	t.api.made(path)
	_, err := t.api.remove(ctx, path)
	return err
}

// timedCreates is of how many creates the median is told.
const timedCreates = 11

// timeCreates returns the median time of creating an object that the webhook's rules match, in dry runs; 0 when there is
// no such object.
func (t *trial) timeCreates(ctx context.Context) (time.Duration, error) {
	for _, h := range t.set.Hooks {
		plain := t.record.plain(h)
		if plain == nil || !isCreate(plain) || !plain.Allowed() {
			continue
		}
		object := &unstructured.Unstructured{Object: objectOf(fresh(plain.review))}
		object.SetManagedFields(nil)
		resource, known := t.api.find(object.GroupVersionKind())
		if !known {
			continue
		}
		namespace, _ := requestOf(plain.review)["namespace"].(string)
		var times []time.Duration
		for range timedCreates {
			got, err := t.api.do(ctx, http.MethodPost, resource.path(namespace, "")+"?dryRun=All", object)
			if err != nil {
				return 0, err
			}
			if got.err() != nil {
				return 0, nil
			}
			times = append(times, got.took)
		}
		slices.Sort(times)
		return times[len(times)/2], nil
	}
	return 0, nil
}

// brief is a duration with as many digits as one reads.
func brief(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	default:
		return d.Round(10 * time.Microsecond).String()
	}
}

// runTables runs the author's own tables on the API server.
func (t *trial) runTables(ctx context.Context) error {
	if t.tables == nil || len(t.tables.Cases) == 0 {
		return nil
	}
	server, err := runner.New(t.target, t.pool)
	if err != nil {
		return err
	}
	for _, c := range t.tables.Cases {
		t.results = append(t.results, runner.Run(ctx, server, c))
	}
	return nil
}

// down says what users see while the webhook's server is down.
func (t *trial) down(ctx context.Context) error {
	for i, h := range t.set.Hooks {
		plain := t.record.plain(h)
		if plain == nil || !isCreate(plain) || !plain.Allowed() || i >= maxMeasured {
			continue
		}
		name := fmt.Sprintf("down-%d", i)
		servers, err := t.pool.Open(name, map[string]fixtures.Webhook{name: {Refuse: true}})
		if err != nil {
			return err
		}
		text, err := t.seenWhileDown(ctx, name, h, plain, servers.ClientConfigs()[name])
		servers.Close()
		if err != nil {
			return err
		}
		t.record.notes = append(t.record.notes, text)
	}
	return nil
}

func (t *trial) seenWhileDown(ctx context.Context, name string, h *manifests.Hook, plain *attempt, config hook.ClientConfig) (string, error) {
	// It must refuse nothing else in the cluster.
	if err := t.registerAs(ctx, name, h, config, t.ours()); err != nil {
		return "", err
	}
	if err := t.api.settle(ctx); err != nil {
		return "", err
	}
	object := &unstructured.Unstructured{Object: objectOf(fresh(plain.review))}
	object.SetManagedFields(nil)
	resource, known := t.api.find(object.GroupVersionKind())
	if !known {
		return "", fmt.Errorf("%s is no longer served", object.GroupVersionKind())
	}
	namespace, _ := requestOf(plain.review)["namespace"].(string)
	got, err := t.api.do(ctx, http.MethodPost, resource.path(namespace, "")+"?dryRun=All", object)
	if err := errors.Join(err, t.retire(ctx)); err != nil {
		return "", err
	}
	what := fmt.Sprintf("While %s is down, %s", h, plain.title)
	switch problem := got.err(); {
	case problem != nil && h.FailsClosed():
		return what + " is refused (failurePolicy Fail): " + problem.Error(), nil
	case problem != nil:
		return what + " is refused: " + problem.Error(), nil
	default:
		return what + " passes unseen (failurePolicy Ignore).", nil
	}
}
