package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/subject"
)

// post posts the seeds to the webhooks, and the reviews that are made of them.
func (t *trial) post(ctx context.Context) error {
	before, err := subject.Snapshot(t.subject.Dir)
	if err != nil {
		return err
	}
	t.quiet(ctx)
	for _, h := range t.set.Hooks {
		t.postSeeds(ctx, h)
		if t.mute(h) {
			continue
		}
		t.postVariants(ctx, h)
		t.quiet(ctx)
	}
	if err := t.tryPatches(ctx); err != nil {
		return err
	}
	t.attribute()
	after, err := subject.Snapshot(t.subject.Dir)
	t.record.filesKnown = t.subject.Dir != ""
	t.record.files = before.Changed(after)
	return err
}

// postSeeds posts a webhook's reviews as the API server sent them, in the first version that the webhook declares.
func (t *trial) postSeeds(ctx context.Context, h *manifests.Hook) {
	creates := map[string]*attempt{} // by what is created
	versions := map[schema.GroupResource]string{}
	version := h.ReviewVersions()[0]
	for _, s := range t.seeds {
		if s.hook != h {
			continue
		}
		review := fresh(s.review)
		review["apiVersion"] = "admission.k8s.io/" + version
		a := &attempt{hook: h, variant: s.variant, title: s.sample, review: review, sample: s.sample}
		if s.variant == create || s.variant == clusterScoped {
			resource, of := resourceOf(review), gvkOf(requestOf(review), "kind")
			if first, seen := versions[resource]; seen && first != of.Version {
				a.variant, a.base = otherVersion, creates[what(review)]
			} else {
				versions[resource], creates[what(review)] = of.Version, a
			}
		} else {
			a.base = creates[what(review)]
		}
		t.postTo(ctx, a)
	}
}

// what names the object of a review, apart from versions.
func what(review map[string]any) string {
	request := requestOf(review)
	name, _ := request["name"].(string)
	namespace, _ := request["namespace"].(string)
	return resourceOf(review).String() + "/" + namespace + "/" + name
}

func resourceOf(review map[string]any) schema.GroupResource {
	group, _, _ := unstructured.NestedString(review, "request", "resource", "group")
	resource, _, _ := unstructured.NestedString(review, "request", "resource", "resource")
	return schema.GroupResource{Group: group, Resource: resource}
}

// requestOf returns the request of a review.
func requestOf(review map[string]any) map[string]any {
	request, _ := review["request"].(map[string]any)
	return request
}

// objectOf returns request.object; nil when it is null.
func objectOf(review map[string]any) map[string]any {
	object, _ := requestOf(review)["object"].(map[string]any)
	return object
}

// fresh copies a review and gives it a uid of its own.
func fresh(review map[string]any) map[string]any {
	copied := deepCopy(review)
	requestOf(copied)["uid"] = exchange.NewUID()
	return copied
}

// deepCopy copies decoded JSON. The numbers of a review may be of any Go type.
func deepCopy(object map[string]any) map[string]any {
	var copied map[string]any
	_ = json.Unmarshal(encode(object), &copied) // it has just been encoded
	return copied
}

// encode encodes decoded JSON.
func encode(object any) []byte {
	data, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("webhook: encoding JSON: %v", err)) // it is made of what JSON has
	}
	return data
}

// change makes a review that differs from that of another attempt.
type change struct {
	variant variant
	title   string
	// of selects the attempts that are changed; edit changes their review.
	of   func(*attempt) bool
	edit func(review map[string]any)
	// all is for every attempt that is selected, and not only the first of each resource; once for the first of all.
	all, once bool
}

// isCreate tells that a review is one of creation as the API server sends it.
func isCreate(a *attempt) bool {
	return a.variant == create || a.variant == clusterScoped
}

func asSent(a *attempt) bool { return a.base == nil || slices.Contains(seeds, a.variant) }

// seeds are the variants that an API server sent.
var seeds = []variant{create, update, remove, connect, clusterScoped, otherVersion, converted, refused}

