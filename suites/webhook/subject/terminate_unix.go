//go:build unix

package subject

import "syscall"

// terminateSignal asks a process to end, as the kubelet does.
const terminateSignal = syscall.SIGTERM
