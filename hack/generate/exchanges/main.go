// Command exchanges records the answers of a real kube-apiserver in the files of fakeapi/testdata/exchanges. It writes the
// files that its arguments name, or all.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/hack/recorded/exchange"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// directory holds the files, seen from the directory of the package that they belong to.
const directory = "testdata/exchanges"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "exchanges:", err)
		os.Exit(1)
	}
}

func run(files []string) (err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if len(files) == 0 {
		if files, err = filepath.Glob(filepath.Join(directory, "*.txt")); err != nil {
			return err
		}
	}
	oracle, err := target.Open(ctx, target.Options{Name: target.Envtest})
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := oracle.Stop(); err == nil {
			err = stopErr
		}
	}()
	var errs []error
	for _, file := range files {
		if err := recordFile(ctx, oracle.RESTConfig(), file); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
	}
	return errors.Join(errs...)
}

func recordFile(ctx context.Context, config *rest.Config, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if data, err = record(ctx, config, data); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// record returns a file with the server's answers.
func record(ctx context.Context, config *rest.Config, data []byte) ([]byte, error) {
	file, err := exchange.Parse(data)
	if err != nil {
		return nil, err
	}
	for _, c := range file.Cases {
		answers, err := c.Play(ctx, config)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		for i, step := range c.Steps {
			step.Answer = answers[i]
		}
	}
	return file.Bytes(), nil
}
