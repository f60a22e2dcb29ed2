package runner

import (
	"fmt"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/fixtures/expr"
	"github.com/gatehouse-dev/gatehouse/reports"
)

// checkConversions looks among the calls of conversion webhooks for each that is expected. Of one that is not there, the
// differences from the call that comes nearest are reported.
func checkConversions(expected []fixtures.Conversion, calls []call) ([]reports.Failure, error) {
	var failures []reports.Failure
	for i, want := range expected {
		path := fmt.Sprintf("expect.conversions[%d]", i)
		nearest := []reports.Failure{{Path: path, Message: fmt.Sprintf("the conversion webhook %s was not called", want.Hook), Expected: toYAML(want)}}
		called := false
		for _, got := range calls {
			if got.hook != want.Hook {
				continue
			}
			differences, err := checkConversion(path, want, got)
			if err != nil {
				return nil, err
			}
			if !called || len(differences) < len(nearest) {
				called, nearest = true, differences
			}
		}
		failures = append(failures, nearest...)
	}
	return failures, nil
}

func checkConversion(path string, want fixtures.Conversion, got call) ([]reports.Failure, error) {
	var found findings
	if want.Request != nil {
		expected, err := normalize(want.Request)
		found.add(subset(path+".request", expected, anyMap(got.request())), err)
	}
	found.add(checkAsserts(path+".assert", expr.ConversionCall, want.Assert, map[string]any{
		"review": got.review, "request": anyMap(got.request()), "objects": got.request()["objects"], "headers": got.headers, "url": got.url,
		"protocol": got.protocol, "serverName": got.serverName,
	}, got.review))
	return found.failures, found.err
}
