package target

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definitionProbe settles changes of CustomResourceDefinitions: by which version, schema and conversion a server serves
// custom resources. The schema of the sentinel requires a field called like the token.
func (s *settler) definitionProbe() probe {
	sentinel := func(lane string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: s.sentinel(lane) + ".settle.gatehouse.dev", Version: "v1", Resource: "sentinels"}
	}
	return probe{
		name:     definitions.Resource,
		rehearse: true,
		write: func(ctx context.Context, lane, token string) error {
			resource := sentinel(lane)
			return s.apply(ctx, definitions, s.object(definitions.GroupVersion().String(), "CustomResourceDefinition", "", resource.GroupResource().String(),
				map[string]any{"spec": map[string]any{
					"group": resource.Group,
					"scope": "Cluster",
					"names": map[string]any{"plural": resource.Resource, "singular": "sentinel", "kind": "Sentinel", "listKind": "SentinelList"},
					"versions": []any{map[string]any{
						"name": resource.Version, "served": true, "storage": true,
						"schema": map[string]any{"openAPIV3Schema": map[string]any{
							"type": "object", "required": []any{token},
							"properties": map[string]any{token: map[string]any{"type": "string"}},
						}},
					}},
				}}))
		},
		look: func(ctx context.Context, lane, token string) (bool, string) {
			resource := sentinel(lane)
			object := s.object(resource.GroupVersion().String(), "Sentinel", "", "sentinel", nil)
			_, err := s.client.Resource(resource).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil {
				return false, "the object was admitted"
			}
			return strings.Contains(err.Error(), token+": Required value"), err.Error()
		},
	}
}
