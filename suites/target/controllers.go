package target

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// controllerManager is a kube-controller-manager that runs beside a kube-apiserver.
type controllerManager struct {
	process *os.Process
	exited  chan struct{} // closed when the process has ended
	err     error         // how it ended; read after exited
	log     *tail
}

// startControllerManager starts it and does not wait until the controllers work.
func startControllerManager(guard *guard, binary string, plane *envtest.ControlPlane) (*controllerManager, error) {
	path, err := guard.wrap(binary)
	if err != nil {
		return nil, err
	}
	user, err := plane.AddUser(envtest.User{Name: controllersUser, Groups: []string{"system:masters"}}, &rest.Config{})
	if err != nil {
		return nil, fmt.Errorf("make a user for the controller manager: %w", err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return nil, fmt.Errorf("make a kubeconfig for the controller manager: %w", err)
	}
	kubeconfigFile := filepath.Join(guard.dir, "kube-controller-manager.kubeconfig")
	if err := os.WriteFile(kubeconfigFile, kubeconfig, 0o600); err != nil {
		return nil, err
	}

	m := &controllerManager{exited: make(chan struct{}), log: &tail{}}
	cmd := exec.Command(path, controllerManagerFlags(kubeconfigFile, guard.dir)...)
	cmd.Stdout, cmd.Stderr = m.log, m.log
	cmd.SysProcAttr = ownGroup() // a Ctrl-C in the terminal is not for it
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the controller manager: %w", err)
	}
	m.process = cmd.Process
	go func() {
		defer close(m.exited)
		m.err = cmd.Wait()
	}()
	return m, nil
}

func (m *controllerManager) stop() error {
	select {
	case <-m.exited:
		return fmt.Errorf("the controller manager ended by itself: %w; the end of its log:\n%s", m.err, m.log)
	default:
	}
	if err := m.process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the controller manager: %w", err)
	}
	select {
	case <-m.exited:
		return nil
	case <-time.After(stopTimeout):
	}
	err := m.process.Kill()
	<-m.exited
	return errors.Join(fmt.Errorf("the controller manager did not stop within %v", stopTimeout), err)
}
