package serve

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// requestTimeout is how long a request may take that is not long-running, unless it asks for less.
const requestTimeout = time.Minute

// Config is what a server answers with.
type Config struct {
	// Catalogue is what is served.
	Catalogue *resource.Catalogue
	// Admission is what every change goes through.
	Admission admission.Interface
	// Authenticator says who asks.
	Authenticator authenticator.Request
	// Authorizer says what they may do.
	Authorizer authorizer.Authorizer
	// AuditPolicy and AuditSink say which requests are recorded, and where.
	AuditPolicy audit.PolicyRuleEvaluator
	AuditSink   audit.Sink
	// Decisions keeps what admission decided.
	Decisions *Decisions
	// Intercept stands before the handlers of requests; nil passes all on.
	Intercept Intercept
	// Address is the host and port that discovery names.
	Address string
	// Logger hears what goes wrong inside the server.
	Logger logr.Logger
}

// NewHandler returns the handler of all requests. Long-running ones end when stopping is done.
func NewHandler(stopping context.Context, config Config) http.Handler {
	codecs := scheme.Codecs
	infos := &request.RequestInfoFactory{
		APIPrefixes:          sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	}

	handler := http.Handler(newRouter(config))
	handler = config.Decisions.filter(handler)
	handler = withIntercept(handler, config.Intercept, stopping)
	handler = filters.WithAuthorization(handler, config.Authorizer, codecs)
	handler = impersonation.WithConstrainedImpersonation(handler, config.Authorizer, codecs)
	handler = filters.WithAudit(handler, config.AuditSink, config.AuditPolicy, isLongRunning)
	refused := filters.WithFailedAuthenticationAudit(filters.Unauthorized(codecs), config.AuditSink, config.AuditPolicy)
	handler = filters.WithAuthentication(handler, config.Authenticator, refused, nil, nil)
	handler = withWarnings(handler)
	handler = filters.WithRequestDeadline(handler, config.AuditSink, config.AuditPolicy, isLongRunning, codecs, requestTimeout)
	handler = withStopping(handler, stopping)
	handler = filters.WithCacheControl(handler)
	handler = filters.WithLatencyTrackers(handler)
	handler = filters.WithRequestInfo(handler, infos)
	handler = filters.WithRequestReceivedTimestamp(handler)
	handler = withPanicRecovery(handler)
	handler = filters.WithAuditInit(handler)
	return withLogger(handler, config.Logger)
}

var (
	longRunningVerbs        = sets.New("watch", "proxy")
	longRunningSubresources = sets.New("attach", "exec", "proxy", "log", "portforward")
)

// isLongRunning tells requests that may go on for as long as the client likes.
func isLongRunning(_ *http.Request, info *request.RequestInfo) bool {
	return longRunningVerbs.Has(info.Verb) || info.IsResourceRequest && longRunningSubresources.Has(info.Subresource)
}

// endWait is how long a long-running request may take to end its answer when the server stops: its client may have
// stopped to read.
const endWait = 20 * time.Millisecond

// withStopping ends long-running requests when stopping is done. The others are left to finish.
func withStopping(next http.Handler, stopping context.Context) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := request.RequestInfoFrom(req.Context())
		if !ok || !isLongRunning(req, info) {
			next.ServeHTTP(w, req)
			return
		}
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		long := &longAnswer{writer: w}
		defer context.AfterFunc(stopping, func() {
			cancel()
			long.hurry()
		})()
		defer long.finish()
		next.ServeHTTP(w, req.WithContext(ctx))
	})
}

// longAnswer is the answer to a long-running request.
type longAnswer struct {
	mu       sync.Mutex
	writer   http.ResponseWriter
	finished bool
}

// hurry gives the answer little time to be written.
func (a *longAnswer) hurry() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.finished {
		_ = http.NewResponseController(a.writer).SetWriteDeadline(time.Now().Add(endWait)) // what has no deadline is not stuck
	}
}

// finish says that the writer must not be used any more.
func (a *longAnswer) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finished = true
}

// withPanicRecovery answers 500 where a handler panics, and logs where. Upstream's filter lives in a package that needs
// etcd.
func withPanicRecovery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer func() {
			reason := recover()
			switch reason {
			case nil:
			case http.ErrAbortHandler:
				panic(reason) // the server cuts the connection
			default:
				http.Error(w, "This request caused apiserver to panic. Look in the logs for details.", http.StatusInternalServerError)
				logPanic(req, reason)
			}
		}()
		next.ServeHTTP(w, req)
	})
}

// withLogger makes the server's logger the one that upstream code finds in the context of a request.
func withLogger(next http.Handler, logger logr.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		next.ServeHTTP(w, req.WithContext(klog.NewContext(req.Context(), logger)))
	})
}
