package serve

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
)

// Intercept stands before the handlers of requests. It may let next answer, once, and refuse the request with an error,
// before or after that. What next returns is what the client is to be told: nil, or the error that it is refused with.
//
// An answer is held back until the Intercept returns, and sent if that is what next returned; any other error takes its
// place. Long-running requests are answered while next runs, and it returns nil; an error after that cuts the
// connection. So does http.ErrAbortHandler at any time.
//
// The context ends when the server stops: who waits for nothing else must not hold that up.
type Intercept func(ctx context.Context, r Request, next func(context.Context) error) error

// Request is what a client asks for, as URL and method tell.
type Request struct {
	// User is the name of who asks.
	User string
	// Verb is that of the API, such as list or deletecollection; for a URL that names no resource, the method in lower
	// case.
	Verb string
	// Resource and Subresource are zero for a URL that names none.
	Resource    schema.GroupVersionResource
	Subresource string
	// Namespace and Name are empty where the URL has none.
	Namespace, Name string
	// Path is that of the URL.
	Path string
}

var (
	errNoAnswer    = errors.New("the fault neither called Do nor returned an error")
	errCalledTwice = errors.New("the fault called Do twice")
)

// withIntercept puts the Intercept before a handler; nil puts nothing there.
func withIntercept(next http.Handler, intercept Intercept, stopping context.Context) http.Handler {
	if intercept == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := request.RequestInfoFrom(req.Context())
		if !ok {
			next.ServeHTTP(w, req)
			return
		}
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		defer context.AfterFunc(stopping, cancel)()
		i := &interception{handler: next, w: w, req: req, info: info, streams: isLongRunning(req, info)}
		i.finish(intercept(ctx, describeRequest(ctx, info), i.next))
	})
}

func describeRequest(ctx context.Context, info *request.RequestInfo) Request {
	r := Request{Verb: info.Verb, Path: info.Path}
	if u, ok := request.UserFrom(ctx); ok {
		r.User = u.GetName()
	}
	if info.IsResourceRequest {
		r.Resource = schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
		r.Subresource, r.Namespace, r.Name = info.Subresource, info.Namespace, info.Name
	}
	return r
}

// interception is one request on its way through an Intercept.
type interception struct {
	handler http.Handler
	w       http.ResponseWriter
	req     *http.Request
	info    *request.RequestInfo
	// streams tells that answers cannot be held back.
	streams bool

	called bool
	// held is the answer that was held back, and told the error that it tells.
	held *heldAnswer
	told error
}

func (i *interception) next(ctx context.Context) error {
	if i.called {
		return errCalledTwice
	}
	i.called = true
	req := i.req.WithContext(ctx)
	if i.streams {
		i.handler.ServeHTTP(i.w, req)
		return nil
	}
	i.held = &heldAnswer{header: http.Header{}, code: http.StatusOK}
	i.handler.ServeHTTP(i.held, req)
	i.told = i.held.err(i.info)
	return i.told
}

// finish answers the client, given what the Intercept returned.
func (i *interception) finish(err error) {
	switch {
	case errors.Is(err, http.ErrAbortHandler):
		panic(http.ErrAbortHandler) // cuts the connection
	case i.called && i.streams:
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	case err == nil && i.held == nil:
		i.refuse(errNoAnswer)
	case err == nil || err == i.told:
		i.held.send(i.w)
	default:
		i.refuse(err)
	}
}

// refuse sends the Status in the error, or else an internal error.
func (i *interception) refuse(err error) {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		err = status
	} else {
		err = apierrors.NewInternalError(err)
	}
	responsewriters.ErrorNegotiated(err, scheme.Codecs, schema.GroupVersion{Version: "v1"}, i.w, i.req)
}

// heldAnswer is an answer that has not been sent.
type heldAnswer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

var _ http.ResponseWriter = (*heldAnswer)(nil)

func (a *heldAnswer) Header() http.Header { return a.header }

func (a *heldAnswer) WriteHeader(code int) { a.code = code }

func (a *heldAnswer) Write(data []byte) (int, error) { return a.body.Write(data) }

func (a *heldAnswer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body.Bytes()) // fails when the client has gone
}

// err is the error that the answer tells; nil if it is a success.
func (a *heldAnswer) err(info *request.RequestInfo) error {
	if a.code < http.StatusBadRequest {
		return nil
	}
	if decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(a.body.Bytes(), nil, nil); err == nil {
		if status, ok := decoded.(*metav1.Status); ok {
			return &apierrors.StatusError{ErrStatus: *status}
		}
	}
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	return apierrors.NewGenericServerResponse(a.code, info.Verb, resource, info.Name, a.body.String(), 0, true)
}
