package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"
)

// definitionsFile holds the CustomResourceDefinitions whose documents are recorded, beside the recording.
const definitionsFile = "testdata/definitions.yaml"

// recordCustom records the OpenAPI documents of version 3 of custom resources, by their names, and what they add to the
// document of version 2.
func recordCustom(ctx context.Context) (_ []byte, err error) {
	o, err := startOracle(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()

	before, err := o.get(ctx, "/openapi/v2", "application/json")
	if err != nil {
		return nil, err
	}
	groupVersions, err := o.define(ctx)
	if err != nil {
		return nil, err
	}
	recorded := struct {
		V3 map[string]json.RawMessage `json:"v3"`
		V2 *swagger                   `json:"v2"`
	}{V3: map[string]json.RawMessage{}}
	// Documents follow definitions some time later.
	err = wait.PollUntilContextTimeout(ctx, time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
		after, err := o.get(ctx, "/openapi/v2", "application/json")
		if err != nil {
			return false, err
		}
		if recorded.V2, err = added(before, after); err != nil {
			return false, err
		}
		for gv := range groupVersions {
			name := "apis/" + gv
			document, err := o.get(ctx, "/openapi/v3/"+name, "application/json")
			if err != nil || !strings.Contains(string(after), "/"+name+"/") {
				return false, nil
			}
			recorded.V3[name] = document
		}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the documents of custom resources: %w", err)
	}
	data, err := json.MarshalIndent(recorded, "", " ")
	if err != nil {
		return nil, err
	}
	return compress(append(data, '\n'))
}

// define creates the definitions and returns the group versions that they serve.
func (o *oracle) define(ctx context.Context) (map[string]bool, error) {
	data, err := os.ReadFile(definitionsFile)
	if err != nil {
		return nil, err
	}
	groupVersions := map[string]bool{}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict([]byte(document), &definition); err != nil {
			return nil, fmt.Errorf("decode %s: %w", definitionsFile, err)
		}
		body, err := json.Marshal(definition)
		if err != nil {
			return nil, err
		}
		if _, err := o.send(ctx, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", body); err != nil {
			return nil, err
		}
		for _, version := range definition.Spec.Versions {
			if version.Served {
				groupVersions[definition.Spec.Group+"/"+version.Name] = true
			}
		}
	}
	return groupVersions, nil
}
