package target

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// settleUser is the name under which the suite settles; its requests are not audited.
const settleUser = "gatehouse-settle"

// auditPolicy is the audit policy of the API servers that the suite starts: everything about every request, but for the
// API server's own requests and those of settling, of which there are many and nobody asks. Of secrets, as is the custom,
// the content stays out: they show what events of level Metadata hold.
func auditPolicy() *auditv1.Policy {
	return &auditv1.Policy{
		TypeMeta:   metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"},
		OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
		Rules: []auditv1.PolicyRule{
			{Level: auditv1.LevelNone, Users: []string{user.APIServerUser, settleUser, controllersUser}},
			{Level: auditv1.LevelMetadata, Resources: []auditv1.GroupResources{{Resources: []string{"secrets"}}}},
			{Level: auditv1.LevelRequestResponse},
		},
	}
}

// pluginsOn are the admission plugins that stay on of those that are on by default: the ones under test, and of the rest
// LimitRanger and Priority, by which fixtures see that plugins in the tree run before webhooks and again after them.
// These two leave other fixtures alone: one acts only where a LimitRange is, the other fills a pod's priority. All others
// change or refuse objects (ServiceAccount needs a controller beside it, PodSecurity and ResourceQuota refuse), so that a
// fixture would show their behaviour instead of what it means to.
var pluginsOn = sets.New(
	"NamespaceLifecycle",
	"MutatingAdmissionPolicy", "MutatingAdmissionWebhook",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook",
	"LimitRanger", "Priority",
)

// apiServerFlags are the flags of the kube-apiserver that the suite starts, besides those by which envtest connects it:
// its ports and certificates, etcd, and --authorization-mode=RBAC. No other API version is switched on: the fixtures speak of a
// server as it is by default. auditPolicyFile holds auditPolicy().
func apiServerFlags(pluginsByDefault []string, auditPolicyFile string) map[string][]string {
	off := slices.DeleteFunc(slices.Clone(pluginsByDefault), pluginsOn.Has)
	return map[string][]string{
		"disable-admission-plugins": {strings.Join(off, ",")},
		// Audit events go to the standard output, one JSON object a line, each before the request ends.
		"audit-log-path":    {"-"},
		"audit-log-mode":    {"blocking"},
		"audit-policy-file": {auditPolicyFile},
		// The "kubernetes" service needs an address, whatever the host's network looks like; nobody connects to it.
		"advertise-address": {"127.0.0.1"},
		// A restart ends watches instead of waiting until their clients do.
		"shutdown-watch-termination-grace-period": {"1s"},
		// Nobody looks at these, and they cost.
		"endpoint-reconciler-type": {"none"},
		"profiling":                {"false"},
	}
}

// controllersUser is whom kube-controller-manager authenticates as.
const controllersUser = "system:kube-controller-manager"

// controllers are the controllers whose work fixtures look at. The rest stays off: it would write into the namespaces of
// fixtures (service accounts, certificates) and so call their webhooks.
var controllers = []string{
	"namespace-controller",
	"clusterrole-aggregation-controller",
	"validatingadmissionpolicy-status-controller",
}

// controllerManagerFlags are the flags of the kube-controller-manager that the suite starts beside the API server.
func controllerManagerFlags(kubeconfigFile, dir string) []string {
	return []string{
		"--kubeconfig=" + kubeconfigFile,
		"--controllers=" + strings.Join(controllers, ","),
		"--leader-elect=false",
		"--secure-port=0",
		"--cert-dir=" + filepath.Join(dir, "kube-controller-manager-certs"),
		"--concurrent-namespace-syncs=10",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	}
}

var pluginsHelp = regexp.MustCompile(`--disable-admission-plugins strings\s.*default enabled plugins list \(([^)]*)\)`)

// defaultPlugins asks a kube-apiserver which admission plugins are on by default, which depends on its version.
func defaultPlugins(ctx context.Context, binary string) ([]string, error) {
	help, err := exec.CommandContext(ctx, binary, "--help").Output()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its flags: %w", binary, err)
	}
	match := pluginsHelp.FindSubmatch(help)
	if match == nil {
		return nil, fmt.Errorf("%s --help does not tell which admission plugins are on by default", binary)
	}
	return strings.Split(string(match[1]), ", "), nil
}
