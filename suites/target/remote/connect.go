package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// Connect returns the target of another process. To Stop it only ends the connection.
func Connect(h Handover) (target.Target, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(h.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("connecting to the target: %w", err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", h.Socket)
	}}
	return &connected{handover: h, config: config, client: &http.Client{Transport: transport}}, nil
}

// connected is a target of another process.
type connected struct {
	handover Handover
	config   *rest.Config
	client   *http.Client
}

func (c *connected) Info() target.Info            { return c.handover.Info }
func (c *connected) RESTConfig() *rest.Config     { return rest.CopyConfig(c.config) }
func (c *connected) Can() sets.Set[fixtures.Need] { return sets.New(c.handover.Needs...) }
func (c *connected) HookAddress() string          { return c.handover.HookAddress }

func (c *connected) Settle(ctx context.Context, resources ...schema.GroupResource) error {
	return c.call(ctx, settlePath, resources, nil)
}

func (c *connected) AuditEvents(ctx context.Context, auditID string) ([]auditv1.Event, error) {
	var events []auditv1.Event
	err := c.call(ctx, auditPath, auditID, &events)
	return events, err
}

func (c *connected) StoreRaw(ctx context.Context, object []byte) error {
	return c.call(ctx, storePath, json.RawMessage(object), nil)
}

func (c *connected) Restart(ctx context.Context) error {
	return c.call(ctx, restartPath, struct{}{}, nil)
}

func (c *connected) Explain(auditID string) string {
	var text string
	if err := c.call(context.Background(), explainPath, auditID, &text); err != nil {
		return err.Error()
	}
	return text
}

func (c *connected) Logs() string {
	var text string
	if err := c.call(context.Background(), logsPath, struct{}{}, &text); err != nil {
		return err.Error()
	}
	return text
}

func (c *connected) Stop() error {
	c.client.CloseIdleConnections()
	return nil
}

// call asks the target's owner and decodes the answer into out, if it is not nil.
func (c *connected) call(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://target"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return fmt.Errorf("asking the process that runs the target: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("asking the process that runs the target: %w", err)
	case response.StatusCode != http.StatusOK:
		return errors.New(strings.TrimSpace(string(answer)))
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}
