package hook

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// address is where servers are reached, and where they listen.
type address struct {
	host        string // as API servers call it
	listen      string // the host to listen on
	first, last int    // ports; 0 for any
}

// parseAddress reads HOST, HOST:PORT or HOST:FIRST-LAST. An IPv6 address before a port stands in brackets.
func parseAddress(text string) (address, error) {
	wrong := func(why string) (address, error) {
		return address{}, fmt.Errorf("address of webhook servers %q: %s; want HOST, HOST:PORT or HOST:FIRST-LAST", text, why)
	}
	a := address{host: strings.Trim(text, "[]")}
	if _, err := netip.ParseAddr(a.host); err != nil && strings.Contains(text, ":") {
		var ports string
		if a.host, ports, err = net.SplitHostPort(text); err != nil {
			return wrong(err.Error())
		}
		first, last, isRange := strings.Cut(ports, "-")
		if !isRange {
			last = first
		}
		if a.first, err = strconv.Atoi(first); err != nil || a.first < 1 || a.first > 65535 {
			return wrong(fmt.Sprintf("%q is no port", first))
		}
		if a.last, err = strconv.Atoi(last); err != nil || a.last < a.first || a.last > 65535 {
			return wrong(fmt.Sprintf("%q is no port from %d up", last, a.first))
		}
	}
	if a.host == "" {
		return wrong("the host is missing")
	}
	a.listen = "" // every interface: how API servers come here is not known
	if ip, err := netip.ParseAddr(a.host); err == nil && ip.IsLoopback() {
		a.listen = a.host
	} else if a.host == "localhost" {
		a.listen = "127.0.0.1"
	}
	return a, nil
}

// open tries open on each port of the address until one is free.
func (a address) open(open func(hostPort string) error) error {
	var errs []error
	for port := a.first; port <= a.last; port++ {
		err := open(net.JoinHostPort(a.listen, strconv.Itoa(port)))
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("no free port for a webhook server: %w", errors.Join(errs...))
}
