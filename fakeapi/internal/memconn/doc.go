// Package memconn has network connections within the process: a listener without a port, and connections that are two
// bounded buffers.
//
// net.Pipe is not enough for TLS and HTTP: it has no buffer, so that closing a connection waits for a peer that does not
// read. Everything here blocks on conditions and timers alone, which lets it run in a bubble of testing/synctest.
package memconn
