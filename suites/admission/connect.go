package admission

import (
	"errors"

	"github.com/gatehouse-dev/gatehouse/suites/hook"
	"github.com/gatehouse-dev/gatehouse/suites/runner"
	"github.com/gatehouse-dev/gatehouse/suites/target/remote"
)

// Connect prepares the target of another process for the cases of this one, whose webhook servers it runs. The caller
// calls disconnect in the end.
func Connect(handover remote.Handover) (server *runner.Server, disconnect func() error, err error) {
	t, err := remote.Connect(handover)
	if err != nil {
		return nil, nil, err
	}
	var hooks *hook.Pool
	disconnect = t.Stop
	if address := t.HookAddress(); address != "" {
		if hooks, err = hook.NewPool(address); err != nil {
			return nil, nil, errors.Join(err, disconnect())
		}
		disconnect = func() error { return errors.Join(hooks.Close(), t.Stop()) }
	}
	if server, err = runner.New(t, hooks); err != nil {
		return nil, nil, errors.Join(err, disconnect())
	}
	return server, disconnect, nil
}
