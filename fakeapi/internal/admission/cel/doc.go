// Package cel compiles and evaluates the CEL expressions of webhooks and policies: match conditions, variables,
// validations, messages, audit annotations and mutations.
//
// Expressions see the variables that the API documents (object, oldObject, request, authorizer,
// authorizer.requestResource, namespaceObject, params, variables) in the environment of Kubernetes: its libraries, its
// type rules and its cost model. What is compiled belongs to its owner, who keeps it with the stored object that it was
// compiled from; nothing here caches. No environment is built before the first expression is compiled.
package cel
