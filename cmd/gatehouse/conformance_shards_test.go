package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// standIn is the environment variable by which a process of this test stands in for a shard.
const standIn = "GATEHOUSE_TEST_SHARD"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == shardArgument {
		if os.Getenv(standIn) == "" {
			main()
		}
		os.Exit(standInForShard())
	}
	os.Exit(m.Run())
}

// standInForShard does with each case of its plan what the case's id says.
func standInForShard() int {
	var plan shardPlan
	stdin := json.NewDecoder(os.Stdin)
	if err := stdin.Decode(&plan); err != nil {
		fmt.Println(err)
		return 1
	}
	messages := json.NewEncoder(os.NewFile(messagesFD, "messages"))
	for _, id := range plan.Cases {
		messages.Encode(shardMessage{Started: id})
		result := reports.Result{ID: id, Outcome: reports.Pass}
		switch id[strings.LastIndex(id, "/")+1:] {
		case "crash":
			messages.Encode(shardMessage{Left: &leftovers{ID: id, Paths: []string{"/made"}}})
			fmt.Println("last words")
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {}
		case "forget":
			continue
		case "wait": // until the parent wants no more
			io.Copy(io.Discard, os.Stdin)
			result.Outcome = reports.Error
			messages.Encode(shardMessage{Result: &result})
			return 0
		case "dead":
			messages.Encode(shardMessage{Dead: "connection refused"})
			result.Outcome = reports.Error
		}
		messages.Encode(shardMessage{Left: &leftovers{ID: id, Paths: []string{"/made"}}})
		messages.Encode(shardMessage{Result: &result})
	}
	return 0
}

func TestShards(t *testing.T) {
	t.Setenv(standIn, "1")
	for name, test := range map[string]struct {
		cases, serial []string
		procs         int
		interrupt     bool
		want          map[string]string
		interrupted   string
	}{
		"all pass": {
			cases: []string{"1", "2", "3"}, serial: []string{"4"}, procs: 2,
			want: map[string]string{"1": "pass", "2": "pass", "3": "pass", "4": "pass"},
		},
		"one process for many": {
			cases: []string{"1", "2"}, procs: 1, want: map[string]string{"1": "pass", "2": "pass"},
		},
		"a shard is killed": {
			cases: []string{"1", "2", "crash", "4", "lost", "6"}, serial: []string{"7"}, procs: 2,
			want: map[string]string{
				"1": "pass", "2": "pass", "4": "pass", "6": "pass", "7": "pass",
				"crash": "error: the process that ran the case ended before it: shard 1: signal: killed: last words",
				"lost":  "error: the case was not run, since its process had ended: shard 1: signal: killed: last words",
			},
		},
		"a shard forgets a result": {
			cases: []string{"forget", "2"}, procs: 1,
			want: map[string]string{"2": "pass", "forget": "error: the process that ran the case ended before it: shard 1 did not report its result: "},
		},
		"the server dies": {
			cases: []string{"dead", "wait", "never"}, serial: []string{"4"}, procs: 3,
			want: map[string]string{"dead": "error", "wait": "error", "never": "pass"}, interrupted: "connection refused",
		},
		"an interruption": {
			cases: []string{"wait", "wait", "never"}, serial: []string{"4"}, procs: 1, interrupt: true,
			want: map[string]string{"wait": "error"}, interrupted: "enough",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var cases []*fixtures.LoadedCase
			for _, id := range test.cases {
				cases = append(cases, &fixtures.LoadedCase{ID: id})
			}
			for _, id := range test.serial {
				cases = append(cases, &fixtures.LoadedCase{ID: id, Serial: true})
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			s := &shards{known: newOutcomes(), shown: newProgress(io.Discard, cases, nil)}
			if test.interrupt {
				s.shown.out = writerFunc(func(p []byte) { cancel(errors.New("enough")) })
				s.shown.terminal, s.shown.width = true, 80 // so that it writes when a case begins
			}
			if err := s.run(ctx, cases, test.procs); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for id, r := range s.known.results {
				got[id] = string(r.Outcome)
				for _, f := range r.Failures {
					got[id] += ": " + f.Message + ": " + f.Actual
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			left := map[string][]string{}
			if test.want["crash"] != "" {
				left["crash"] = []string{"/made"}
			}
			if diff := cmp.Diff(left, s.known.left); diff != "" {
				t.Errorf("left over (-want +got):\n%s", diff)
			}
			if s.interrupted != test.interrupted {
				t.Errorf("interrupted %q, want %q", s.interrupted, test.interrupted)
			}
		})
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

func TestRunShardRefusesABrokenPlan(t *testing.T) {
	for name, input := range map[string]string{
		"no plan":        "",
		"an unknown one": `{"cases": ["no/such/case"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var messages bytes.Buffer
			if err := runShard(t.Context(), strings.NewReader(input), &messages); err == nil {
				t.Error("no error")
			}
			if messages.Len() > 0 {
				t.Errorf("messages: %s", &messages)
			}
		})
	}
}

func TestSweep(t *testing.T) {
	under, err := target.Open(t.Context(), target.Options{Name: target.FakeAPI})
	if err != nil {
		t.Fatal(err)
	}
	defer under.Stop()
	client, err := kubernetes.NewForConfig(under.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "made"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := sweep(t.Context(), under, map[string][]string{"a/b/c": {"/api/v1/nodes/gone-before", "/api/v1/namespaces/made"}}); err != nil {
		t.Fatal(err)
	}
	got, err := client.CoreV1().Namespaces().Get(t.Context(), "made", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) && got.DeletionTimestamp == nil {
		t.Errorf("the namespace is still there: %v, %v", got, err)
	}
}
