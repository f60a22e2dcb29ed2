package reports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrettyBody(t *testing.T) {
	for name, tc := range map[string]struct{ body, want string }{
		"nothing":              {"", ""},
		"no JSON":              {"not found\n", "not found"},
		"JSON":                 {`{"b":1,"a":[true,null]}`, "{\n  \"a\": [\n    true,\n    null\n  ],\n  \"b\": 1\n}"},
		"managed fields":       {`{"managedFields":[{"manager":"x"}]}`, "{\n  \"managedFields\": \"1 entry\"\n}"},
		"a patch":              {`{"response":{"allowed":true,"patch":"W10="}}`, "{\n  \"response\": {\n    \"allowed\": true,\n    \"patch (decoded)\": []\n  }\n}"},
		"a patch that is none": {`{"allowed":true,"patch":"W"}`, "{\n  \"allowed\": true,\n  \"patch\": \"W\"\n}"},
		"a field named patch":  {`{"patch":"W10="}`, "{\n  \"patch\": \"W10=\"\n}"},
		"a long string":        {`{"caBundle":"` + strings.Repeat("a", 300) + `"}`, "{\n  \"caBundle\": \"" + strings.Repeat("a", 197) + "… (300 bytes)\"\n}"},
		"a very long body":     {strings.Repeat("x\n", 40_000), strings.Repeat("x\n", 32_768)[:65_535] + "\n... 14464 more bytes"},
		"control characters":   {"\x1b[31m", "\u241b[31m"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, prettyBody(tc.body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
