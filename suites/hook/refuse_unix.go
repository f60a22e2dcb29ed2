//go:build unix

package hook

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// reserve takes a TCP port without listening on it: connections are refused, and nobody else gets it.
func reserve(hostPort string) (*listener, error) {
	addr, err := net.ResolveTCPAddr("tcp", hostPort)
	if err != nil {
		return nil, err
	}
	family, sockaddr := syscall.AF_INET, syscall.Sockaddr(&syscall.SockaddrInet4{Port: addr.Port})
	switch ip4 := addr.IP.To4(); {
	case ip4 != nil:
		sockaddr = &syscall.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip4)}
	case addr.IP != nil:
		family, sockaddr = syscall.AF_INET6, &syscall.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP)}
	}
	syscall.ForkLock.RLock()
	socket, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	bound, err := func() (syscall.Sockaddr, error) {
		if err := syscall.Bind(socket, sockaddr); err != nil {
			return nil, fmt.Errorf("bind %s: %w", hostPort, err)
		}
		return syscall.Getsockname(socket)
	}()
	if err != nil {
		_ = syscall.Close(socket)
		return nil, err
	}
	l := &listener{close: func() error { return syscall.Close(socket) }}
	switch a := bound.(type) {
	case *syscall.SockaddrInet4:
		l.port = a.Port
	case *syscall.SockaddrInet6:
		l.port = a.Port
	}
	return l, nil
}
