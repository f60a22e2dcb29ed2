// Package config reads gatehouse.yaml, the file that says which webhook is on trial: its manifests, how its server is
// reached or started, and what it must admit and refuse.
package config

//go:generate go run ../../../hack/generate/webhook-schema

// File is gatehouse.yaml. Paths in it are relative to its directory.
type File struct {
	// Manifests are files and directories of what the webhook is shipped with: its configurations,
	// CustomResourceDefinitions, Services, RBAC and whatever else; - is the standard input, such as the output of
	// kustomize build. Kinds that Gatehouse has no use for are set aside.
	Manifests []string `json:"manifests"`
	// URL is where the webhook's server runs, such as https://127.0.0.1:9443; the paths are those of the configurations. Its
	// certificate may be for the Service of a registration or for the host of the url. One of url and run must be given.
	URL string `json:"url,omitempty"`
	// CA is the file of the PEM certificates that vouch for the server at url, besides those of a webhook's caBundle; the
	// system's authorities do when both are absent.
	CA string `json:"ca,omitempty"`
	// Run says how Gatehouse starts the webhook's server.
	Run *Run `json:"run,omitempty"`
	// Samples are objects that must be admitted and objects that must be refused.
	Samples Samples `json:"samples,omitempty"`
	// Fixtures are directories of tables in the format of Gatehouse's fixtures, with or without a behaviors.yaml. Their
	// cases run on the API server while the webhook is registered there.
	Fixtures []string `json:"fixtures,omitempty"`
	// Skip are rules that need not hold, for a reason and for a time.
	Skip []Skip `json:"skip,omitempty"`
	// Target is the API server to use: fakeapi when absent, envtest or kubeconfig.
	Target Target `json:"target,omitempty"`

	// Path is where the file was read; Dir is its directory.
	Path string `json:"-"`
	Dir  string `json:"-"`
}

// Run says how Gatehouse starts the webhook's server. In command, env and dir, ${certDir} stands for the directory with
// tls.crt, tls.key and ca.crt, ${port} for the port to serve on, ${kubeconfig} for the kubeconfig file of the API server, in
// which the webhook is the service account that its manifests name, and ${configDir} for the directory of gatehouse.yaml.
type Run struct {
	// Command is the program and its arguments; no shell reads it.
	Command []string `json:"command"`
	// Env are variables of its environment, besides those of Gatehouse and KUBECONFIG.
	Env map[string]string `json:"env,omitempty"`
	// Dir is its working directory, which it should leave as it is; an empty one when absent.
	Dir string `json:"dir,omitempty"`
	// Port is the port to serve on; a free one when absent.
	Port int `json:"port,omitempty"`
	// CertDir is where the webhook looks for its certificate, when that cannot be told to it; a new directory when absent.
	CertDir string `json:"certDir,omitempty"`
	// Ready says when the server is ready; when it accepts connections, when absent.
	Ready Ready `json:"ready,omitempty"`
}

// Ready says when a server is ready.
type Ready struct {
	// Path is asked by HTTPS until the answer is 200; absent, the port must accept connections.
	Path string `json:"path,omitempty"`
	// Port is the port to ask, when it is another than the webhook's; http is spoken there.
	Port int `json:"port,omitempty"`
	// Timeout is how long to wait, as 30s, which it is when absent.
	Timeout string `json:"timeout,omitempty"`
}

// Samples are objects to try the webhook with. Each entry of the lists is a file or a directory.
type Samples struct {
	// Setup are objects that must be there first, such as namespaces with labels; other namespaces of samples are made.
	Setup []string `json:"setup,omitempty"`
	// Admitted are objects that must be admitted.
	Admitted []string `json:"admitted,omitempty"`
	// Refused are objects that the webhook must refuse.
	Refused []Refused `json:"refused,omitempty"`
}

// Refused are objects that the webhook must refuse.
type Refused struct {
	// File is a file or a directory of objects.
	File string `json:"file"`
	// Message is a regular expression that the message must match somewhere; any message does when absent.
	Message string `json:"message,omitempty"`
}

// Skip excuses a rule.
type Skip struct {
	// Rule is the id of the rule, such as contract.mutating.idempotent.
	Rule string `json:"rule"`
	// Reason says why the webhook need not keep it.
	Reason string `json:"reason"`
	// Expires is the last day (UTC) on which the entry counts, as 2006-01-02.
	Expires string `json:"expires"`
}

// Target is the name of an API server to use.
type Target string

// Values returns the closed list of targets.
func (Target) Values() []string { return []string{"fakeapi", "envtest", "kubeconfig"} }
