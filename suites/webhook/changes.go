package webhook

import (
	"fmt"
	"strings"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// changes are what is made of a webhook's reviews besides posting them as they are.
func changes(h *manifests.Hook) []change {
	list := []change{
		{variant: dryRun, title: "dry run", of: isSeeded, all: true, edit: func(review map[string]any) {
			request := requestOf(review)
			request["dryRun"] = true
			if options, ok := request["options"].(map[string]any); ok {
				options["dryRun"] = []any{"All"}
			}
		}},
		{variant: generateName, title: "without a name yet", of: isCreate, edit: func(review map[string]any) {
			requestOf(review)["name"] = ""
			meta := metaOf(objectOf(review))
			meta["generateName"] = fmt.Sprint(meta["name"], "-")
			if h.Mutating {
				delete(meta, "name")
			} else { // by then the API server has made the name
				meta["name"] = fmt.Sprint(meta["generateName"], "x7k2p")
			}
		}},
		{variant: otherUser, title: "by a service account", of: isCreate, edit: user(map[string]any{
			"username": "system:serviceaccount:kube-system:replicaset-controller", "uid": "6b5d5b52-6f4c-4c5c-a7b3-9f7f6a4b7d01",
			"groups": []any{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
		})},
		{variant: otherUser, title: "by a user with extra information", of: isCreate, edit: user(map[string]any{
			"username": "jane@example.com", "groups": []any{"developers", "system:authenticated"},
			"extra": map[string]any{"example.com/scopes": []any{"read", "write"}, "authentication.kubernetes.io/credential-id": []any{"JTI=1"}},
		})},
		{variant: otherUser, title: "by a user without groups", of: isCreate, edit: user(map[string]any{"username": "jane"})},
		{variant: noNamespace, title: "its namespace in the request alone", of: isNamespaced, edit: func(review map[string]any) {
			delete(metaOf(objectOf(review)), "namespace")
		}},
		{variant: unknownFields, title: "with fields of a later version", of: isCreate, edit: func(review map[string]any) {
			review["gatehouseUnknown"] = "a field of a later version"
			requestOf(review)["gatehouseUnknown"] = map[string]any{"a": "b"}
			objectOf(review)["gatehouseUnknown"] = "a field of a later version"
		}},
		{variant: unknownKind, title: "of a kind that it does not know", of: isCreate, once: true, edit: unknown},
		{variant: large, title: "of 3 MiB", of: isCreate, once: true, edit: func(review map[string]any) { enlarge(objectOf(review), 3<<20) }},
		{variant: unchanged, title: "without a change", of: isUpdate, edit: func(review map[string]any) {
			request := requestOf(review)
			request["oldObject"] = request["object"]
		}},
	}
	for _, version := range h.ReviewVersions()[1:] {
		list = append(list, change{variant: reviewVersion, title: "as a review of " + version, of: isSeeded, all: true, edit: func(review map[string]any) {
			review["apiVersion"] = "admission.k8s.io/" + version
		}})
	}
	if h.Mutating {
		list = append(list, change{variant: foreign, title: "with labels, annotations, finalizers and containers of others", of: isCreate, edit: func(review map[string]any) {
			object := objectOf(review)
			touch(object)
			meta := metaOf(object)
			finalizers, _ := meta["finalizers"].([]any)
			meta["finalizers"] = append(finalizers, foreignFinalizer)
			addContainer(object)
		}})
	}
	return list
}

// foreignFinalizer is a finalizer of somebody else.
const foreignFinalizer = "peer.gatehouse.example.com/finalizer"

func isSeeded(a *attempt) bool { return a.variant != refused }

func isUpdate(a *attempt) bool { return a.variant == update }

func isNamespaced(a *attempt) bool {
	namespace, _ := requestOf(a.review)["namespace"].(string)
	return a.variant == create && namespace != ""
}

func user(info map[string]any) func(map[string]any) {
	return func(review map[string]any) { requestOf(review)["userInfo"] = info }
}

// unknown makes a review about a kind that nobody has.
func unknown(review map[string]any) {
	request := requestOf(review)
	kind := map[string]any{"group": "unknown.gatehouse.example.com", "version": "v9", "kind": "Unknown"}
	resource := map[string]any{"group": "unknown.gatehouse.example.com", "version": "v9", "resource": "unknowns"}
	request["kind"], request["requestKind"] = kind, kind
	request["resource"], request["requestResource"] = resource, resource
	object := objectOf(review)
	meta := metaOf(object)
	request["object"] = map[string]any{
		"apiVersion": "unknown.gatehouse.example.com/v9", "kind": "Unknown",
		"metadata": map[string]any{"name": meta["name"], "namespace": meta["namespace"]}, "spec": map[string]any{"color": "blue"},
	}
}

// enlarge makes an object so many bytes larger, by annotations.
func enlarge(object map[string]any, bytes int) {
	meta := metaOf(object)
	annotations, ok := meta["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	const piece = 64 << 10
	for i := range bytes / piece {
		annotations[fmt.Sprintf("gatehouse.example.com/padding-%d", i)] = strings.Repeat("x", piece)
	}
}
