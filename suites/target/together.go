package target

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// retired are needs for versions that current servers do not serve, as other cases show.
var retired = sets.New(fixtures.NeedLegacyWorkloads, fixtures.NeedV1beta1Configurations)

// Together divides cases into those that one server of the named target can run, each opened with the needs of its cases:
// a fakeapi either serves retired versions or it does not, all other targets are what they are. There is no empty part,
// and the order within each is that of cases.
func Together(name string, cases []*fixtures.LoadedCase) [][]*fixtures.LoadedCase {
	var current, old []*fixtures.LoadedCase
	for _, c := range cases {
		if name == FakeAPI && retired.HasAny(c.Needs...) {
			old = append(old, c)
		} else {
			current = append(current, c)
		}
	}
	var parts [][]*fixtures.LoadedCase
	for _, part := range [][]*fixtures.LoadedCase{current, old} {
		if len(part) > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}

// Needs are what the cases need, for Options.
func Needs(cases []*fixtures.LoadedCase) sets.Set[fixtures.Need] {
	needs := sets.New[fixtures.Need]()
	for _, c := range cases {
		needs.Insert(c.Needs...)
	}
	return needs
}
