// Package openapi has the OpenAPI documents that the server answers with: those of the built-in kinds as they were recorded
// from a kube-apiserver, and those of custom resources, made of their definitions as a kube-apiserver makes them. Documents
// are unpacked, made and encoded when they are first asked for.
package openapi