// postVariants posts what is made of a webhook's answered seeds.
func (t *trial) postVariants(ctx context.Context, h *manifests.Hook) {
	var answered []*attempt
	for _, a := range t.record.attempts {
		if a.hook == h && a.Fault == exchange.None && !a.Errored() {
			answered = append(answered, a)
		}
	}
	for _, c := range changes(h) {
		if c.variant == dryRun {
			t.quiet(ctx)
		}
		done := map[schema.GroupResource]bool{}
		for _, a := range answered {
			resource := resourceOf(a.review)
			if !asSent(a) || !c.of(a) || done[resource] && !c.all || len(done) > 0 && c.once {
				continue
			}
			done[resource] = true
			t.postChanged(ctx, a, c)
		}
		if c.variant == dryRun {
			t.quiet(ctx)
		}
	}
	for _, a := range answered {
		if isCreate(a) {
			t.postOutput(ctx, a)
		}
	}
	t.postEqual(ctx, answered)
}

func (t *trial) postChanged(ctx context.Context, of *attempt, c change) *attempt {
	review := fresh(of.review)
	c.edit(review)
	return t.postTo(ctx, &attempt{hook: of.hook, variant: c.variant, title: of.title + " (" + c.title + ")", base: of, review: review, sample: of.sample})
}

// postEqual posts requests again: the first creation several times, and each other one that the API server sent once.
func (t *trial) postEqual(ctx context.Context, answered []*attempt) {
	const times = 5
	first := slices.IndexFunc(answered, isCreate)
	for i, of := range answered {
		n := 1
		switch {
		case !asSent(of):
			continue
		case i == first:
			n = times
		}
		for range n {
			again := t.postTo(ctx, &attempt{hook: of.hook, variant: repeated, title: of.title + " (the same request again)", base: of, review: fresh(of.review), sample: of.sample})
			of.repeats = append(of.repeats, again)
		}
	}
}

// postOutput posts what became of an object by the webhook's own patch, as reinvocation does.
func (t *trial) postOutput(ctx context.Context, of *attempt) {
	if !of.Allowed() {
		return
	}
	patched := of.patched()
	if patched == nil {
		return
	}
	set := func(review map[string]any) { requestOf(review)["object"] = deepCopy(patched) }
	own := t.postChanged(ctx, of, change{variant: again, title: "its own output", edit: set})
	if !of.hook.Mutating {
		return
	}
	t.postChanged(ctx, of, change{variant: peer, title: "after another webhook", edit: func(review map[string]any) { touch(objectOf(review)) }})
	if own.Allowed() {
		t.postChanged(ctx, of, change{variant: between, title: "its own output, after another webhook", edit: func(review map[string]any) {
			set(review)
			touch(objectOf(review))
		}})
	}
	if container := containersOf(patched); container != nil {
		t.postChanged(ctx, of, change{variant: later, title: "its output with a container that another webhook added", edit: func(review map[string]any) {
			set(review)
			addContainer(objectOf(review))
		}})
	}
}

// patched is the object of the request with the patch of the answer applied; nil when there is none or it does not apply.
func (a *attempt) patched() map[string]any {
	object := objectOf(a.review)
	if object == nil || !a.Responded() {
		return nil
	}
	patch := a.Answer.Response.Patch
	if len(patch) == 0 {
		return object
	}
	data, err := exchange.Apply(patch, encode(object))
	if err != nil {
		return nil
	}
	var patched map[string]any
	if json.Unmarshal(data, &patched) != nil {
		return nil
	}
	return patched
}

// changesObject tells that the answer's patch changes the object.
func (a *attempt) changesObject() bool {
	patched := a.patched()
	return patched != nil && !exchange.Same(encode(patched), encode(objectOf(a.review)))
}

