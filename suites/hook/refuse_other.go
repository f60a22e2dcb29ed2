//go:build !unix

package hook

import "net"

// reserve finds a TCP port on which nobody listens; it is not kept from others.
func reserve(hostPort string) (*listener, error) {
	l, err := net.Listen("tcp", hostPort)
	if err != nil {
		return nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return &listener{port: port, close: func() error { return nil }}, l.Close()
}
