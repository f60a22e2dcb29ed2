package resource

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// logREST is the storage of pods/log.
type logREST struct {
	pods *REST
}

var (
	_ rest.GetterWithOptions = &logREST{}
	_ rest.StorageMetadata   = &logREST{}
)

// New implements rest.Storage.
func (l *logREST) New() runtime.Object { return &corev1.Pod{} }

// Destroy implements rest.Storage; there is nothing to release.
func (l *logREST) Destroy() {}

// ProducesMIMETypes implements rest.StorageMetadata: the log itself is text.
func (l *logREST) ProducesMIMETypes(string) []string { return []string{"text/plain"} }

// ProducesObject implements rest.StorageMetadata.
func (l *logREST) ProducesObject(string) any { return "" }

// NewGetOptions implements rest.GetterWithOptions.
func (l *logREST) NewGetOptions() (runtime.Object, bool, string) {
	return &corev1.PodLogOptions{}, false, ""
}

// Get implements rest.GetterWithOptions. A pod without a node has no log; the others have one that nobody can fetch.
func (l *logREST) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	logOptions := options.(*corev1.PodLogOptions)
	if errs := validateLogOptions(logOptions); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "PodLogOptions"}, name, errs)
	}
	found, err := l.pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod := found.(*corev1.Pod)
	if err := checkContainer(pod, logOptions.Container); err != nil {
		return nil, err
	}
	if node := pod.Spec.NodeName; node != "" {
		return nil, noKubelet(l.pods, node)
	}
	return emptyStream{}, nil
}

func validateLogOptions(options *corev1.PodLogOptions) field.ErrorList {
	var errs field.ErrorList
	if lines := options.TailLines; lines != nil && *lines < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *lines, "must be greater than or equal to 0"))
	}
	if limit := options.LimitBytes; limit != nil && *limit < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *limit, "must be greater than 0"))
	}
	seconds := options.SinceSeconds
	switch {
	case seconds != nil && options.SinceTime != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case seconds != nil && *seconds < 1:
		errs = append(errs, field.Invalid(field.NewPath("sinceSeconds"), *seconds, "must be greater than 0"))
	}
	if options.Stream != nil {
		errs = append(errs, field.Forbidden(field.NewPath("stream"), "may not be specified"))
	}
	return errs
}

// emptyStream is a log that is not there. It is an object only in that handlers pass it along as one.
type emptyStream struct{}

var _ rest.ResourceStreamer = emptyStream{}

// GetObjectKind implements runtime.Object.
func (emptyStream) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (e emptyStream) DeepCopyObject() runtime.Object { return e }

// InputStream implements rest.ResourceStreamer.
func (emptyStream) InputStream(context.Context, string, string) (io.ReadCloser, bool, string, error) {
	return nil, false, "", nil
}
