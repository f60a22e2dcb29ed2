package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Selection is what part of the cases a run was asked to run. The zero value is all of them.
type Selection struct {
	// Focus is the regular expression of --focus.
	Focus string `json:"focus,omitempty"`
	// Labels is the Ginkgo label filter of --labels.
	Labels string `json:"labels,omitempty"`
	// Shard is I/N of --shard, counted from 1; several, separated by commas, after a merge of not all shards.
	Shard string `json:"shard,omitempty"`
	// Times is the digest of the recorded times by which the cases were dealt to the shards; empty when they were dealt in
	// turn. Shards that were dealt otherwise are not of one run.
	Times string `json:"times,omitempty"`
}

// Partial reports whether the selection leaves any case out.
func (s Selection) Partial() bool { return s != Selection{} }

// String returns the selection as the flags that make it; "" for all cases.
func (s Selection) String() string {
	var flags []string
	for _, f := range []struct{ name, value string }{{"focus", s.Focus}, {"labels", s.Labels}, {"shard", s.Shard}} {
		if f.value != "" {
			flags = append(flags, "--"+f.name+" "+f.value)
		}
	}
	return strings.Join(flags, " ")
}

// Shard is one of Count parts of a run.
type Shard struct {
	// Index is the shard's number, from 1.
	Index int
	// Count is the number of shards.
	Count int
}

// ParseShard reads I/N, such as 2/3.
func ParseShard(s string) (Shard, error) {
	index, count, ok := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if !ok || err1 != nil || err2 != nil || i < 1 || i > n {
		return Shard{}, fmt.Errorf("shard %q: want I/N with I from 1 to N, such as 2/3", s)
	}
	return Shard{Index: i, Count: n}, nil
}

// String returns I/N.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// shards reads Selection.Shard.
func (s Selection) shards() ([]Shard, error) {
	var shards []Shard
	for part := range strings.SplitSeq(s.Shard, ",") {
		shard, err := ParseShard(part)
		if err != nil {
			return nil, err
		}
		shards = append(shards, shard)
	}
	return shards, nil
}

// joinShards returns what Selection.Shard is when all of shards have run: "" when no part is missing. The shards are
// different ones of the same count.
func joinShards(shards []Shard) string {
	if len(shards) > 0 && len(shards) == shards[0].Count {
		return ""
	}
	slices.SortFunc(shards, func(a, b Shard) int { return cmp.Compare(a.Index, b.Index) })
	texts := make([]string, len(shards))
	for i, s := range shards {
		texts[i] = s.String()
	}
	return strings.Join(texts, ",")
}
