package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// patience bounds how long one command may take.
const patience = time.Minute

// Player runs commands against an API server.
type Player struct {
	// Kubectl is the path of kubectl.
	Kubectl string
	// Config is how to reach the server.
	Config *rest.Config
	// Directory is where commands run.
	Directory string
}

// Play runs the commands of a session, one after the other, and returns the output of each in the form in which it is
// recorded. A command that fails is no error.
func (p Player) Play(ctx context.Context, session *Session) (_ [][]string, err error) {
	home, err := os.MkdirTemp("", "kubectl")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	kubeconfig := filepath.Join(home, "kubeconfig")
	if err := clientcmd.WriteToFile(kubeconfigOf(p.Config), kubeconfig); err != nil {
		return nil, err
	}
	var outputs [][]string
	for _, command := range session.Commands {
		output, err := p.run(ctx, command.Line, home, kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("line %d, %s: %w", command.Number, command.Line, err)
		}
		outputs = append(outputs, output)
	}
	return outputs, nil
}

func (p Player) run(ctx context.Context, line, home, kubeconfig string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-c", line)
	command.Dir = p.Directory
	command.Env = append(os.Environ(),
		"HOME="+home, "TMPDIR="+home, "KUBECONFIG="+kubeconfig, "LC_ALL=C", "TZ=UTC",
		"PATH="+filepath.Dir(p.Kubectl)+string(filepath.ListSeparator)+os.Getenv("PATH"),
	)
	// What a killed shell leaves running must not hold the output open.
	command.WaitDelay = time.Second
	output, err := command.CombinedOutput()
	lines := comparable(string(output), strings.TrimSuffix(p.Config.Host, "/"), home)
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w; it printed:\n%s", ctx.Err(), output)
	case errors.As(err, &failed):
		lines = append(lines, failed.String())
	case err != nil:
		return nil, err
	}
	return lines, nil
}

func kubeconfigOf(config *rest.Config) clientcmdapi.Config {
	const name = "server"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: strings.TrimSuffix(config.Host, "/"), CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{
		Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
	}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	return *kubeconfig
}

// differing is what differs from run to run, and what stands for it.
var differing = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( [+-]\d{4}|Z)?`), "TIME"},
	{regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`), "TIME"},
	{regexp.MustCompile(`((?:resourceVersion|continue)"?: ?)"[^"]*"`), `${1}"VERSION"`},
	{regexp.MustCompile(`(Resource Version: +)\d+`), "${1}VERSION"},
	{regexp.MustCompile(`/(LIVE|MERGED)-\d+/`), "/$1/"},
	{regexp.MustCompile(`/kubectl-edit-\d+`), "/kubectl-edit"},
	{regexp.MustCompile(`(^|[\s(])(\d+[smhd])+([\s)]|$)`), "${1}AGE$3"},
	{regexp.MustCompile(`  +`), "  "},
}

// comparable returns the lines of an output without what differs from run to run.
func comparable(output, host, home string) []string {
	output = strings.NewReplacer(host, "SERVER", home, "HOME").Replace(output)
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, " \t\n")
		indented := len(line) - len(strings.TrimLeft(line, " "))
		text := line[indented:]
		for _, d := range differing {
			text = d.pattern.ReplaceAllString(text, d.name)
		}
		lines = append(lines, line[:indented]+text)
	}
	return lines
}
