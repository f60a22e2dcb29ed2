package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// recordRoles records the cluster roles and their bindings that a kube-apiserver starts with. Nobody aggregates roles: those
// that are made of others have no rules.
func recordRoles(ctx context.Context) (_ []byte, err error) {
	o, err := startOracle(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	recorded := map[string]json.RawMessage{}
	for _, resource := range []string{"clusterroles", "clusterrolebindings"} {
		data, err := o.get(ctx, "/apis/rbac.authorization.k8s.io/v1/"+resource, "")
		if err != nil {
			return nil, err
		}
		recorded[resource] = data
	}
	data, err := json.Marshal(recorded)
	if err != nil {
		return nil, fmt.Errorf("encode the roles: %w", err)
	}
	return compress(data)
}
