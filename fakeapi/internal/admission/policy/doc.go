// Package policy evaluates the policies of the admission chain: ValidatingAdmissionPolicy and MutatingAdmissionPolicy
// with their bindings and params.
//
// Both kinds share one machinery. A policy is compiled when the first request matches it, and kept for as long as the
// stored object is the same. For a request, the policies whose matchConstraints match are combined with those of their
// bindings whose matchResources match too, and each of these with the params that the binding selects; what comes out is
// a list of invocations, in byte-wise order of the names of policy, binding and param. The validating stage evaluates
// them and enforces the binding's validationActions, the mutating one applies their mutations one after the other.
package policy
