//go:build !unix

package subject

import "os"

// terminateSignal ends a process; there is no way to ask it to.
var terminateSignal = os.Kill
