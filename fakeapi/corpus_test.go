package fakeapi_test

import (
	"os"
	"testing"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
	"github.com/gatehouse-dev/gatehouse/hack/recorded/corpus"
)

//go:generate go run ../hack/generate/corpus

// TestCorpus sends the corpus of manifests and compares the answers, field by field, with those of a kube-apiserver
// v1.37.2. What differs is listed, with the reason, in testdata/corpus/differences.yaml.
func TestCorpus(t *testing.T) {
	cases, err := corpus.Load(os.DirFS("testdata/corpus/manifests"))
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile("testdata/corpus/answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	answers, err := corpus.Read(recorded)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := os.ReadFile("testdata/corpus/differences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known, err := corpus.ReadKnown(listed)
	if err != nil {
		t.Fatal(err)
	}

	server := start(t, fakeapi.Options{})
	runner, err := corpus.NewRunner(server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	type request struct{ of, step string }
	real := map[request]corpus.Answer{}
	for _, answer := range answers {
		real[request{answer.Case, answer.Step}] = answer
	}
	var differences []corpus.Difference
	for _, c := range cases {
		ours, err := runner.Run(t.Context(), c)
		if err != nil {
			t.Errorf("case %s: %v", c.Name, err)
		}
		for _, answer := range ours {
			recorded, ok := real[request{answer.Case, answer.Step}]
			if !ok {
				t.Fatalf("%s, %s is not recorded: run go generate", answer.Case, answer.Step)
			}
			delete(real, request{answer.Case, answer.Step})
			differences = append(differences, corpus.Compare(recorded, answer)...)
		}
	}
	for request := range real {
		t.Errorf("%s, %s is recorded and not in the corpus: run go generate", request.of, request.step)
	}
	unknown, gone := corpus.Unexplained(differences, known)
	for _, d := range unknown {
		t.Error(d)
	}
	for _, place := range gone {
		t.Errorf("the difference %+v is listed and gone", place)
	}
}
