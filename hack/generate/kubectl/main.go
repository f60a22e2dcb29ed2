// Command kubectl records what kubectl prints before a real kube-apiserver in the sessions of fakeapi/testdata/kubectl. It is
// run by go generate in the directory fakeapi, and records the files that its arguments name, or all.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/gatehouse-dev/gatehouse/hack/recorded/console"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// sessions are the files, seen from the directory of the package that they belong to.
const sessions = "testdata/kubectl/*.txt"

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kubectl:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, files []string) (err error) {
	if len(files) == 0 {
		if files, err = filepath.Glob(sessions); err != nil {
			return err
		}
	}
	recorded, err := record(ctx, files)
	if err != nil {
		return err
	}
	for file, data := range recorded {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// record plays sessions with a real server and returns the files with the output.
func record(ctx context.Context, files []string) (_ map[string][]byte, err error) {
	kubectl, err := console.FindKubectl(ctx)
	if err != nil {
		return nil, err
	}
	oracle, err := target.Open(ctx, target.Options{Name: target.Envtest})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, oracle.Stop()) }()
	recorded := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		session, err := console.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		player := console.Player{Kubectl: kubectl, Config: oracle.RESTConfig(), Directory: filepath.Dir(file)}
		outputs, err := player.Play(ctx, session)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for i, output := range outputs {
			session.Commands[i].Output = output
		}
		recorded[file] = session.Bytes()
	}
	return recorded, nil
}
