package target

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

func TestTogether(t *testing.T) {
	needing := func(id string, needs ...fixtures.Need) *fixtures.LoadedCase {
		c := &fixtures.LoadedCase{ID: id}
		c.Needs = needs
		return c
	}
	plain, hooks := needing("plain"), needing("hooks", fixtures.NeedHooks)
	workloads := needing("workloads", fixtures.NeedHooks, fixtures.NeedLegacyWorkloads)
	configurations := needing("configurations", fixtures.NeedV1beta1Configurations)
	for _, test := range []struct {
		target string
		cases  []*fixtures.LoadedCase
		want   [][]string
	}{
		{FakeAPI, []*fixtures.LoadedCase{plain, workloads, hooks, configurations}, [][]string{{"plain", "hooks"}, {"workloads", "configurations"}}},
		{FakeAPI, []*fixtures.LoadedCase{workloads}, [][]string{{"workloads"}}},
		{FakeAPI, []*fixtures.LoadedCase{plain}, [][]string{{"plain"}}},
		{Envtest, []*fixtures.LoadedCase{workloads, plain}, [][]string{{"workloads", "plain"}}},
	} {
		var got [][]string
		for _, part := range Together(test.target, test.cases) {
			var ids []string
			for _, c := range part {
				ids = append(ids, c.ID)
			}
			got = append(got, ids)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.target, diff)
		}
	}
}
