package target

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// paramProbes returns a probe for each kind of policy that has params of one of the resources, since the two plugins may
// follow params each for itself. Resources that no policy has params of need none.
func (s *settler) paramProbes(ctx context.Context, resources []schema.GroupResource) ([]probe, error) {
	var probes []probe
	for _, kind := range []policyKind{validating, mutating} {
		policies, err := s.client.Resource(kind.policies).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.policies.GroupResource(), err)
		}
		seen := map[schema.GroupVersionKind]bool{}
		for _, policy := range policies.Items {
			paramKind, _, _ := unstructured.NestedStringMap(policy.Object, "spec", "paramKind")
			gv, err := schema.ParseGroupVersion(paramKind["apiVersion"])
			gvk := gv.WithKind(paramKind["kind"])
			if paramKind == nil || err != nil || seen[gvk] {
				continue
			}
			seen[gvk] = true
			if !slices.ContainsFunc(resources, func(r schema.GroupResource) bool { return r.Group == gvk.Group }) {
				continue
			}
			mapping, err := s.mapping(ctx, gvk)
			if meta.IsNoMatchError(err) {
				continue // no such kind, no such objects
			} else if err != nil {
				return nil, fmt.Errorf("find the resource of %s: %w", gvk, err)
			}
			if slices.Contains(resources, mapping.Resource.GroupResource()) {
				probes = append(probes, s.paramProbe(kind, mapping))
			}
		}
	}
	return probes, nil
}

// mapping finds the resource of a kind. Custom resources come and go while the discovery is kept.
func (s *settler) mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err == nil && !isBuiltIn(gvk.Group) {
		_, err = s.client.Resource(mapping.Resource).List(ctx, metav1.ListOptions{Limit: 1})
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		s.mapper.Reset()
		mapping, err = s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	return mapping, err
}

// paramProbe settles the params of one kind that policies of one kind have. A policy that never changes tells the label of its
// param; the param is selected by a label, since one that is named would be looked up where the cache lacks it.
func (s *settler) paramProbe(kind policyKind, mapping *meta.RESTMapping) probe {
	const settled = "param-settled"
	gvk := mapping.GroupVersionKind
	namespace := ""
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace = s.name
	}
	var content map[string]any // what the kind asks for besides metadata; rounds run one at a time
	result := probe{
		name: fmt.Sprintf("%s as params of %s", mapping.Resource.GroupResource(), kind.policies.Resource),
		write: func(ctx context.Context, lane, token string) error {
			var err error
			if content, err = s.writeParam(ctx, mapping, namespace, lane, token, content); err != nil {
				return err
			}
			paramRef := map[string]any{
				"selector":                map[string]any{"matchLabels": map[string]any{ownerLabel: s.name, laneLabel: lane}},
				"parameterNotFoundAction": "Deny",
			}
			if namespace != "" {
				paramRef["namespace"] = namespace
			}
			condition := fmt.Sprintf("params.metadata.labels['%s'] != object.metadata.labels['%s'] || object.metadata.annotations['%s'] == ''",
				roundLabel, roundLabel, settled)
			return s.writePolicy(ctx, kind, lane,
				map[string]any{
					"paramKind":       map[string]any{"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind},
					"matchConditions": []any{map[string]any{"name": "settled", "expression": condition}},
				},
				map[string]any{"paramRef": paramRef})
		},
		look: func(ctx context.Context, lane, token string) (bool, string) {
			answer := s.lookup(ctx, lane, token)
			return fails(answer, settled), answer
		},
	}
	if isBuiltIn(mapping.Resource.Group) {
		// The sentinel stays: kube-apiserver (seen with v1.37.2) never again follows a built-in kind once the last policy
		// that has params of it is gone, so that later policies would see old params for ever.
		return result
	}
	// This one goes: it would keep the server following a custom resource that may go and come again, and others'
	// policies may select the param.
	result.remove = func(ctx context.Context, lane string) error {
		err := s.client.Resource(mapping.Resource).Namespace(namespace).Delete(ctx, s.sentinel(lane), metav1.DeleteOptions{})
		if err == nil {
			err = await(ctx, func() (bool, string) {
				answer := s.lookup(ctx, lane, "")
				return strings.Contains(answer, "no params found"), answer
			})
		}
		for _, gvr := range []schema.GroupVersionResource{kind.bindings, kind.policies} {
			if err == nil {
				err = s.client.Resource(gvr).Delete(ctx, s.sentinel(lane), metav1.DeleteOptions{})
			}
		}
		return err
	}
	return result
}

// writeParam gives the lane's param the token, making it when it is not there. What needs more than metadata gets the
// content of an object of the kind that is there; it is returned for the next time.
func (s *settler) writeParam(
	ctx context.Context, mapping *meta.RESTMapping, namespace, lane, token string, content map[string]any,
) (map[string]any, error) {
	for {
		gvk := mapping.GroupVersionKind
		object := s.object(gvk.GroupVersion().String(), gvk.Kind, namespace, s.sentinel(lane), content)
		setLabel(object, laneLabel, lane)
		setLabel(object, roundLabel, token)
		err := s.apply(ctx, mapping.Resource, object)
		if !apierrors.IsInvalid(err) || content != nil {
			return content, err
		}
		others, listErr := s.client.Resource(mapping.Resource).List(ctx, metav1.ListOptions{Limit: 1})
		if listErr != nil {
			return nil, fmt.Errorf("list %s: %w", mapping.Resource.GroupResource(), listErr)
		}
		if len(others.Items) == 0 {
			return nil, fmt.Errorf("a param needs more than metadata, and there is none to take the rest from: %w", err)
		}
		content = others.Items[0].Object
		delete(content, "metadata")
		delete(content, "status")
	}
}
