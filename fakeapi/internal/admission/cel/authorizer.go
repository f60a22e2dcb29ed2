package cel

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// CacheDecisions returns an authorizer that asks each question once and repeats the answer. It is meant for one request.
// Nil stays nil.
func CacheDecisions(from authorizer.UnconditionalAuthorizer) authorizer.UnconditionalAuthorizer {
	if from == nil {
		return nil
	}
	return &cachingAuthorizer{from: from}
}

type cachingAuthorizer struct {
	from    authorizer.UnconditionalAuthorizer
	answers sync.Map // question → func() answer
}

// question is what an authorizer may decide by.
type question struct {
	user                                                               string
	verb, path, namespace, group, version, resource, subresource, name string
	isResource                                                         bool
	fieldSelector, labelSelector                                       string
}

type answer struct {
	decision authorizer.Decision
	reason   string
	err      error
}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (c *cachingAuthorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	q := question{
		verb:        a.GetVerb(),
		path:        a.GetPath(),
		namespace:   a.GetNamespace(),
		group:       a.GetAPIGroup(),
		version:     a.GetAPIVersion(),
		resource:    a.GetResource(),
		subresource: a.GetSubresource(),
		name:        a.GetName(),
		isResource:  a.IsResourceRequest(),
	}
	if u := a.GetUser(); u != nil {
		q.user = fmt.Sprintf("%q %q %q %q", u.GetName(), u.GetUID(), u.GetGroups(), u.GetExtra())
	}
	fields, err := a.GetFieldSelector()
	q.fieldSelector = fmt.Sprint(fields, err)
	labels, err := a.GetLabelSelector()
	q.labelSelector = fmt.Sprint(labels, err)
	ask, _ := c.answers.LoadOrStore(q, sync.OnceValue(func() answer {
		decision, reason, err := c.from.Authorize(ctx, a)
		return answer{decision, reason, err}
	}))
	got := ask.(func() answer)()
	return got.decision, got.reason, got.err
}
