// Command corpus sends the corpus of manifests to a real kube-apiserver and records the answers. It is run by go
// generate in the directory fakeapi; KUBEBUILDER_ASSETS says where the real server's binaries are, else
// hack/envtest-assets/build has made them.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/gatehouse-dev/gatehouse/hack/recorded/corpus"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

const directory = "testdata/corpus"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	cases, err := corpus.Load(os.DirFS(directory + "/manifests"))
	if err != nil {
		return err
	}
	real, err := target.Open(ctx, target.Options{Name: target.Envtest})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, real.Stop()) }()
	runner, err := corpus.NewRunner(real.RESTConfig())
	if err != nil {
		return err
	}
	defer runner.Close()

	var answers []corpus.Answer
	for _, c := range cases {
		got, err := runner.Run(ctx, c)
		if err != nil {
			return fmt.Errorf("case %s: %w", c.Name, err)
		}
		answers = append(answers, got...)
	}
	var recording bytes.Buffer
	if err := corpus.Write(&recording, answers); err != nil {
		return err
	}
	return os.WriteFile(directory+"/answers.jsonl", recording.Bytes(), 0o644)
}
