package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gatehouse-dev/gatehouse/suites/target/assets"
)

// subject is an API server in processes of its own.
type subject struct {
	config *rest.Config
	// programs are the names of its processes.
	programs []string
	stop     func() error
}

// subjects are how to start each kind of server.
var subjects = []struct {
	name  string
	start func(ctx context.Context) (*subject, error)
}{
	{"gatehouse", startGatehouse},
	{"kube-apiserver", startEnvtest},
}

// startGatehouse runs gatehouse serve.
func startGatehouse(ctx context.Context) (*subject, error) {
	binary, err := gatehouseBinary()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, binary, "serve")
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	stop := func() error {
		err := command.Process.Signal(os.Interrupt)
		if errors.Is(err, os.ErrProcessDone) {
			err = nil
		}
		return errors.Join(err, command.Wait())
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		path, found := strings.CutPrefix(lines.Text(), "export KUBECONFIG=")
		if !found {
			continue
		}
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		config.QPS = -1
		return &subject{config: config, programs: []string{"gatehouse"}, stop: stop}, nil
	}
	return nil, errors.Join(errors.New("gatehouse serve ended without saying where it is"), lines.Err(), stop())
}

// gatehouseBinary builds the program, once; the build lies in the directory that GATEHOUSE_BENCH_DIR, set by TestMain, names.
var gatehouseBinary = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(os.Getenv(benchDirectory), "gatehouse")
	if output, err := exec.Command("go", "build", "-o", binary, "../../cmd/gatehouse").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building gatehouse: %w\n%s", err, output)
	}
	return binary, nil
})

// benchDirectory is the environment variable that names a directory for the run.
const benchDirectory = "GATEHOUSE_BENCH_DIR"

// startEnvtest runs etcd and kube-apiserver as controller-runtime's envtest does for its users.
func startEnvtest(context.Context) (*subject, error) {
	directory, err := assets.Directory()
	if err != nil {
		return nil, err
	}
	ctrl.SetLogger(logr.Discard()) // else it complains that nobody did
	environment := &envtest.Environment{BinaryAssetsDirectory: directory}
	config, err := environment.Start()
	if err != nil {
		return nil, errors.Join(err, environment.Stop())
	}
	config.QPS = -1
	return &subject{config: config, programs: []string{"kube-apiserver", "etcd"}, stop: environment.Stop}, nil
}

// run starts a subject for a benchmark; where that cannot be, the benchmark is skipped.
func run(b *testing.B, start func(context.Context) (*subject, error)) (*subject, *kubernetes.Clientset) {
	b.Helper()
	s, err := start(context.WithoutCancel(b.Context()))
	if err != nil {
		b.Skipf("no server to measure: %v", err)
	}
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		b.Fatal(errors.Join(err, s.stop()))
	}
	return s, client
}

// firstCreate creates a config map as soon as the server lets it.
func firstCreate(ctx context.Context, client kubernetes.Interface) error {
	var err error
	for range 10_000 {
		_, err = client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "first"}}, metav1.CreateOptions{})
		if err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return err
}

// usage is what the processes of a subject use.
type usage struct {
	resident int64 // bytes
	cpu      time.Duration
}

// clockTick is the unit of the times in /proc/PID/stat on all platforms that Go has Linux on.
const clockTick = 10 * time.Millisecond

// usage reads what the processes of the subject that this process started use.
func (s *subject) usage() (usage, error) {
	if runtime.GOOS != "linux" {
		return usage{}, errors.New("what a process uses is read from /proc")
	}
	processes, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return usage{}, err
	}
	var used usage
	found := 0
	for _, file := range processes {
		status, err := readStatus(file)
		if err != nil || status["PPid"] != strconv.Itoa(os.Getpid()) {
			continue // gone, or not ours
		}
		for _, program := range s.programs {
			// The kernel cuts names after 15 bytes.
			if status["Name"] != program[:min(len(program), 15)] {
				continue
			}
			found++
			resident, err := residentOf(status)
			if err != nil {
				return usage{}, fmt.Errorf("%s: %w", file, err)
			}
			cpu, err := cpuOf(filepath.Dir(file))
			if err != nil {
				return usage{}, err
			}
			used.resident, used.cpu = used.resident+resident, used.cpu+cpu
		}
	}
	if found != len(s.programs) {
		return usage{}, fmt.Errorf("found %d of the processes %v", found, s.programs)
	}
	return used, nil
}

// residentOf is the resident memory in bytes that a process's status tells.
func residentOf(status map[string]string) (int64, error) {
	kilobytes, err := strconv.ParseInt(strings.TrimSuffix(status["VmRSS"], " kB"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("VmRSS: %w", err)
	}
	return kilobytes << 10, nil
}

// cpuOf is the time that a process has had, in user and kernel mode.
func cpuOf(directory string) (time.Duration, error) {
	content, err := os.ReadFile(filepath.Join(directory, "stat"))
	if err != nil {
		return 0, err
	}
	// The program's name, in parentheses, is the second field, and may hold anything.
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s/stat: %d fields", directory, len(fields))
	}
	var ticks time.Duration
	for _, field := range fields[11:13] { // utime and stime
		value, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s/stat: %w", directory, err)
		}
		ticks += time.Duration(value)
	}
	return ticks * clockTick, nil
}

// readStatus reads the fields of a file such as /proc/1/status.
func readStatus(path string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields, nil
}
