package fakeapi

import (
	"io"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/clock"
)

// Options configure a server. The zero value is a server on a free port of loopback with nothing in it but what every
// API server starts with.
type Options struct {
	// Address is where to listen, as host:port; port 0 takes a free one. It is 127.0.0.1:0 when empty.
	Address string
	// InMemory makes a server without a port: only clients in this process that are made from RESTConfig or UserConfig
	// reach it, by connections in memory, with TLS as always. Address must be empty then. Such a server can live in a
	// bubble of testing/synctest, with its clients.
	InMemory bool

	// Objects are created through the API, in order, before Start returns. The kinds of a CustomResourceDefinition are
	// served when it is created: objects of them may follow.
	Objects []runtime.Object
	// Load names YAML or JSON files, or directories of them, whose objects are created through the API, in order, before
	// Start returns: files in the order given, the files of a directory and those below it in order of their paths, the
	// documents of a file from top to bottom. An object that the server starts with, such as the namespace default, is
	// replaced.
	Load []string

	// Users may authenticate by their tokens, besides the administrator of RESTConfig.
	Users []User
	// Authorizer decides what users may do, in the place of the stored roles and bindings: of requests, in access reviews and
	// in expressions of policies. It is asked about the administrator too. One that lets everybody do everything is
	// authorizerfactory.NewAlwaysAllowAuthorizer of k8s.io/apiserver; union.New puts several in a row. Where it is also an
	// authorizer.RuleResolver, it answers SelfSubjectRulesReviews. Whoever it lets write roles and bindings can still grant by
	// them only what the stored ones give, as with any authorizer of a kube-apiserver, unless it allows the verbs escalate
	// and bind too; the administrator grants freely.
	Authorizer authorizer.Authorizer

	// ServiceAddresses says where the services are that webhooks, of admission and of conversion, name in
	// clientConfig.service: from "namespace/name:port", or "namespace/name" for all its ports, to "host:port". For a
	// service without an entry the stored Service is asked, whose cluster IP leads nowhere; an external name does.
	ServiceAddresses map[string]string

	// AdmissionPlugins are the names of the built-in admission plugins that are on, of LimitRanger, Priority and
	// ServiceAccount. LimitRanger and Priority are when it is nil: they leave a pod alone that has nothing to do with
	// them. NamespaceLifecycle and the plugins for webhooks and policies always are.
	AdmissionPlugins []string
	// Faults stand in the way of requests and of calls of webhooks.
	Faults Faults

	// AuditPolicy says which requests have audit events, and of what level. When nil, all requests have them, at level
	// Request.
	AuditPolicy *auditv1.Policy
	// AuditLog receives the audit events as lines of JSON.
	AuditLog io.Writer
	// Explain receives, in plain words, what admission decided on each request, and why.
	Explain io.Writer
	// TraceExpressions makes Decisions tell what the parts of each expression of a policy came to, and not only of those
	// that failed. It costs evaluating them twice. Explain has it too.
	TraceExpressions bool
	// History is for how many of the latest requests Decisions and AuditEvents answer; 4096 when 0.
	History int

	// EnabledVersions are group versions to serve besides those that a kube-apiserver serves by default, such as
	// admissionregistration.k8s.io/v1beta1.
	EnabledVersions []schema.GroupVersion
	// V1beta1Configurations serves webhook configurations in admissionregistration.k8s.io/v1beta1 besides v1, with the
	// defaults and rules of that version, as a kube-apiserver up to v1.21 did.
	V1beta1Configurations bool
	// LegacyWorkloads serves Deployments, ReplicaSets, DaemonSets, StatefulSets and ControllerRevisions in apps/v1beta2,
	// apps/v1beta1 and extensions/v1beta1 besides apps/v1, those of them that each version had and with its defaults, as a
	// kube-apiserver up to v1.15 did. What else was in extensions/v1beta1 is not served.
	LegacyWorkloads bool
	// RawStore lets StoreRaw write objects that the API would refuse.
	RawStore bool

	// Clock stamps objects and audit events; the wall clock when nil.
	Clock clock.Clock
	// FirstResourceVersion is the resource version of the first object that is written, one that every server starts
	// with; each later write has the next. It is 2 when 0. What came before it is too old to watch or list from.
	FirstResourceVersion uint64
	// UIDs makes metadata.uid of objects and request.uid of the reviews that webhooks get; random UUIDs when nil.
	UIDs func() types.UID
	// Logger hears what goes wrong inside the server; nobody does when it is the zero Logger. The libraries of Kubernetes
	// that the server is made of write a few messages to klog instead, which follows the settings of the process.
	Logger logr.Logger
}

// User is who a bearer token stands for. Group system:authenticated is added.
type User struct {
	// Token is what the user sends as "Authorization: Bearer TOKEN".
	Token string
	// Name, UID, Groups and Extra are as in userInfo of an AdmissionReview.
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// defaultHistory is what Options.History means when 0.
const defaultHistory = 4096
