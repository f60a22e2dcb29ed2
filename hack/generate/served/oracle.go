package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gatehouse-dev/gatehouse/suites/target/assets"
)

const (
	startTimeout = 90 * time.Second
	stopTimeout  = 30 * time.Second
)

// oracle is a running kube-apiserver.
type oracle struct {
	plane  *envtest.ControlPlane
	url    string
	client *http.Client
}

// startOracle starts a kube-apiserver that serves what it serves by default and the group versions given.
func startOracle(ctx context.Context, groupVersions ...string) (_ *oracle, err error) {
	directory, err := assets.Directory()
	if err != nil {
		return nil, err
	}
	plane := &envtest.ControlPlane{
		APIServer: &envtest.APIServer{
			Path: filepath.Join(directory, "kube-apiserver"), StartTimeout: startTimeout, StopTimeout: stopTimeout,
		},
		Etcd: &envtest.Etcd{Path: filepath.Join(directory, "etcd"), StartTimeout: startTimeout, StopTimeout: stopTimeout},
	}
	// Whatever the host's network looks like: nobody connects to the "kubernetes" service.
	plane.APIServer.Configure().Set("advertise-address", "127.0.0.1").Set("endpoint-reconciler-type", "none")
	// Nobody makes the service accounts that pods would need.
	plane.APIServer.Configure().Set("disable-admission-plugins", "ServiceAccount")
	if len(groupVersions) > 0 {
		plane.APIServer.Configure().Set("runtime-config", strings.Join(groupVersions, ","))
	}
	if err := plane.Start(); err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	o := &oracle{plane: plane}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.stop())
		}
	}()
	admin, err := plane.AddUser(envtest.User{Name: "recorder", Groups: []string{"system:masters"}}, &rest.Config{QPS: -1})
	if err != nil {
		return nil, fmt.Errorf("make a user: %w", err)
	}
	config := admin.Config()
	o.url = strings.TrimSuffix(config.Host, "/")
	if o.client, err = rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := o.get(ctx, "/readyz", "")
		return err == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the API server to be ready: %w", err)
	}
	return o, nil
}

func (o *oracle) stop() error { return o.plane.Stop() }

// get returns the body of an answer in the media type that is accepted.
func (o *oracle) get(ctx context.Context, path, accept string) ([]byte, error) {
	return o.send(ctx, http.MethodGet, path, accept, nil)
}

// send sends a request with a body of JSON and returns the body of the answer.
func (o *oracle) send(ctx context.Context, method, path, accept string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, o.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	response, err := o.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() // read below
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	}
	return answer, nil
}
