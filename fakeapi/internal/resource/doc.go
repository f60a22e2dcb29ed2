// Package resource is the catalogue of the kinds that fakeapi serves and their REST storage.
//
// A kind is a row of a table (rows_*.go): its names, scope, versions, subresources and a strategy, which holds what is
// special about it: defaults, what a client may not set, what is checked. Everything else is common: [REST] implements
// the interfaces of k8s.io/apiserver/pkg/registry/rest over the in-memory [store.Store], in the order in which the real
// API server does things, and the request scopes let the upstream handlers do negotiation, patches, server-side apply
// and admission. Objects are kept in one storage version a kind; a storage serves one version and converts.
package resource