// tryPatches asks the API server, in a dry run, for the objects that the patches make.
func (t *trial) tryPatches(ctx context.Context) error {
	for _, a := range t.record.attempts {
		if !makesObject(a) || !a.hook.Mutating || !a.Allowed() || !a.changesObject() {
			continue
		}
		patched := &unstructured.Unstructured{Object: deepCopy(a.patched())}
		if _, known := t.api.find(patched.GroupVersionKind()); !known {
			t.record.invalid = append(t.record.invalid, invalidPatch{a, fmt.Sprintf("the patch makes a %s of it, which the API server does not serve", patched.GroupVersionKind())})
			continue
		}
		problem, err := t.refusal(ctx, a, patched)
		if err != nil {
			return err
		}
		if problem == "" {
			continue
		}
		without, err := t.refusal(ctx, a, &unstructured.Unstructured{Object: deepCopy(objectOf(a.review))})
		if err != nil {
			return err
		}
		if without == "" { // else it is not for the patch
			t.record.invalid = append(t.record.invalid, invalidPatch{a, problem})
		}
	}
	return nil
}

// makesObject tells that a review is one, as the API server sends it, of an object that is then stored.
func makesObject(a *attempt) bool {
	return slices.Contains([]variant{create, clusterScoped, otherVersion, update}, a.variant)
}

// refusal asks the API server to make an object of a review, in a dry run, and returns why the object itself is not taken;
// "" when it is. A changed object is asked for as a new one, for what it is like must be right either way.
func (t *trial) refusal(ctx context.Context, a *attempt, object *unstructured.Unstructured) (string, error) {
	resource, _ := t.api.find(object.GroupVersionKind())
	meta := metaOf(object.Object)
	delete(meta, "managedFields")
	delete(meta, "resourceVersion")
	namespace, _ := requestOf(a.review)["namespace"].(string)
	got, err := t.api.do(ctx, http.MethodPost, resource.path(namespace, "")+"?dryRun=All", object)
	if err != nil {
		return "", err
	}
	if err := got.err(); err != nil && (got.code == http.StatusBadRequest || got.code == http.StatusUnprocessableEntity) {
		return err.Error(), nil
	}
	return "", nil
}

// mute tells that none of a webhook's reviews was answered.
func (r *record) mute(h *manifests.Hook) bool {
	sent := false
	for _, a := range r.attempts {
		if a.hook == h {
			sent = true
			if a.Fault == exchange.None {
				return false
			}
		}
	}
	return sent
}

// containersOf returns the list of containers of a pod or of a pod template; nil when there is none.
func containersOf(object map[string]any) []any {
	for _, path := range [][]string{{"spec", "containers"}, {"spec", "template", "spec", "containers"}} {
		if list, ok, _ := unstructured.NestedSlice(jsonNumbers(object), path...); ok {
			return list
		}
	}
	return nil
}

// jsonNumbers copies an object so that its numbers are as package unstructured wants them.
func jsonNumbers(object map[string]any) map[string]any {
	u := &unstructured.Unstructured{}
	data := encode(object)
	if u.UnmarshalJSON(data) != nil {
		return nil
	}
	return u.Object
}

// addContainer adds a container as an injector of sidecars does.
func addContainer(object map[string]any) {
	for _, path := range [][]string{{"spec"}, {"spec", "template", "spec"}} {
		spec := object
		for _, field := range path {
			spec, _ = spec[field].(map[string]any)
		}
		if list, ok := spec["containers"].([]any); ok {
			spec["containers"] = append(slices.Clone(list), map[string]any{
				"name": "gatehouse-sidecar", "image": "registry.example/gatehouse/sidecar:v1", "imagePullPolicy": "IfNotPresent",
				"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "resources": map[string]any{},
				"securityContext": map[string]any{"allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": map[string]any{"drop": []any{"ALL"}}},
			})
			return
		}
	}
}

// touched is what another webhook marks objects with.
const touched = "peer.gatehouse.example.com/touched"

// touch does to an object what another webhook might.
func touch(object map[string]any) {
	meta := metaOf(object)
	for _, field := range []string{"labels", "annotations"} {
		values, ok := meta[field].(map[string]any)
		if !ok {
			values = map[string]any{}
			meta[field] = values
		}
		values[touched] = "yes"
	}
}

// isTouched tells that both marks of touch are there.
func isTouched(object map[string]any) bool {
	meta, _ := object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		values, _ := meta[field].(map[string]any)
		if values[touched] != "yes" {
			return false
		}
	}
	return true
}
