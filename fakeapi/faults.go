package fakeapi

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/webhook"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/serve"
)

// Faults are functions that stand in the way of requests, and of the calls of webhooks, to delay them, to make them fail
// or to change them. Each receives what is about to happen, and lets it happen by calling Do; a nil one stands in
// nobody's way. They may be called from several goroutines at once, and not for the objects of Options, which are
// created undisturbed. They must return when their context ends, as it does when the client has gone or the server stops.
type Faults struct {
	// Request receives each request that was authenticated and authorized. What it returns is what the client gets: with
	// what r.Do returned, nil or not, the server's answer. Any other error takes the place of the answer, also after
	// the server did what it was asked to do. An apierrors.StatusError is sent as it is, http.ErrAbortHandler cuts the
	// connection, and all others are internal errors, of code 500.
	Request func(ctx context.Context, r *Request) error

	// Webhook receives each call of a webhook. What it returns is what the server goes by: an error is a failed call,
	// which failurePolicy is about, and a response is checked as any is; one that does not come from call.Do may be
	// without its uid. The context ends with the webhook's timeoutSeconds.
	Webhook func(ctx context.Context, call *WebhookCall) (*admissionv1.AdmissionResponse, error)
}

// Request is what a client asks for, as the URL and the method of its request tell.
type Request struct {
	// User is the name of who asks.
	User string
	// Verb is the API's verb: get, list, watch, create, update, patch, delete or deletecollection; for a path that names
	// no resource, the method in lower case.
	Verb string
	// Resource is the resource, and Subresource, such as status, a part of it. Both are zero for a path that names none,
	// such as /version.
	Resource    schema.GroupVersionResource
	Subresource string
	// Namespace and Name say which object. They are empty where the path does not: the name of an object that is to be
	// created stands in the body of the request.
	Namespace, Name string
	// Path is the path of the URL.
	Path string

	do func(context.Context) error
}

// Do has the server answer, which it can do once. It returns what the client is to be told: nil, or the error by which it
// is refused. The context must be the one that the fault got, or be made from it.
//
// The answer to a watch, or to another request that may last, goes to the client while Do runs. Do returns nil when it
// ends; end the context to end it. An error that the fault returns after that cuts the connection.
func (r *Request) Do(ctx context.Context) error { return r.do(ctx) }

// WebhookCall is a call of a webhook that is about to be made.
type WebhookCall struct {
	// Configuration is metadata.name of the configuration, and Webhook the webhook's own name, such as
	// policy.example.com.
	Configuration, Webhook string
	// Mutating tells whether it is a mutating webhook.
	Mutating bool
	// URL is where the call goes.
	URL string
	// Request is what the webhook is asked. It is a copy: changing it changes nothing.
	Request *admissionv1.AdmissionRequest

	do func(context.Context) (*admissionv1.AdmissionResponse, error)
}

// Do calls the webhook, each time anew, and returns its response, or an error where none came. The response has the form
// of v1 also in a v1beta1 review. The context must be the one that the fault got, or be made from it.
func (c *WebhookCall) Do(ctx context.Context) (*admissionv1.AdmissionResponse, error) {
	return c.do(ctx)
}

// interceptRequests is Faults.Request as the server calls it.
func (s *Server) interceptRequests() serve.Intercept {
	fault := s.options.Faults.Request
	if fault == nil {
		return nil
	}
	return func(ctx context.Context, r serve.Request, next func(context.Context) error) error {
		if !s.loaded.Load() {
			return next(ctx)
		}
		return fault(ctx, &Request{
			User:        r.User,
			Verb:        r.Verb,
			Resource:    r.Resource,
			Subresource: r.Subresource,
			Namespace:   r.Namespace,
			Name:        r.Name,
			Path:        r.Path,
			do:          next,
		})
	}
}

// interceptWebhooks is Faults.Webhook as the admission chain calls it.
func (s *Server) interceptWebhooks() webhook.Intercept {
	fault := s.options.Faults.Webhook
	if fault == nil {
		return nil
	}
	return func(ctx context.Context, call webhook.Call, next func(context.Context) (*admissionv1.AdmissionResponse, error)) (*admissionv1.AdmissionResponse, error) {
		if !s.loaded.Load() {
			return next(ctx)
		}
		return fault(ctx, &WebhookCall{
			Configuration: call.Configuration,
			Webhook:       call.Webhook,
			Mutating:      call.Mutating,
			URL:           call.URL,
			Request:       call.Request,
			do:            next,
		})
	}
}
