package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// aggregatedDiscovery is the form of discovery that has all resources in one document.
const aggregatedDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// discovery holds documents by their paths.
type discovery struct {
	// Plain are /api, /apis, and those of each group and group version.
	Plain map[string]json.RawMessage `json:"plain"`
	// Aggregated are /api and /apis.
	Aggregated map[string]json.RawMessage `json:"aggregated"`
	// Optional are the plain documents of the optional group versions and their groups, when they are served.
	Optional map[string]json.RawMessage `json:"optional"`
}

func recordDiscovery(ctx context.Context) (_ []byte, err error) {
	o, err := startOracle(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()

	recorded := discovery{Plain: map[string]json.RawMessage{}, Aggregated: map[string]json.RawMessage{}}
	for _, path := range []string{"/api", "/apis"} {
		if recorded.Aggregated[path], err = o.get(ctx, path, aggregatedDiscovery); err != nil {
			return nil, err
		}
	}
	paths, err := o.groupVersionPaths(ctx)
	if err != nil {
		return nil, err
	}
	groups, err := o.groups(ctx)
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		paths = append(paths, "/apis/"+group.Name)
	}
	for _, path := range append(paths, "/api", "/apis") {
		if recorded.Plain[path], err = o.get(ctx, path, "application/json"); err != nil {
			return nil, err
		}
	}
	if recorded.Optional, err = recordOptional(ctx); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(recorded, "", " ")
	if err != nil {
		return nil, err
	}
	return compress(append(data, '\n'))
}

func recordOptional(ctx context.Context) (_ map[string]json.RawMessage, err error) {
	o, err := startOracle(ctx, optionalVersions...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()

	recorded := map[string]json.RawMessage{}
	for _, version := range optionalVersions {
		for _, path := range []string{"/apis/" + version, "/apis/" + version[:strings.LastIndex(version, "/")]} {
			if recorded[path], err = o.get(ctx, path, "application/json"); err != nil {
				return nil, err
			}
		}
	}
	return recorded, nil
}

// groups returns the served groups but the core one.
func (o *oracle) groups(ctx context.Context) ([]metav1.APIGroup, error) {
	var list metav1.APIGroupList
	if err := o.decode(ctx, "/apis", &list); err != nil {
		return nil, err
	}
	return list.Groups, nil
}

// groupVersionPaths returns the paths of the served group versions, in the order of discovery.
func (o *oracle) groupVersionPaths(ctx context.Context) ([]string, error) {
	groups, err := o.groups(ctx)
	if err != nil {
		return nil, err
	}
	paths := []string{"/api/v1"}
	for _, group := range groups {
		for _, version := range group.Versions {
			paths = append(paths, "/apis/"+version.GroupVersion)
		}
	}
	return paths, nil
}

func (o *oracle) decode(ctx context.Context, path string, into any) error {
	data, err := o.get(ctx, path, "application/json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode the answer to GET %s: %w", path, err)
	}
	return nil
}
