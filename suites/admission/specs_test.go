package admission_test

import (
	"slices"
	"testing"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/admission"
)

func TestLabels(t *testing.T) {
	ledger := &fixtures.Ledger{Behaviors: []fixtures.Behavior{{ID: "webhook.a", Level: fixtures.Must}, {ID: "webhook.b", Level: fixtures.Must}, {ID: "webhook.c", Level: fixtures.May}}}
	for name, test := range map[string]struct {
		c    fixtures.LoadedCase
		want []string
	}{
		"behaviours and their levels, once": {
			fixtures.LoadedCase{Area: "rules", Behaviors: []string{"webhook.b", "webhook.a", "webhook.c"}},
			[]string{"may", "must", "rules", "webhook.a", "webhook.b", "webhook.c"},
		},
		"needs and serial": {
			fixtures.LoadedCase{Area: "rules", Behaviors: []string{"webhook.c"}, Needs: []fixtures.Need{fixtures.NeedRawStore}, Serial: true},
			[]string{"may", "raw-store", "rules", "serial", "webhook.c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := admission.Labels(ledger, &test.c); !slices.Equal(got, test.want) {
				t.Errorf("labels %q, want %q", got, test.want)
			}
		})
	}
}
