package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	tests := map[string]struct {
		args   []string
		status int
		stdout string
		stderr string
	}{
		"nothing":         {nil, 0, "Available Commands:", ""},
		"help":            {[]string{"serve", "--help"}, 0, "--kubeconfig-out FILE", ""},
		"unknown command": {[]string{"serf"}, exitUsage, "", `gatehouse: unknown command "serf" for "gatehouse"`},
		"no subcommand":   {[]string{"policy"}, 0, "gatehouse policy test runs tables", ""},
		"another one":     {[]string{"policy", "tst"}, exitUsage, "", `gatehouse: there is no command "gatehouse policy tst"; did you mean "test"?`},
		"no such shell":   {[]string{"completion", "bsh"}, exitUsage, "", `there is no command "gatehouse completion bsh"; did you mean "bash"?`},
		"completion":      {[]string{"completion", "bash"}, 0, "bash completion V2 for gatehouse", ""},
		"no such report":  {[]string{"report", "dif", "a", "b"}, exitUsage, "", `open dif: no such file or directory; did you mean "diff"?`},
		"unknown flag":    {[]string{"--nope"}, exitUsage, "", "gatehouse: unknown flag: --nope"},
		"flag of another": {[]string{"policy", "test", "--load", "x"}, exitUsage, "", "Run 'gatehouse policy test --help' for usage."},
		"no trial's file": {[]string{"webhook", "--config", "none.yaml"}, exitUsage, "", "none.yaml: no such file or directory; it says what is on trial"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), test.args, &stdout, &stderr); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if !strings.Contains(stdout.String(), test.stdout) || !strings.Contains(stderr.String(), test.stderr) {
				t.Errorf("it says %q and %q; want %q and %q", stdout.String(), stderr.String(), test.stdout, test.stderr)
			}
		})
	}
}
