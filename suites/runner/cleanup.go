package runner

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// cleanupTimeout is how long a case may take to clear away what it made.
const cleanupTimeout = 30 * time.Second

// leftovers are the paths of objects that a case made and that do not go away with its namespace.
type leftovers struct {
	namespace string // the case's own
	caseName  string
	paths     []string
	changed   func(all []string) // told of all that is to be removed whenever it changes
}

// expect notes the object that a request is about to create, in case its answer gets lost: a name that is the case's
// own is safe to delete. drop takes it back.
func (l *leftovers) expect(path string) (drop func()) {
	if path == "" || slices.Contains(l.paths, path) || !strings.Contains(path, l.caseName) || l.within(path) {
		return func() {}
	}
	l.set(append(l.paths, path))
	return func() { l.set(slices.DeleteFunc(l.paths, func(p string) bool { return p == path })) }
}

// add notes an object that the server says it has created, or that has finalizers and would keep the namespace.
func (l *leftovers) add(path string, object any) {
	if path == "" || slices.Contains(l.paths, path) {
		return
	}
	if !l.within(path) || len(finalizers(object)) > 0 {
		l.set(append(l.paths, path))
	}
}

func (l *leftovers) within(path string) bool {
	return strings.Contains(path, "/namespaces/"+url.PathEscape(l.namespace)+"/")
}

func (l *leftovers) set(paths []string) {
	l.paths = paths
	l.changed(l.all())
}

// all returns the paths in the order in which they are to be deleted: configurations and policies first, since they may
// forbid the rest; namespaces last, the case's own at the very end; each the newest first.
func (l *leftovers) all() []string {
	paths := slices.Clone(l.paths)
	slices.Reverse(paths)
	slices.SortStableFunc(paths, func(a, b string) int { return deletionRank(a) - deletionRank(b) })
	return append(paths, "/api/v1/namespaces/"+l.namespace)
}

func deletionRank(path string) int {
	switch {
	case strings.HasPrefix(path, "/apis/admissionregistration.k8s.io/"):
		return 0
	case strings.HasPrefix(path, "/api/v1/namespaces/") && strings.Count(path, "/") == 4:
		return 2
	}
	return 1
}

// Remove deletes the objects of these paths in order, as Leftovers told of them. It names all that is left over when
// time is up.
func (s *Server) Remove(ctx context.Context, paths []string) error {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	var all error
	for _, path := range paths {
		if err := s.client.remove(ctx, path); err != nil {
			all = together(all, fmt.Errorf("%s is left over: %w", path, err))
		}
	}
	return all
}

// Gone waits until there is nothing at these paths any more: a namespace or a definition ends some time after its deletion.
func (s *Server) Gone(ctx context.Context, paths []string) error {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	for _, path := range paths {
		err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			there, err := s.exists(ctx, path)
			return !there, err
		})
		if err != nil {
			return fmt.Errorf("waiting until %s is gone: %w", path, err)
		}
	}
	return nil
}

// remove deletes an object and takes its finalizers off. It tries again while the server refuses, since webhooks and
// policies may act for a while after they are gone.
func (c *client) remove(ctx context.Context, path string) error {
	deletion := &request{method: http.MethodDelete, path: path, query: url.Values{
		"gracePeriodSeconds": {"0"}, "propagationPolicy": {"Background"},
	}}
	var refusal error
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		a, err := c.do(ctx, deletion)
		switch {
		case err != nil:
			return false, err
		case a.code == http.StatusNotFound:
			return true, nil
		case !a.succeeded():
			refusal = fmt.Errorf("deleting it: code %d: %s", a.code, a.problem())
			return false, nil
		case len(finalizers(a.object)) == 0 || ownFinalizers(path):
			return true, nil
		}
		a, err = c.do(ctx, &request{
			method: http.MethodPatch, path: path, contentType: string(types.MergePatchType), body: []byte(`{"metadata":{"finalizers":null}}`),
		})
		if err == nil && !a.succeeded() && a.code != http.StatusNotFound {
			refusal = fmt.Errorf("removing its finalizers: code %d: %s", a.code, a.problem())
			return false, nil
		}
		return err == nil, err
	})
	if err != nil && refusal != nil {
		return refusal
	}
	return err
}

// ownFinalizers reports whether the finalizers of an object belong to the API server itself.
func ownFinalizers(path string) bool {
	return deletionRank(path) == 2 || strings.HasPrefix(path, "/apis/apiextensions.k8s.io/")
}

func finalizers(object any) []any {
	m, _ := object.(map[string]any)
	metadata, _ := m["metadata"].(map[string]any)
	list, _ := metadata["finalizers"].([]any)
	return list
}
