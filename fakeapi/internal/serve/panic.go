package serve

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/klog/v2"
)

// logPanic writes what a handler panicked with, and where, to the logger of the request.
func logPanic(req *http.Request, reason any) {
	klog.FromContext(req.Context()).Error(fmt.Errorf("panic: %v", reason), "apiserver panicked",
		"method", req.Method, "URI", req.RequestURI, "auditID", audit.GetAuditIDTruncated(req.Context()), "stack", string(debug.Stack()))
}
