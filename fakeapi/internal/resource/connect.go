package resource

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// connectREST is the storage of a subresource that connects the client with a pod, service or node. Nothing runs behind
// fakeapi, so that what comes after admission is an error.
type connectREST struct {
	parent  *REST
	options func() runtime.Object
	// subpath is whether what follows the subresource in the path goes into the options.
	subpath bool
	methods []string
	// refuse says why there is no connection.
	refuse func(ctx context.Context, parent *REST, name string) error
}

var _ rest.Connecter = &connectREST{}

// New implements rest.Storage.
func (c *connectREST) New() runtime.Object { return c.options() }

// Destroy implements rest.Storage; there is nothing to release.
func (c *connectREST) Destroy() {}

// Connect implements rest.Connecter.
func (c *connectREST) Connect(ctx context.Context, name string, _ runtime.Object, _ rest.Responder) (http.Handler, error) {
	return nil, c.refuse(ctx, c.parent, name)
}

// NewConnectOptions implements rest.Connecter.
func (c *connectREST) NewConnectOptions() (runtime.Object, bool, string) {
	return c.options(), c.subpath, "path"
}

// ConnectMethods implements rest.Connecter.
func (c *connectREST) ConnectMethods() []string { return c.methods }

// stream makes a subresource such as pods/exec.
func stream(name, kind string, options func() runtime.Object) subresource {
	return subresource{
		name: name, kindName: kind, verbs: []string{"create", "get"},
		storage: func(parent *REST) rest.Storage {
			return &connectREST{parent: parent, options: options, methods: []string{"GET", "POST"}, refuse: refuseStream}
		},
	}
}

// proxied makes a subresource such as services/proxy.
func proxied(kind string, options func() runtime.Object, refuse func(ctx context.Context, parent *REST, name string) error) subresource {
	return subresource{
		name: "proxy", kindName: kind, verbs: []string{"create", "delete", "get", "patch", "update"},
		storage: func(parent *REST) rest.Storage {
			return &connectREST{
				parent: parent, options: options, subpath: true,
				methods: []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}, refuse: refuse,
			}
		},
	}
}

func refuseStream(ctx context.Context, pods *REST, name string) error {
	found, err := pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node := found.(*corev1.Pod).Spec.NodeName; node != "" {
		return noKubelet(pods, node)
	}
	return apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", name))
}

func refusePodProxy(ctx context.Context, pods *REST, id string) error {
	_, name, _, valid := utilnet.SplitSchemeNamePort(id)
	if !valid {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", id))
	}
	if _, err := pods.Get(ctx, name, &metav1.GetOptions{}); err != nil {
		return err
	}
	return apierrors.NewBadRequest("address not allowed")
}

func refuseServiceProxy(_ context.Context, _ *REST, id string) error {
	_, name, _, valid := utilnet.SplitSchemeNamePort(id)
	if !valid {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", id))
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
}

func refuseNodeProxy(ctx context.Context, nodes *REST, id string) error {
	_, name, _, valid := utilnet.SplitSchemeNamePort(id)
	if !valid {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", id))
	}
	if _, err := nodes.Get(ctx, name, &metav1.GetOptions{}); err != nil {
		return err
	}
	return noKubelet(nodes, name)
}

// noKubelet says why a node cannot be asked. That there is no such node is said of the resource that was asked for, as
// the real API server has it.
func noKubelet(asked *REST, node string) error {
	if _, err := asked.catalogue.store.Get(store.Key{Resource: corev1.Resource("nodes"), Name: node}); err != nil {
		return apierrors.NewNotFound(asked.resource.GroupResource(), node)
	}
	return apierrors.NewInternalError(fmt.Errorf("no kubelet answers for node %q: fakeapi runs none", node))
}

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
func (l *logREST) Get(ctx context.Context, name string, _ runtime.Object) (runtime.Object, error) {
	found, err := l.pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if node := found.(*corev1.Pod).Spec.NodeName; node != "" {
		return nil, noKubelet(l.pods, node)
	}
	return emptyStream{}, nil
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

// addQueryConversions lets options be read from a URL's query.
func addQueryConversions(scheme *runtime.Scheme) error {
	for _, options := range []runtime.Object{
		&corev1.PodAttachOptions{}, &corev1.PodExecOptions{}, &corev1.PodLogOptions{}, &corev1.PodPortForwardOptions{},
		&corev1.PodProxyOptions{}, &corev1.ServiceProxyOptions{}, &corev1.NodeProxyOptions{},
	} {
		if err := scheme.AddConversionFunc((*url.Values)(nil), options, fromQuery); err != nil {
			return err
		}
	}
	return nil
}

// fromQuery fills in a struct from the query parameters that its JSON names name.
func fromQuery(from, to any, _ conversion.Scope) error {
	query := *from.(*url.Values)
	target := reflect.ValueOf(to).Elem()
	for i := range target.NumField() {
		name, _, _ := strings.Cut(target.Type().Field(i).Tag.Get("json"), ",")
		values := query[name]
		if name == "" || len(values) == 0 {
			continue
		}
		if err := setFromQuery(target.Field(i), values); err != nil {
			return fmt.Errorf("query parameter %s: %w", name, err)
		}
	}
	return nil
}

func setFromQuery(field reflect.Value, values []string) error {
	switch field.Interface().(type) {
	case []string:
		field.Set(reflect.ValueOf(values))
		return nil
	case []int32:
		var numbers []int32
		for _, value := range values {
			number, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return err
			}
			numbers = append(numbers, int32(number))
		}
		field.Set(reflect.ValueOf(numbers))
		return nil
	case *metav1.Time:
		var at metav1.Time
		if err := at.UnmarshalQueryParameter(values[0]); err != nil {
			return err
		}
		field.Set(reflect.ValueOf(&at))
		return nil
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(values[0])
	case reflect.Bool:
		var b bool
		if err := runtime.Convert_Slice_string_To_bool(&values, &b, nil); err != nil {
			return err
		}
		field.SetBool(b)
	case reflect.Int64:
		number, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil {
			return err
		}
		field.SetInt(number)
	}
	return nil
}
