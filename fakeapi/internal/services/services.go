// Package services finds where the services are that webhooks name in clientConfig.service, those of admission and those
// of conversion alike.
package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/util/webhook"
)

// Resolver tells where services are at the moment. It may be used by many requests at once.
type Resolver struct {
	// Addresses say where to connect to, before services are looked up: from "namespace/name:port" or "namespace/name"
	// to "host:port".
	Addresses map[string]string
	// Lookup returns a stored service, or an apierrors.IsNotFound error. Where it is nil there are no services.
	Lookup func(ctx context.Context, namespace, name string) (*corev1.Service, error)
}

var _ webhook.ServiceResolver = Resolver{}

// ResolveEndpoint implements webhook.ServiceResolver.
func (r Resolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	address, err := r.Resolve(context.Background(), namespace, name, port)
	if err != nil {
		return nil, err
	}
	return &url.URL{Scheme: "https", Host: address}, nil
}

// Resolve returns host and port to connect to for a port of a service: what the server's user said, else the service's
// cluster IP, or its external name.
func (r Resolver) Resolve(ctx context.Context, namespace, name string, port int32) (string, error) {
	portText := strconv.Itoa(int(port))
	for _, key := range []string{namespace + "/" + name + ":" + portText, namespace + "/" + name} {
		if address, ok := r.Addresses[key]; ok {
			return address, nil
		}
	}
	notFound := apierrors.NewNotFound(corev1.Resource("service"), name)
	if r.Lookup == nil {
		return "", notFound
	}
	service, err := r.Lookup(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return "", notFound
	}
	if err != nil {
		return "", err
	}
	switch service.Spec.Type {
	case corev1.ServiceTypeExternalName:
		return net.JoinHostPort(service.Spec.ExternalName, portText), nil
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
	default:
		return "", fmt.Errorf("unsupported service type %q", service.Spec.Type)
	}
	if service.Spec.Type == corev1.ServiceTypeClusterIP && service.Spec.ClusterIP == corev1.ClusterIPNone {
		return "", errors.New(`cannot route to service with ClusterIP "None"`)
	}
	for _, served := range service.Spec.Ports {
		if served.Port == port {
			return net.JoinHostPort(service.Spec.ClusterIP, portText), nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, service.Name))
}
