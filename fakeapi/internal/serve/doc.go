// Package serve is the HTTP side of fakeapi: TLS, authentication, the filters that every request passes, the way from a
// URL to the REST storage that answers it, discovery, and shutdown.
//
// A request passes, from the outside in: Audit-ID, recovery from panics, request info, deadline, warnings,
// authentication (401), audit, impersonation, authorization (403), and then the handler of its resource, which decodes,
// runs admission and stores. The filters and handlers are those of k8s.io/apiserver wherever these can be imported
// without etcd; what is here says why it is.
package serve
