package v2

import (
	"fmt"
	"net"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/conversion"

	v1 "github.com/gatehouse-dev/gatehouse/fakeapi/internal/testproject/api/v1"
)

var _ conversion.Convertible = &Relay{}

// ConvertTo makes a v1 Relay of this one.
func (src *Relay) ConvertTo(hub conversion.Hub) error {
	dst := hub.(*v1.Relay)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = v1.RelaySpec{Target: src.Spec.Host, Replicas: src.Spec.Replicas}
	if src.Spec.Port != 0 {
		dst.Spec.Target = net.JoinHostPort(src.Spec.Host, strconv.Itoa(int(src.Spec.Port)))
	}
	dst.Status = v1.RelayStatus(src.Status)
	return nil
}

// ConvertFrom makes this Relay of a v1 one.
func (dst *Relay) ConvertFrom(hub conversion.Hub) error {
	src := hub.(*v1.Relay)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = RelaySpec{Host: src.Spec.Target, Replicas: src.Spec.Replicas}
	if host, port, err := net.SplitHostPort(src.Spec.Target); err == nil {
		number, err := strconv.ParseInt(port, 10, 32)
		if err != nil {
			return fmt.Errorf("spec.target %q: %w", src.Spec.Target, err)
		}
		dst.Spec.Host, dst.Spec.Port = host, int32(number)
	}
	dst.Status = RelayStatus(src.Status)
	return nil
}
