package reports

import (
	"strings"
	"testing"
)

func TestParseShard(t *testing.T) {
	for _, s := range []string{"1/1", "2/3", "12/12"} {
		shard, err := ParseShard(s)
		if err != nil || shard.String() != s {
			t.Errorf("%s: got %s, %v", s, shard, err)
		}
	}
	for _, s := range []string{"", "1", "0/3", "4/3", "-1/3", "1/0", "a/b", "1/3/5", "1 / 3", "1/"} {
		if shard, err := ParseShard(s); err == nil {
			t.Errorf("%q: got %s, want an error", s, shard)
		} else if !strings.Contains(err.Error(), `shard "`+s+`": want I/N`) {
			t.Errorf("%q: the error %q does not say what is wrong and what would be right", s, err)
		}
	}
}

func TestJoinShards(t *testing.T) {
	for name, tc := range map[string]struct {
		shards []Shard
		want   string
	}{
		"all":      {[]Shard{{2, 3}, {3, 3}, {1, 3}}, ""},
		"one":      {[]Shard{{1, 1}}, ""},
		"not all":  {[]Shard{{3, 3}, {1, 3}}, "1/3,3/3"},
		"by index": {[]Shard{{10, 11}, {9, 11}}, "9/11,10/11"},
		"none":     {nil, ""},
	} {
		if got := joinShards(tc.shards); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestSelectionString(t *testing.T) {
	for want, s := range map[string]Selection{
		"":                                 {},
		"--focus a b":                      {Focus: "a b"},
		"--focus x --labels y --shard 1/2": {Focus: "x", Labels: "y", Shard: "1/2"},
		"--shard 1/3,3/3":                  {Shard: "1/3,3/3"},
		"--labels area:x && level:must":    {Labels: "area:x && level:must"},
	} {
		if got := s.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if s.Partial() != (want != "") {
			t.Errorf("%q: partial is %t", want, s.Partial())
		}
	}
}
