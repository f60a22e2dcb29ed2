package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/target/remote"
)

const (
	// shardGrace is how long shards may take to clean up when they are to stop.
	shardGrace = 60 * time.Second
	// shardArgument is the subcommand by which the program runs a shard of itself.
	shardArgument = "conformance-shard"
	// outputLimit is how much of the end of a shard's output is kept.
	outputLimit = 8 << 10
)

// shardPlan is what a shard is to do. It is the shard's standard input, which stays open while the shard is wanted.
type shardPlan struct {
	Target   remote.Handover `json:"target"`
	Builtin  string          `json:"builtin,omitempty"`
	Fixtures []string        `json:"fixtures"`
	Cases    []string        `json:"cases"`
}

// shardMessage is a line of a shard's report to its parent, with one of its fields.
type shardMessage struct {
	// Started is the id of a case that begins.
	Started string `json:"started,omitempty"`
	// Result is the result of a case.
	Result *reports.Result `json:"result,omitempty"`
	// Left are what a case would leave over.
	Left *leftovers `json:"left,omitempty"`
	// Dead says how the API server was found to serve no longer.
	Dead string `json:"dead,omitempty"`
}

// leftovers are the paths of what a case has made and will have to delete.
type leftovers struct {
	ID    string   `json:"id"`
	Paths []string `json:"paths"`
}

// shards runs cases in processes of their own, since Ginkgo runs one after the other and once a process.
type shards struct {
	plan  shardPlan
	times map[string]time.Duration
	known *outcomes
	shown *progress

	// interrupted says why the run ends early; "" while it does not.
	interrupted string
}

// run runs the cases in procs processes, those that want to be alone at the end in one.
func (s *shards) run(ctx context.Context, cases []*fixtures.LoadedCase, procs int) error {
	together, alone := apart(cases)
	if err := s.runAll(ctx, deal(together, s.times, procs)); err != nil || s.interrupted != "" {
		return err
	}
	return s.runAll(ctx, deal(alone, s.times, 1))
}

// deal deals the cases to at most n hands, none of them empty: by their times where there are any, else in turn.
func deal(cases []*fixtures.LoadedCase, times map[string]time.Duration, n int) [][]*fixtures.LoadedCase {
	if len(times) > 0 {
		return balance(cases, times, min(n, len(cases)))
	}
	hands := make([][]*fixtures.LoadedCase, min(n, len(cases)))
	for i, c := range cases {
		hands[i%len(hands)] = append(hands[i%len(hands)], c)
	}
	return hands
}

// runAll runs a shard for each hand of cases, and returns when all have ended.
func (s *shards) runAll(ctx context.Context, hands [][]*fixtures.LoadedCase) error {
	events := make(chan shardEvent)
	var live []*shard
	var errs []error
	for i, hand := range hands {
		started, err := startShard(i+1, s.plan, hand, events)
		if err != nil {
			errs = append(errs, err)
			s.interrupt("a shard could not be started", live)
			break
		}
		live = append(live, started)
	}
	interruption, tick := ctx.Done(), time.NewTicker(s.shown.interval())
	defer tick.Stop()
	var overdue <-chan time.Time
	for len(live) > 0 {
		select {
		case e := <-events:
			s.take(e, live)
			if e.ended {
				live = slices.DeleteFunc(live, func(one *shard) bool { return one == e.shard })
			}
		case <-interruption:
			interruption = nil
			s.interrupt(context.Cause(ctx).Error(), live)
		case <-overdue:
			for _, one := range live {
				_ = one.command.Process.Kill() // its end is an event
			}
		case <-tick.C:
			s.shown.tick()
		}
		if s.interrupted != "" && overdue == nil {
			overdue = time.After(shardGrace)
		}
	}
	return errors.Join(errs...)
}

// interrupt asks all shards to stop.
func (s *shards) interrupt(why string, live []*shard) {
	if s.interrupted != "" {
		return
	}
	s.interrupted = why
	s.shown.say("stopping: " + firstLine(why))
	for _, one := range live {
		_ = one.stdin.Close() // fails when the shard has ended
	}
}

// take takes account of what a shard says.
func (s *shards) take(e shardEvent, live []*shard) {
	switch {
	case e.ended:
		why, output := e.shard.epitaph(e.err), strings.TrimSpace(string(e.shard.output.kept))
		if lost := s.known.lost(e.shard.cases, why, output, s.interrupted != ""); len(lost) > 0 {
			s.shown.lost(lost, why)
		}
	case e.message.Started != "":
		s.known.started.Insert(e.message.Started)
		s.shown.started(e.message.Started)
	case e.message.Left != nil:
		s.known.left[e.message.Left.ID] = e.message.Left.Paths
	case e.message.Result != nil:
		delete(s.known.left, e.message.Result.ID)
		s.known.results[e.message.Result.ID] = *e.message.Result
		s.shown.finished(*e.message.Result)
	case e.message.Dead != "":
		s.interrupt(e.message.Dead, live)
	}
}

// shardEvent is a message of a shard, or its end.
type shardEvent struct {
	shard   *shard
	message shardMessage
	ended   bool
	err     error
}

// shard is a process that runs cases.
type shard struct {
	number  int
	cases   []*fixtures.LoadedCase
	command *exec.Cmd
	stdin   io.WriteCloser
	output  *lastBytes
}

// startShard starts a process with its plan. What it says, and at last its end, goes to events.
func startShard(number int, plan shardPlan, cases []*fixtures.LoadedCase, events chan<- shardEvent) (*shard, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("starting shard %d: %w", number, err)
	}
	for _, c := range cases {
		plan.Cases = append(plan.Cases, c.ID)
	}
	input, err := json.Marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("starting shard %d: %w", number, err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting shard %d: %w", number, err)
	}
	s := &shard{number: number, cases: cases, command: exec.Command(executable, shardArgument), output: &lastBytes{}}
	s.command.Stdout, s.command.Stderr, s.command.ExtraFiles = s.output, s.output, []*os.File{writer}
	if s.stdin, err = s.command.StdinPipe(); err == nil {
		err = s.command.Start()
	}
	_ = writer.Close() // the shard has its own
	if err != nil {
		_ = reader.Close()
		return nil, fmt.Errorf("starting shard %d: %w", number, err)
	}
	go s.follow(input, reader, events)
	return s, nil
}

// follow passes a shard's messages on until it ends.
func (s *shard) follow(input []byte, messages io.ReadCloser, events chan<- shardEvent) {
	defer messages.Close()
	_, inputErr := s.stdin.Write(append(input, '\n'))
	decoder := json.NewDecoder(messages)
	for {
		var message shardMessage
		if err := decoder.Decode(&message); err != nil {
			break // the shard has closed the pipe, or died in the middle of a line
		}
		events <- shardEvent{shard: s, message: message}
	}
	err := s.command.Wait()
	if err == nil {
		err = inputErr
	}
	events <- shardEvent{shard: s, ended: true, err: err}
}

// epitaph says how the shard ended.
func (s *shard) epitaph(err error) string {
	if err != nil {
		return fmt.Sprintf("shard %d: %v", s.number, err)
	}
	return fmt.Sprintf("shard %d did not report its result", s.number)
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct{ kept []byte }

func (l *lastBytes) Write(p []byte) (int, error) {
	l.kept = append(l.kept, p...)
	if over := len(l.kept) - outputLimit; over > 0 {
		l.kept = slices.Delete(l.kept, 0, over)
	}
	return len(p), nil
}
