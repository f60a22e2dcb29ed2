// Package memconn has network connections within the process: a listener without a port, and connections that are two
// bounded buffers.
//
// net.Pipe is not enough for TLS and HTTP: it has no buffer, so that closing a connection waits for a peer that does not
// read. Nor is google.golang.org/grpc/test/bufconn: its errors are not those of the net package, by which clients tell a
// refused connection, and a server that is restarted on the same listener needs deadlines of Accept.
//
// Everything here blocks on conditions and timers alone, which lets it run in a bubble of testing/synctest.
package memconn
