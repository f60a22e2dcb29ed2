// Package audit decides which requests are recorded and keeps their audit events: in memory by Audit-ID, and as JSON
// lines in a log. The events themselves are made by k8s.io/apiserver's audit filters.
package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/apis/audit/validation"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/utils/clock"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/recent"
)

// NewPolicy compiles an audit policy. Without one, every stage of every request is recorded at level Request: from
// there on the events carry the patches of mutating webhooks.
func NewPolicy(config *auditv1.Policy) (audit.PolicyRuleEvaluator, error) {
	if config == nil {
		config = &auditv1.Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelRequest}}}
	}
	var internal auditinternal.Policy
	if err := audit.Scheme.Convert(config.DeepCopy(), &internal, nil); err != nil {
		return nil, fmt.Errorf("reading the audit policy: %w", err)
	}
	if errs := validation.ValidatePolicy(&internal); len(errs) > 0 {
		return nil, fmt.Errorf("the audit policy is not valid: %w", errs.ToAggregate())
	}
	return policy.NewPolicyRuleEvaluator(&internal), nil
}

// Recorder is a sink of audit events.
type Recorder struct {
	events *recent.Log[auditv1.Event]
	clock  clock.PassiveClock
	logger logr.Logger

	mu  sync.Mutex // guards log, so that lines are whole
	log io.Writer
}

// RecorderOptions configure a Recorder.
type RecorderOptions struct {
	// Requests is how many requests' events are kept in memory.
	Requests int
	// Log receives each event as one line of JSON; nil for no log.
	Log io.Writer
	// Clock stamps the events; nil leaves the wall-clock times that they come with.
	Clock clock.PassiveClock
	// Logger hears of events that could not be written to the log.
	Logger logr.Logger
}

// NewRecorder returns a recorder.
func NewRecorder(options RecorderOptions) *Recorder {
	return &Recorder{
		events: recent.New[auditv1.Event](options.Requests),
		clock:  options.Clock,
		logger: options.Logger,
		log:    options.Log,
	}
}

var _ audit.Sink = &Recorder{}

// ProcessEvents keeps copies of the events. A log that cannot be written to does not fail the request.
func (r *Recorder) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, event := range events {
		if err := r.record(event); err != nil {
			r.logger.Error(err, "recording an audit event", "auditID", event.AuditID, "stage", event.Stage)
		}
	}
	return true
}

// Events returns the events of the request with that Audit-ID that have been recorded so far, in order of their stages.
func (r *Recorder) Events(auditID string) []auditv1.Event {
	return r.events.Get(auditID)
}

func (r *Recorder) record(internal *auditinternal.Event) error {
	var event auditv1.Event
	// The conversion shares memory with the event, which the filters go on changing.
	if err := audit.Scheme.Convert(internal.DeepCopy(), &event, nil); err != nil {
		return err
	}
	event.SetGroupVersionKind(auditv1.SchemeGroupVersion.WithKind("Event"))
	if r.clock != nil {
		r.stamp(&event)
	}
	r.events.Add(string(event.AuditID), event)
	if r.log == nil {
		return nil
	}
	line, err := json.Marshal(event)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.log.Write(append(line, '\n'))
	return err
}

// stamp replaces the wall-clock times of an event by the recorder's clock: the time of the request's first event is
// when it was received.
func (r *Recorder) stamp(event *auditv1.Event) {
	now := metav1.NewMicroTime(r.clock.Now())
	event.StageTimestamp = now
	event.RequestReceivedTimestamp = now
	if earlier := r.events.Get(string(event.AuditID)); len(earlier) > 0 {
		event.RequestReceivedTimestamp = earlier[0].RequestReceivedTimestamp
	}
}
