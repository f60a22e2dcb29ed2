package exchange

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// patience bounds how long one exchange may take.
const patience = 30 * time.Second

// Play sends the requests of a case, in a namespace that it makes, and returns the answers in the form in which they are
// recorded, one for each step.
func (c *Case) Play(ctx context.Context, config *rest.Config) ([][]string, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	p := &player{client: client, host: host.String(), names: newNames(), variables: map[string]string{"ns": c.Namespace()}}
	namespace := &Step{
		method: http.MethodPost, path: "/api/v1/namespaces", headers: http.Header{}, yaml: []string{"{metadata: {name: $ns}}"},
	}
	answer, err := p.playUntil(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if answer[0] != "201" {
		return nil, fmt.Errorf("making the namespace %s: %s", c.Namespace(), answer)
	}
	var answers [][]string
	for _, step := range c.Steps {
		answer, err := p.playUntil(ctx, step)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", step.Line, err)
		}
		for i := range answer {
			answer[i] = strings.TrimSpace(answer[i])
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// player plays the steps of a case.
type player struct {
	client    *http.Client
	host      string // scheme, host and port
	names     *names
	variables map[string]string
}

// playUntil plays a step until the code comes that it waits for, if any.
func (p *player) playUntil(ctx context.Context, step *Step) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		answer, err := p.play(ctx, step)
		if err != nil || step.until == "" || answer[0] == step.until {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the code %s did not come: %q", step.until, answer)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (p *player) play(ctx context.Context, step *Step) ([]string, error) {
	request, err := p.request(ctx, step)
	if err != nil {
		return nil, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() // what is not read is not wanted
	lines := []string{fmt.Sprint(response.StatusCode)}
	for _, warning := range response.Header.Values("Warning") {
		lines = append(lines, "Warning: "+warning)
	}
	if step.watch && response.StatusCode == http.StatusOK {
		events, err := p.events(step, response.Body)
		return append(lines, events...), err
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	shown, err := p.answer(step, content)
	return append(lines, shown...), err
}

// request makes the request of a step.
func (p *player) request(ctx context.Context, step *Step) (*http.Request, error) {
	body := []byte(p.expand(strings.Join(step.raw, "\n")))
	if len(step.yaml) > 0 {
		var err error
		if body, err = yaml.YAMLToJSON([]byte(p.expand(strings.Join(step.yaml, "\n")))); err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, step.method, strings.TrimSuffix(p.host, "/")+p.expand(step.path), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range step.headers {
		for _, value := range values {
			request.Header.Add(name, p.expand(value))
		}
	}
	if len(body) > 0 && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("User-Agent", "exchange")
	return request, nil
}

// expand replaces the variables in a text. What is no variable stays.
func (p *player) expand(text string) string {
	return os.Expand(text, func(name string) string {
		if value, ok := p.variables[name]; ok {
			return value
		}
		return "$" + name
	})
}

// answer shows the body of an answer and sets variables from it.
func (p *player) answer(step *Step, content []byte) ([]string, error) {
	if bytes.IndexByte(content, 0) >= 0 {
		return []string{"<binary>"}, nil
	}
	var object any
	if err := yaml.Unmarshal(content, &object); err != nil {
		object = nil
	}
	fields, ok := object.(map[string]any)
	if !ok {
		if text := strings.TrimSpace(string(content)); text != "" {
			return strings.Split(p.names.text(text), "\n"), nil
		}
		return nil, nil
	}
	p.names.learn(object)
	sortManagers(object)
	lines, err := p.names.status(fields)
	if err != nil {
		return nil, err
	}
	shown, err := p.names.show(object, step.show)
	if err != nil {
		return nil, err
	}
	for _, capture := range step.captures {
		value, err := find(object, capture.path)
		if err != nil || len(value) != 1 {
			return nil, fmt.Errorf("$%s: the answer has %d values of %s: %v: %s", capture.name, len(value), capture.path, err, content)
		}
		p.variables[capture.name] = fmt.Sprint(value[0])
	}
	return append(lines, shown...), nil
}

// events reads and shows the events of a watch, one a line.
func (p *player) events(step *Step, stream io.Reader) ([]string, error) {
	var lines []string
	decoder := json.NewDecoder(bufio.NewReader(stream))
	for step.events == 0 || len(lines) < step.events {
		var event map[string]any
		err := decoder.Decode(&event)
		if err == io.EOF {
			return append(lines, "end"), nil
		}
		if err != nil {
			return nil, fmt.Errorf("after the events %q: %w", lines, err)
		}
		p.names.learn(event)
		line := []string{fmt.Sprint(event["type"])}
		if object, _ := event["object"].(map[string]any); event["type"] == "ERROR" {
			status, err := p.names.status(object)
			if err != nil {
				return nil, err
			}
			line = append(line, status...)
		} else {
			paths := step.show
			if len(paths) == 0 {
				paths = []string{".metadata.name"}
			}
			shown, err := p.names.show(event["object"], paths)
			if err != nil {
				return nil, err
			}
			line = append(line, shown...)
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return lines, nil
}
