package match

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// selector is a compiled label selector, or the reason why it does not compile.
type selector struct {
	// text is the field and the selector, as kubectl writes it.
	text     string
	selector labels.Selector
	err      error
}

func compileSelector(field string, source *metav1.LabelSelector) selector {
	compiled, err := metav1.LabelSelectorAsSelector(source)
	if err != nil {
		return selector{err: err}
	}
	text := compiled.String()
	if text == "" {
		text = "(selects nothing)"
	}
	return selector{text: field + " " + text, selector: compiled}
}

// selectsNamespace decides by the labels of the request's namespace. The reason is for a request that is not selected.
func (s *selector) selectsNamespace(ctx context.Context, a admission.Attributes, namespaces Namespaces) (bool, string, error) {
	if a.GetNamespace() == "" && a.GetResource().Resource != "namespaces" {
		// Cluster-scoped objects have no namespace whose labels could keep them back.
		return true, "", nil
	}
	if s.err != nil {
		return false, "", apierrors.NewInternalError(s.err)
	}
	if s.selector.Empty() {
		return true, "", nil
	}
	set, err := namespaceLabels(ctx, a, namespaces)
	if err != nil {
		return false, "", err
	}
	if s.selector.Matches(set) {
		return true, "", nil
	}
	return false, s.text + " does not select namespace " + a.GetNamespace() + ", " + s.describeLabels(set), nil
}

// namespaceLabels are the labels of the request's namespace: those of the submitted object when a Namespace itself is
// created or updated, else the stored ones. A status or finalize update of a Namespace goes by the stored ones.
func namespaceLabels(ctx context.Context, a admission.Attributes, namespaces Namespaces) (labels.Set, error) {
	if a.GetResource().Resource == "namespaces" && a.GetSubresource() == "" &&
		(a.GetOperation() == admission.Create || a.GetOperation() == admission.Update) {
		accessor, err := meta.Accessor(a.GetObject())
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		return accessor.GetLabels(), nil
	}
	namespace, err := namespaces.Namespace(ctx, a.GetNamespace())
	if err != nil {
		if status := apierrors.APIStatus(nil); apierrors.IsNotFound(err) && errors.As(err, &status) {
			return nil, &apierrors.StatusError{ErrStatus: status.Status()}
		}
		return nil, apierrors.NewInternalError(err)
	}
	return namespace.Labels, nil
}

// selectsObject decides by the labels of the new and the old object; either is enough.
func (s *selector) selectsObject(a admission.Attributes) (bool, string, error) {
	if s.err != nil {
		return false, "", apierrors.NewInternalError(s.err)
	}
	if s.selector.Empty() || s.selectsLabelsOf(a.GetObject()) || s.selectsLabelsOf(a.GetOldObject()) {
		return true, "", nil
	}
	return false, s.text + " selects neither " + s.describeObjects(a.GetObject(), a.GetOldObject()), nil
}

// selectsLabelsOf is false for an object that is not there or cannot have labels.
func (s *selector) selectsLabelsOf(obj runtime.Object) bool {
	set, ok := labelsOf(obj)
	return ok && s.selector.Matches(set)
}

func labelsOf(obj runtime.Object) (labels.Set, bool) {
	if obj == nil {
		return nil, false
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, false
	}
	return accessor.GetLabels(), true
}

func (s *selector) describeObjects(obj, old runtime.Object) string {
	return "the object, " + s.describeObject(obj) + ", nor the old object, " + s.describeObject(old)
}

func (s *selector) describeObject(obj runtime.Object) string {
	if obj == nil {
		return "which is absent"
	}
	set, ok := labelsOf(obj)
	if !ok {
		return "which cannot have labels"
	}
	return s.describeLabels(set)
}

// describeLabels names the labels, leaving out the one that every namespace has where the selector is not about it.
func (s *selector) describeLabels(set labels.Set) string {
	requirements, _ := s.selector.Requirements()
	byName := slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return r.Key() == corev1.LabelMetadataName })
	names := make([]string, 0, len(set))
	for name := range set {
		if byName || name != corev1.LabelMetadataName {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "which has no labels"
	}
	slices.Sort(names)
	var text strings.Builder
	text.WriteString("whose labels are ")
	for i, name := range names {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(name)
		text.WriteByte('=')
		text.WriteString(set[name])
	}
	return text.String()
}
