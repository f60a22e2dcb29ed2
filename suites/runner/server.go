package runner

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/hook"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// Server is an API server under test, with what the runner keeps of it from case to case: connections and discovery.
// It may run several cases at once.
type Server struct {
	// Leftovers, if it is not nil, is told before a case makes anything that it will have to delete: the id of the case
	// and the paths of all such objects so far, in the order of deletion. It is for those who outlive a process that is
	// killed; they call Remove. It must be set before the first case runs.
	Leftovers func(id string, paths []string)
	// Answered, if it is not nil, is told of every request of a case with its answer: the id of the case and the request
	// as transcripts show it. It must be set before the first case runs.
	Answered func(id string, step reports.Step)
	// Disposable says that the server ends with the case that runs on it: what the case made is not taken away.
	Disposable bool

	target  target.Target
	hooks   *hook.Pool
	client  *client
	kinds   *kinds
	can     sets.Set[fixtures.Need]
	version *version.Version

	// inNamespaces are the objects that the server's controllers put into every new namespace.
	inNamespaces func(context.Context) ([]string, error)
}

// New prepares a target for cases. hooks runs their webhook servers; it is nil when the target cannot reach any.
func New(t target.Target, hooks *hook.Pool) (*Server, error) {
	served, err := version.ParseGeneric(t.Info().Version)
	if err != nil {
		return nil, fmt.Errorf("the target's version %q: %w", t.Info().Version, err)
	}
	c, err := newClient(t.RESTConfig())
	if err != nil {
		return nil, err
	}
	s := &Server{target: t, hooks: hooks, client: c, kinds: newKinds(c), can: t.Can().Clone(), version: served}
	if hooks == nil {
		s.can.Delete(fixtures.NeedHooks)
	}
	s.inNamespaces = once(s.findInNamespaces)
	return s, nil
}

// DeadError says that the API server serves no longer.
type DeadError struct {
	// Err is what came of asking it.
	Err error
	// Log is the end of its log; empty where there is none.
	Log string
}

func (e *DeadError) Error() string { return "the API server no longer answers: " + e.Err.Error() }

func (e *DeadError) Unwrap() error { return e.Err }

// Alive asks the server whether it still serves; the error is a *DeadError. It does not know when ctx is done.
func (s *Server) Alive(ctx context.Context) error {
	a, err := s.client.do(ctx, &request{method: http.MethodGet, path: "/version"})
	if err == nil && a.code != http.StatusOK {
		err = fmt.Errorf("GET /version: code %d: %s", a.code, a.problem())
	}
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return &DeadError{Err: err, Log: strings.TrimSpace(s.target.Logs())}
}

// unfit says why the case cannot run on this server, the second time in words; "" when it can.
func (s *Server) unfit(c *fixtures.LoadedCase) (reports.NotRunCause, string) {
	if !c.AppliesTo(s.version) {
		return reports.CauseVersion, fmt.Sprintf("applies to Kubernetes %s, the target is %s", versions(c), s.target.Info().Version)
	}
	reason := s.lacks(c.Needs)
	if reason == "" {
		return "", ""
	}
	// what a version does not serve, no target of that version can do
	for _, need := range []fixtures.Need{fixtures.NeedLegacyWorkloads, fixtures.NeedV1beta1Configurations} {
		if slices.Contains(c.Needs, need) && !s.can.Has(need) {
			return reports.CauseVersion, reason
		}
	}
	return reports.CauseTarget, reason
}

func versions(c *fixtures.LoadedCase) string {
	switch {
	case c.Since == nil:
		return "up to " + c.Until.String()
	case c.Until == nil:
		return c.Since.String() + " and later"
	}
	return c.Since.String() + " to " + c.Until.String()
}

// abilities are the needs in words, as in "the target cannot ...".
var abilities = map[fixtures.Need]string{
	fixtures.NeedHooks:                 "reach the suite's webhook servers (see --hook-address)",
	fixtures.NeedAudit:                 "show the audit events of a request",
	fixtures.NeedRawStore:              "have its store written past the API",
	fixtures.NeedControllers:           "run kube-controller-manager",
	fixtures.NeedRestart:               "be restarted over its store",
	fixtures.NeedNodes:                 "run pods",
	fixtures.NeedInTreePlugins:         "run the admission plugins LimitRanger and Priority",
	fixtures.NeedLegacyWorkloads:       "serve workloads in apps/v1beta1, apps/v1beta2 and extensions/v1beta1",
	fixtures.NeedV1beta1Configurations: "serve webhook configurations in admissionregistration.k8s.io/v1beta1",
}

// lacks says in words what the target cannot do of needs; "" when it can do everything.
func (s *Server) lacks(needs []fixtures.Need) string {
	var missing []string
	for _, need := range needs {
		if !s.can.Has(need) {
			missing = append(missing, fmt.Sprintf("%s: the target cannot %s", need, abilities[need]))
		}
	}
	return strings.Join(missing, "; ")
}

// once keeps the first answer of f; a failure is not kept.
func once[T any](f func(context.Context) (T, error)) func(context.Context) (T, error) {
	var mu sync.Mutex
	var kept *T
	return func(ctx context.Context) (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if kept != nil {
			return *kept, nil
		}
		v, err := f(ctx)
		if err == nil {
			kept = &v
		}
		return v, err
	}
}
