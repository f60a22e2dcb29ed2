package audit_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/audit"
)

func TestNewPolicy(t *testing.T) {
	request := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "ann"}, Verb: "create", Resource: "secrets", ResourceRequest: true}
	secrets := auditv1.PolicyRule{Level: auditv1.LevelMetadata, Resources: []auditv1.GroupResources{{Resources: []string{"secrets"}}}}
	tests := map[string]struct {
		policy *auditv1.Policy
		want   auditinternal.Level
		err    string
	}{
		"none":        {nil, auditinternal.LevelRequest, ""},
		"first match": {&auditv1.Policy{Rules: []auditv1.PolicyRule{secrets, {Level: auditv1.LevelRequestResponse}}}, auditinternal.LevelMetadata, ""},
		"no match":    {&auditv1.Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelRequest, Users: []string{"bob"}}}}, auditinternal.LevelNone, ""},
		"bad level":   {&auditv1.Policy{Rules: []auditv1.PolicyRule{{Level: "Loud"}}}, "", `rules[0].level: Unsupported value: "Loud"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			policy, err := audit.NewPolicy(test.policy)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := policy.EvaluatePolicyRule(request).Level; got != test.want {
				t.Errorf("level %q, want %q", got, test.want)
			}
		})
	}
}

func TestRecorder(t *testing.T) {
	var log bytes.Buffer
	clock := testingclock.NewFakePassiveClock(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	recorder := audit.NewRecorder(audit.RecorderOptions{Requests: 8, Log: &log, Clock: clock})

	event := &auditinternal.Event{
		AuditID:                  "one",
		Level:                    auditinternal.LevelMetadata,
		Stage:                    auditinternal.StageRequestReceived,
		Annotations:              map[string]string{"a": "1"},
		RequestReceivedTimestamp: metav1.NowMicro(),
		StageTimestamp:           metav1.NowMicro(),
	}
	recorder.ProcessEvents(event)
	// The filters reuse the event.
	clock.SetTime(clock.Now().Add(time.Second))
	event.Stage = auditinternal.StageResponseComplete
	event.Annotations["a"] = "2"
	recorder.ProcessEvents(event, &auditinternal.Event{AuditID: "two"})

	events := recorder.Events("one")
	if len(events) != 2 {
		t.Fatalf("%d events, want 2", len(events))
	}
	received := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, want := range []struct {
		stage      auditv1.Stage
		annotation string
		time       time.Time
	}{
		{auditv1.StageRequestReceived, "1", received},
		{auditv1.StageResponseComplete, "2", received.Add(time.Second)},
	} {
		got := events[i]
		if got.Stage != want.stage || got.Annotations["a"] != want.annotation || !got.StageTimestamp.Time.Equal(want.time) || !got.RequestReceivedTimestamp.Time.Equal(received) {
			t.Errorf("event %d is %s %v at %v of %v, want %+v", i, got.Stage, got.Annotations, got.StageTimestamp, got.RequestReceivedTimestamp, want)
		}
	}

	var ids []string
	for lines := bufio.NewScanner(&log); lines.Scan(); {
		var line auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		if line.Kind != "Event" || line.APIVersion != "audit.k8s.io/v1" {
			t.Errorf("line is a %s %s", line.APIVersion, line.Kind)
		}
		ids = append(ids, string(line.AuditID))
	}
	if strings.Join(ids, " ") != "one one two" {
		t.Errorf("log has events of %v, want one, one, two", ids)
	}
}

// A full disk must not make requests fail.
func TestRecorderWithBrokenLog(t *testing.T) {
	var told []string
	recorder := audit.NewRecorder(audit.RecorderOptions{
		Requests: 1,
		Log:      brokenWriter{},
		Logger:   logr.New(funcr.New(func(_, args string) { told = append(told, args) }, funcr.Options{}).GetSink()),
	})
	if !recorder.ProcessEvents(&auditinternal.Event{AuditID: "one"}) {
		t.Error("the event was not accepted")
	}
	if len(recorder.Events("one")) != 1 {
		t.Error("the event is not kept")
	}
	if len(told) != 1 || !strings.Contains(told[0], "disk full") {
		t.Errorf("the logger heard %v", told)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }
