package subject

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/config"
)

// Start says how a command becomes a webhook's server.
type Start struct {
	// Run is the command, with placeholders.
	Run config.Run
	// ConfigDir is the directory of gatehouse.yaml: relative programs and directories start there.
	ConfigDir string
	// Kubeconfig is the content of the kubeconfig file.
	Kubeconfig []byte
	// Authority signs the certificate, for Names.
	Authority *Authority
	Names     []string
}

// endWait is how long a process may take to end after SIGTERM before it is killed.
const endWait = 5 * time.Second

// Launch starts the command and waits until it is ready. Its error holds the end of the log.
func Launch(ctx context.Context, start Start) (_ *Subject, err error) {
	base, remove, err := tempDir()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	p := &process{start: start, base: base, written: &tail{}, done: make(chan struct{})}
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	if err := p.launch(); err != nil {
		return nil, err
	}
	if err := p.ready(ctx); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &Subject{
		Address: p.address, Roots: start.Authority.Pool(), Dir: p.dir,
		memory: p.memory, terminate: p.terminate, log: p.written.String, ended: p.ended,
		rotate: func() error { return start.Authority.WriteDir(p.certDir, start.Names...) },
		stop: sync.OnceValue(func() error {
			return errors.Join(p.stop(), remove())
		}),
	}, nil
}

// process is a command on its way.
type process struct {
	start   Start
	base    string
	certDir string
	dir     string
	address string
	values  map[string]string
	command *exec.Cmd
	written *tail
	done    chan struct{} // closed when the process has ended
	result  error         // why it ended; read after done
}

// prepare makes the files that the command is told of.
func (p *process) prepare(ctx context.Context) error {
	run := p.start.Run
	port := run.Port
	for _, taken := range []struct {
		field string
		port  int
	}{{"port", run.Port}, {"ready.port", run.Ready.Port}} {
		if taken.port != 0 && listening(ctx, taken.port) {
			return fmt.Errorf("%s: another program listens on port %d already: end it, or take another port", taken.field, taken.port)
		}
	}
	if port == 0 {
		var err error
		if port, err = FreePort(ctx); err != nil {
			return err
		}
	}
	p.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	p.certDir = filepath.Join(p.base, "certs")
	if run.CertDir != "" {
		p.certDir = p.resolve(run.CertDir)
	}
	kubeconfig := filepath.Join(p.base, "kubeconfig")
	if err := os.WriteFile(kubeconfig, p.start.Kubeconfig, 0o600); err != nil {
		return err
	}
	if err := p.start.Authority.WriteDir(p.certDir, p.start.Names...); err != nil {
		return err
	}
	configDir, err := filepath.Abs(p.start.ConfigDir)
	if err != nil {
		return err
	}
	p.values = map[string]string{"certDir": p.certDir, "port": strconv.Itoa(port), "kubeconfig": kubeconfig, "configDir": configDir}
	p.dir = filepath.Join(p.base, "work")
	if run.Dir != "" {
		p.dir = p.resolve(config.Expand(run.Dir, p.values))
	}
	return os.MkdirAll(p.dir, 0o755)
}

// listening tells that somebody listens on a port of loopback.
func listening(ctx context.Context, port int) bool {
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

func (p *process) resolve(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.start.ConfigDir, path)
	}
	return path
}

func (p *process) launch() error {
	run := p.start.Run
	var args []string
	for _, arg := range run.Command {
		args = append(args, config.Expand(arg, p.values))
	}
	program := args[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		absolute, err := filepath.Abs(p.resolve(program))
		if err != nil {
			return err
		}
		program = absolute
	}
	p.command = exec.Command(program, args[1:]...)
	p.command.Dir = p.dir
	p.command.Env = append(os.Environ(), "KUBECONFIG="+p.values["kubeconfig"])
	for name, value := range run.Env {
		p.command.Env = append(p.command.Env, name+"="+config.Expand(value, p.values))
	}
	p.command.Stdout, p.command.Stderr = p.written, p.written
	p.command.WaitDelay = time.Second // for children that keep the log open
	if err := p.command.Start(); err != nil {
		return fmt.Errorf("command: %w; relative programs are looked for from the directory of the file, names without a slash in $PATH", err)
	}
	go func() { // it ends with the process, which stop sees to
		p.result = p.command.Wait()
		close(p.done)
	}()
	return nil
}

// ready waits until the server is as config.Ready says.
func (p *process) ready(ctx context.Context) error {
	timeout := p.start.Run.ReadyTimeout()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last error
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if last = p.ask(ctx); last == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("the webhook ended before it was ready (%w); its log ends with:\n%s", p.ended(), p.written)
		case <-ctx.Done():
			return fmt.Errorf("the webhook is not ready after %s: %w; its log ends with:\n%s", timeout, last, p.written)
		case <-time.After(pause):
		}
	}
}

// ask asks once whether the server is ready.
func (p *process) ask(ctx context.Context) error {
	ready := p.start.Run.Ready
	if ready.Path == "" && ready.Port == 0 {
		connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", p.address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
	url := "https://" + p.address + ready.Path
	if ready.Port != 0 {
		url = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(ready.Port)) + ready.Path
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} // a rule of its own looks at the certificate
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: time.Second}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, answer.Status)
	}
	return nil
}

// ended is why the process is no longer there; nil while it runs.
func (p *process) ended() error {
	select {
	case <-p.done:
		if p.result == nil {
			return errors.New("exit status 0")
		}
		return p.result
	default:
		return nil
	}
}

func (p *process) terminate() error { return p.command.Process.Signal(terminateSignal) }

// stop ends the process: it is asked to, and killed when it does not.
func (p *process) stop() error {
	if p.ended() != nil {
		return nil
	}
	_ = p.terminate()
	select {
	case <-p.done:
		return nil
	case <-time.After(endWait):
	}
	err := p.command.Process.Kill()
	<-p.done
	return err
}

// memory reads the resident memory of the process where the system has /proc.
func (p *process) memory() (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the webhook's memory: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kilobytes * 1024, err
		}
	}
	return 0, errors.New("read the webhook's memory: /proc tells no VmRSS")
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

// tailSize is how much of a log is kept.
const tailSize = 16 << 10

// Write keeps p; it does not fail.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if extra := len(t.data) - tailSize; extra > 0 {
		t.data = append(t.data[:0], t.data[extra:]...)
	}
	return len(p), nil
}

// String returns what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
