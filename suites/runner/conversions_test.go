package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

func TestConversions(t *testing.T) {
	const (
		toV1 = `{uid: r1, desiredAPIVersion: g/v1, objects: [{apiVersion: g/v2, metadata: {name: x}}]}`
		toV2 = `{uid: r2, desiredAPIVersion: g/v2, objects: [{apiVersion: g/v1, metadata: {name: x}}, {apiVersion: g/v1, metadata: {name: y}}]}`
	)
	asks := func(hook string, request fixtures.Object, asserts ...string) fixtures.Conversion {
		return fixtures.Conversion{Hook: hook, Request: request, Assert: asserts}
	}
	for name, test := range map[string]struct {
		expected []fixtures.Conversion
		calls    [][2]string // hook and request
		want     []string
	}{
		"calls that nobody asks for do not matter": {nil, [][2]string{{"a", toV1}, {"b", toV2}}, nil},
		"one among others":                         {[]fixtures.Conversion{asks("a", fixtures.Object{"desiredAPIVersion": "g/v2"})}, [][2]string{{"a", toV1}, {"a", toV2}, {"a", toV1}}, nil},
		"in another order": {
			[]fixtures.Conversion{asks("a", fixtures.Object{"desiredAPIVersion": "g/v2"}), asks("a", fixtures.Object{"desiredAPIVersion": "g/v1"})},
			[][2]string{{"a", toV1}, {"a", toV2}}, nil,
		},
		"none at all":    {[]fixtures.Conversion{asks("a", nil)}, nil, []string{"expect.conversions[0]"}},
		"another server": {[]fixtures.Conversion{asks("a", nil)}, [][2]string{{"b", toV1}}, []string{"expect.conversions[0]"}},
		"the nearest is shown": {
			[]fixtures.Conversion{asks("a", nil), asks("a", fixtures.Object{"uid": "r2", "desiredAPIVersion": "g/v3"})},
			[][2]string{{"a", toV1}, {"a", toV2}}, []string{"expect.conversions[1].request.desiredAPIVersion"},
		},
		"asserts hold": {
			[]fixtures.Conversion{asks("a", nil, "objects.size() == 2", "objects.all(o, o.apiVersion != request.desiredAPIVersion)", "review.request.uid == 'r2'", "url == 'https://a'")},
			[][2]string{{"a", toV1}, {"a", toV2}}, nil,
		},
		"an assert does not hold": {
			[]fixtures.Conversion{asks("a", nil, "objects.size() > 0", "objects.size() == 3")}, [][2]string{{"a", toV1}}, []string{"expect.conversions[0].assert[1]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []call
			for _, c := range test.calls {
				calls = append(calls, called(t, c[0], c[1]))
			}
			failures, err := checkConversions(test.expected, calls)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, paths(failures)); diff != "" {
				t.Errorf("places that differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConversionsRefuseABrokenAssert(t *testing.T) {
	_, err := checkConversions([]fixtures.Conversion{{Hook: "a", Assert: []string{"object == 1"}}}, calledInOrder(t, "a"))
	if err == nil || !strings.Contains(err.Error(), "expect.conversions[0].assert[0]") {
		t.Errorf("error %v, want one about the assert", err)
	}
}
