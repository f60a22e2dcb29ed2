package resource

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
)

// List implements rest.Lister.
func (r *REST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	predicate := r.predicate(options)
	page, err := r.page(r.scopeOf(ctx, predicate), options)
	if err != nil {
		return nil, err
	}
	var items []runtime.Object
	for i, stored := range page.objects {
		matches, err := predicate.Matches(stored)
		if err != nil {
			return nil, err
		}
		if !matches {
			continue
		}
		item, err := r.readListed(stored)
		if err != nil {
			return nil, err
		}
		if _, custom := item.(runtime.Unstructured); !custom {
			// Only the list says what its items are.
			item.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		}
		items = append(items, item)
		// Whether anything that follows matches is not looked at.
		if int64(len(items)) == options.Limit && i+1 < len(page.objects) && !page.whole {
			if err := page.truncate(i+1, predicate.Empty()); err != nil {
				return nil, err
			}
			break
		}
	}
	return r.list(items, page)
}

// page is a part of a list.
type page struct {
	namespace string
	objects   []runtime.Object
	revision  uint64
	next      string
	remaining *int64
	// whole is whether the list is not cut into pages although that was asked for.
	whole bool
}

// page reads the objects that a list is to be made of, those that earlier pages had left out.
func (r *REST) page(namespace string, options *metainternalversion.ListOptions) (*page, error) {
	if options.Continue != "" {
		return r.nextPage(namespace, options)
	}
	revision, err := parseRevision(options.ResourceVersion)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	if options.ResourceVersionMatch == metav1.ResourceVersionMatchExact || (options.ResourceVersionMatch == "" && options.Limit > 0 && revision > 0) {
		objects, err := r.catalogue.store.ListAt(r.stored, namespace, revision)
		if apierrors.IsResourceExpired(err) {
			err = apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
		}
		return &page{namespace: namespace, objects: objects, revision: revision}, err
	}
	if err := r.checkNotTooNew(options.ResourceVersion); err != nil {
		return nil, err
	}
	objects, current := r.catalogue.store.List(r.stored, namespace)
	// Who takes any version gets it whole, from the real API server's cache.
	whole := options.ResourceVersion == "0"
	return &page{namespace: namespace, objects: objects, revision: current, whole: whole}, nil
}

// latestRevision in a continue token asks for the rest of the list as it is now.
const latestRevision = -1

func (r *REST) nextPage(namespace string, options *metainternalversion.ListOptions) (*page, error) {
	if options.ResourceVersion != "" && options.ResourceVersion != "0" {
		return nil, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	root := listRoot(namespace)
	from, at, err := storage.DecodeContinue(options.Continue, root+"/")
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
	}
	result := page{namespace: namespace}
	if at > 0 {
		result.revision = uint64(at)
		result.objects, err = r.catalogue.store.ListAt(r.stored, namespace, result.revision)
		if apierrors.IsResourceExpired(err) {
			return nil, expiredToken(from, root)
		}
		if err != nil {
			return nil, err
		}
	} else {
		result.objects, result.revision = r.catalogue.store.List(r.stored, namespace)
	}
	for len(result.objects) > 0 {
		path, err := listPath(result.objects[0])
		if err != nil {
			return nil, err
		}
		if path >= from {
			break
		}
		result.objects = result.objects[1:]
	}
	return &result, nil
}

// expiredToken tells the client that the list's state is forgotten, and gives it a token for the rest as it is now.
func expiredToken(from, root string) error {
	token, err := storage.EncodeContinue(from, root, latestRevision)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	expired := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
		"Start a new list without the continue parameter, or use the continue token of this answer for the rest of the results as they are now.")
	expired.ErrStatus.ListMeta.Continue = token
	return expired
}

// truncate ends the page before the object at an index.
func (p *page) truncate(at int, countable bool) error {
	last, err := listPath(p.objects[at-1])
	if err != nil {
		return err
	}
	// The next page begins with the first key after the last one.
	if p.next, err = storage.EncodeContinue(last+"\x00", listRoot(p.namespace), int64(p.revision)); err != nil {
		return err
	}
	if remaining := int64(len(p.objects) - at); countable {
		p.remaining = &remaining
	}
	return nil
}

// listRoot is what the places of all objects begin with that a list is made of; continue tokens leave it out.
func listRoot(namespace string) string {
	if namespace == "" {
		return "/registry"
	}
	return "/registry/" + namespace
}

// listPath is the place of an object in the order of lists.
func listPath(object runtime.Object) (string, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", err
	}
	return listRoot(accessor.GetNamespace()) + "/" + accessor.GetName(), nil
}

// list makes the list object.
func (r *REST) list(items []runtime.Object, p *page) (runtime.Object, error) {
	list := r.newList()
	if err := meta.SetList(list, items); err != nil {
		return nil, fmt.Errorf("list of %s: %w", r.resource.GroupResource(), err)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(strconv.FormatUint(p.revision, 10))
	accessor.SetContinue(p.next)
	accessor.SetRemainingItemCount(p.remaining)
	return list, nil
}

// predicate selects stored objects.
func (r *REST) predicate(options *metainternalversion.ListOptions) storage.SelectionPredicate {
	predicate := storage.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything(), GetAttrs: r.attributes}
	if options != nil && options.LabelSelector != nil {
		predicate.Label = options.LabelSelector
	}
	if options != nil && options.FieldSelector != nil {
		predicate.Field = options.FieldSelector
	}
	return predicate
}

// scopeOf is the namespace that a list or watch is confined to; empty for all.
func (r *REST) scopeOf(ctx context.Context, predicate storage.SelectionPredicate) string {
	if !r.namespaced {
		return ""
	}
	if namespace := request.NamespaceValue(ctx); namespace != "" {
		return namespace
	}
	if namespace, ok := predicate.MatchesSingleNamespace(); ok && len(validation.ValidateNamespaceName(namespace, false)) == 0 {
		return namespace
	}
	return ""
}

// checkNotTooNew refuses to read at a resource version that is yet to come.
func (r *REST) checkNotTooNew(resourceVersion string) error {
	revision, err := parseRevision(resourceVersion)
	if err != nil {
		return err
	}
	if current := r.catalogue.store.Revision(); revision > current {
		return storage.NewTooLargeResourceVersionError(revision, current, 1)
	}
	return nil
}

// parseRevision reads a resource version; an empty one is 0.
func parseRevision(resourceVersion string) (uint64, error) {
	if resourceVersion == "" {
		return 0, nil
	}
	revision, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, field.Invalid(field.NewPath("resourceVersion"), resourceVersion, err.Error())
	}
	return revision, nil
}
