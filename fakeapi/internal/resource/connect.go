package resource

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/endpoints/request"
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
	refuse refusal
}

// refusal says why the client is not connected with the object of that name.
type refusal func(ctx context.Context, parent *REST, name string, options runtime.Object) error

var _ rest.Connecter = &connectREST{}

// New implements rest.Storage.
func (c *connectREST) New() runtime.Object { return c.options() }

// Destroy implements rest.Storage; there is nothing to release.
func (c *connectREST) Destroy() {}

// Connect implements rest.Connecter.
func (c *connectREST) Connect(ctx context.Context, name string, options runtime.Object, _ rest.Responder) (http.Handler, error) {
	return nil, c.refuse(ctx, c.parent, name, options)
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
		name: name, kindIn: named(kind), verbs: []string{"create", "get"},
		storage: func(parent *REST) rest.Storage {
			return &connectREST{parent: parent, options: options, methods: []string{"GET", "POST"}, refuse: refuseStream}
		},
	}
}

// proxied makes a subresource such as services/proxy.
func proxied(kind string, options func() runtime.Object, refuse refusal) subresource {
	return subresource{
		name: "proxy", kindIn: named(kind), verbs: []string{"create", "delete", "get", "patch", "update"},
		storage: func(parent *REST) rest.Storage {
			return &connectREST{
				parent: parent, options: options, subpath: true,
				methods: []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}, refuse: refuse,
			}
		},
	}
}

func refuseStream(ctx context.Context, pods *REST, name string, options runtime.Object) error {
	found, err := pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return err
	}
	pod := found.(*corev1.Pod)
	switch o := options.(type) {
	case *corev1.PodExecOptions:
		err = checkContainer(pod, o.Container)
	case *corev1.PodAttachOptions:
		err = checkContainer(pod, o.Container)
	}
	if err != nil {
		return err
	}
	if pod.Spec.NodeName == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", name))
	}
	return noKubelet(pods, pod.Spec.NodeName)
}

// checkContainer checks the name of a container of a pod, which may be left out where there is only one.
func checkContainer(pod *corev1.Pod, container string) error {
	var names []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		names = append(names, c.Name)
	}
	switch {
	case container == "" && len(pod.Spec.Containers) > 1:
		return apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s", pod.Name, names))
	case container != "" && !slices.Contains(names, container):
		return apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", container, pod.Name))
	}
	return nil
}

func refusePodProxy(ctx context.Context, pods *REST, id string, _ runtime.Object) error {
	_, name, _, valid := utilnet.SplitSchemeNamePort(id)
	if !valid {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", id))
	}
	found, err := pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return err
	}
	if ip := net.ParseIP(found.(*corev1.Pod).Status.PodIP); ip == nil || !ip.IsGlobalUnicast() {
		return apierrors.NewBadRequest("address not allowed")
	}
	return notImplemented(pods, name, "no pod runs behind fakeapi that could be connected to")
}

func refuseServiceProxy(ctx context.Context, services *REST, id string, _ runtime.Object) error {
	_, name, port, valid := utilnet.SplitSchemeNamePort(id)
	if !valid {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", id))
	}
	if number, err := strconv.ParseInt(port, 10, 32); err == nil {
		found, err := services.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(found.(*corev1.Service).Spec.Ports, func(p corev1.ServicePort) bool { return int64(p.Port) == number }) {
			return apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, name))
		}
	}
	for _, object := range services.catalogue.Stored(discoveryv1.Resource("endpointslices"), request.NamespaceValue(ctx)) {
		slice := object.(*discoveryv1.EndpointSlice)
		if slice.Labels[discoveryv1.LabelServiceName] == name && len(slice.Endpoints) > 0 {
			return notImplemented(services, name, "no pod runs behind fakeapi that could be connected to")
		}
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
}

func refuseNodeProxy(ctx context.Context, nodes *REST, id string, _ runtime.Object) error {
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
	return notImplemented(asked, node, fmt.Sprintf("no kubelet runs behind fakeapi that could be asked on node %q", node))
}

// notImplemented says that the client asked for what fakeapi has not: something that runs.
func notImplemented(asked *REST, name, why string) error {
	resource := asked.resource.GroupResource()
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: "NotImplemented", Message: why,
		Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: name},
	}}
}
