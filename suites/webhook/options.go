package webhook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/target"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/config"
)

// Options say which webhook is on trial, and how.
type Options struct {
	// ConfigFile is a gatehouse.yaml. It says everything, unless Manifests and Handler do.
	ConfigFile string
	// Manifests are files and directories as in gatehouse.yaml, for a webhook without one.
	Manifests []string
	// Samples are as in gatehouse.yaml, besides those of ConfigFile.
	Samples config.Samples
	// Handler makes the webhook's HTTP handler, for a webhook that runs in this process. Gatehouse serves it by HTTPS.
	Handler func(Environment) (http.Handler, error)

	// Target is the API server to use. Without a Name it is the target of ConfigFile, else fakeapi.
	Target target.Options
	// Stdin is read for the manifest "-".
	Stdin io.Reader
	// Limits bound what takes time.
	Limits Limits
	// Begun is given the report of the trial before there is anything to report, which says that it has not ended; written
	// down, it is what a trial that is killed leaves. Its error ends the trial. nil for nobody.
	Begun func(reports.Report) error
	// Progress is told what is being done; nil for nobody.
	Progress func(string)
}

// Environment is what a handler in this process may use.
type Environment struct {
	// RESTConfig is for clients of the API server; they are the service account that the manifests name.
	RESTConfig *rest.Config
	// Dir is a directory that the webhook should leave as it is.
	Dir string
}

// Limits bound what takes time. A zero value means the default.
type Limits struct {
	// Load is how long reviews are sent at each number of concurrent ones; 150ms.
	Load time.Duration
	// MemoryReviews is after how many reviews the growth of memory is judged; 10,000.
	MemoryReviews int
	// Memory is how long that may take; 2s.
	Memory time.Duration
	// Rotation is how long to wait for a new certificate to be served. At 0 the trial does not wait, and a webhook that
	// has not taken the certificate up by its end is not judged by that.
	Rotation time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Load == 0 {
		l.Load = 150 * time.Millisecond
	}
	if l.MemoryReviews == 0 {
		l.MemoryReviews = 10_000
	}
	if l.Memory == 0 {
		l.Memory = 2 * time.Second
	}
	return l
}

// UsageError is an error in what the user wrote: options, gatehouse.yaml, manifests, samples.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

func usage(err error) error { return &UsageError{err} }

// plan is what the options and gatehouse.yaml say together.
type plan struct {
	config  *config.File
	handler func(Environment) (http.Handler, error)
	target  target.Options
	stdin   io.Reader
	limits  Limits
	say     func(string)
}

func newPlan(o Options) (plan, error) {
	p := plan{handler: o.Handler, target: o.Target, stdin: o.Stdin, limits: o.Limits.withDefaults(), say: o.Progress}
	if p.say == nil {
		p.say = func(string) {}
	}
	if p.stdin == nil {
		p.stdin = strings.NewReader("")
	}
	switch {
	case o.ConfigFile != "":
		if len(o.Manifests) > 0 {
			return plan{}, usage(errors.New("options: both ConfigFile and Manifests are given: want one"))
		}
		file, err := config.Load(o.ConfigFile, RuleIDs())
		if err != nil {
			return plan{}, usage(err)
		}
		p.config = file
	case len(o.Manifests) > 0 && o.Handler != nil:
		p.config = &config.File{Manifests: o.Manifests, Dir: "."}
	default:
		return plan{}, usage(errors.New("options: want ConfigFile, or Manifests and Handler"))
	}
	p.config.Samples.Setup = append(p.config.Samples.Setup, o.Samples.Setup...)
	p.config.Samples.Admitted = append(p.config.Samples.Admitted, o.Samples.Admitted...)
	p.config.Samples.Refused = append(p.config.Samples.Refused, o.Samples.Refused...)
	if p.target.Name == "" {
		p.target.Name = string(p.config.Target)
	}
	if p.target.Name == "" {
		p.target.Name = target.FakeAPI
	}
	if p.target.Name == target.Kubeconfig && p.target.HookAddress == "" {
		return plan{}, usage(fmt.Errorf("target %s: say how the cluster's API server reaches this machine (--hook-address HOST[:PORT])", target.Kubeconfig))
	}
	return p, nil
}
