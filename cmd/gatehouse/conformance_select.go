package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/admission"
)

// selector decides which cases run.
type selector struct {
	selection reports.Selection
	focus     *regexp.Regexp
	labels    types.LabelFilter
	shard     reports.Shard
	// times are how long cases took before, by their ids; shards get equal parts of them.
	times map[string]time.Duration
}

func newSelector(s reports.Selection, times map[string]time.Duration) (*selector, error) {
	chosen := &selector{selection: s, shard: reports.Shard{Index: 1, Count: 1}, times: times}
	var err error
	if chosen.focus, err = regexp.Compile(s.Focus); err != nil {
		return nil, usageError("--focus: %w", err)
	}
	if chosen.labels, err = types.ParseLabelFilter(s.Labels); err != nil {
		return nil, usageError("--labels is %q: %w", s.Labels, err)
	}
	if s.Shard != "" {
		if chosen.shard, err = reports.ParseShard(s.Shard); err != nil {
			return nil, usageError("--shard: %w", err)
		}
	}
	return chosen, nil
}

// of returns the cases of a set that are to run: every shard of a set gets others, and all of them together get all.
func (s *selector) of(set *fixtures.Set) ([]*fixtures.LoadedCase, error) {
	if err := checkLabels(s.selection.Labels, labelsOf(set.Ledger)); err != nil {
		return nil, err
	}
	var all []*fixtures.LoadedCase
	for _, c := range set.Cases {
		if inFocus(s.focus, c) && s.labels(admission.Labels(set.Ledger, c)) {
			all = append(all, c)
		}
	}
	mine := all
	if s.shard.Count > 1 {
		mine = dealShard(all, s.shard, s.times)
	}
	if len(mine) == 0 {
		return nil, usageError("no case is selected by %s, of %d%s", s.selection, len(set.Cases), s.nearestCase(set, len(all)))
	}
	return mine, nil
}

// inFocus reports whether the expression of --focus matches a case's id or its title.
func inFocus(focus *regexp.Regexp, c *fixtures.LoadedCase) bool {
	return focus.MatchString(c.ID) || focus.MatchString(c.Title)
}

// nearestCase suggests what a focus that selects nothing may have meant.
func (s *selector) nearestCase(set *fixtures.Set, selected int) string {
	if s.selection.Focus == "" || s.selection.Labels != "" || selected > 0 {
		return ""
	}
	names := sets.New[string]()
	for _, c := range set.Cases {
		names.Insert(c.ID, c.Area, c.ID[:strings.LastIndexByte(c.ID, '/')])
	}
	return didYouMean(strings.Trim(s.selection.Focus, "^$/"), sets.List(names))
}

// A label of a filter stands between the operators of Ginkgo's filter language; expressions between slashes are no labels.
var (
	filterExpressions = regexp.MustCompile(`/[^/]*/`)
	filterOperators   = "&|!(), \t"
)

// labelsOf are the labels that cases of a ledger can have.
func labelsOf(ledger *fixtures.Ledger) []string {
	labels := slices.Concat(fixtures.Level("").Values(), fixtures.Need("").Values(), []string{admission.Serial})
	for _, a := range ledger.Areas {
		labels = append(labels, a.ID)
	}
	for _, b := range ledger.Behaviors {
		labels = append(labels, b.ID)
	}
	return labels
}

// checkLabels refuses labels that no case can have: they would select everything or nothing unnoticed. A filter that asks for
// sets of labels (KEY: {...}) is left alone, as no case has any.
func checkLabels(filter string, known []string) error {
	if strings.Contains(filter, ":") {
		return nil
	}
	words := strings.FieldsFunc(filterExpressions.ReplaceAllString(filter, " "), func(r rune) bool { return strings.ContainsRune(filterOperators, r) })
	for _, word := range words {
		if !slices.ContainsFunc(known, func(label string) bool { return strings.EqualFold(label, word) }) {
			return usageError("--labels is %q: there is no label %q%s", filter, word, didYouMean(word, known))
		}
	}
	return nil
}

// dealShard returns the cases of one shard. With times of earlier runs every shard gets as much to do as the others; of
// the cases that must be alone, which take their time one after the other, and of those that run side by side. Without
// times the cases are dealt in turn, so that each shard gets a part of every area.
func dealShard(cases []*fixtures.LoadedCase, shard reports.Shard, times map[string]time.Duration) []*fixtures.LoadedCase {
	if len(times) == 0 {
		var mine []*fixtures.LoadedCase
		for i := shard.Index - 1; i < len(cases); i += shard.Count {
			mine = append(mine, cases[i])
		}
		return mine
	}
	together, alone := apart(cases)
	mine := slices.Concat(balance(together, times, shard.Count)[shard.Index-1], balance(alone, times, shard.Count)[shard.Index-1])
	return inOrder(mine, cases)
}

// apart returns the cases that may run side by side, and those beside which nothing else may run.
func apart(cases []*fixtures.LoadedCase) (together, alone []*fixtures.LoadedCase) {
	for _, c := range cases {
		if c.Serial {
			alone = append(alone, c)
		} else {
			together = append(together, c)
		}
	}
	return together, alone
}

// balance deals the cases to n hands so that the sums of their times are as equal as the longest cases allow: the
// longest first, each to the hand that has least. It depends on nothing but its arguments. A case without a time is
// taken to be like the others.
func balance(cases []*fixtures.LoadedCase, times map[string]time.Duration, n int) [][]*fixtures.LoadedCase {
	cost := costs(cases, times)
	order := slices.Clone(cases)
	slices.SortStableFunc(order, func(a, b *fixtures.LoadedCase) int { return cmp.Compare(cost(b), cost(a)) })
	hands, loads := make([][]*fixtures.LoadedCase, n), make([]time.Duration, n)
	for _, c := range order {
		least := 0
		for i := range hands {
			if loads[i] < loads[least] || loads[i] == loads[least] && len(hands[i]) < len(hands[least]) {
				least = i
			}
		}
		hands[least] = append(hands[least], c)
		loads[least] += cost(c)
	}
	for i := range hands {
		hands[i] = inOrder(hands[i], cases)
	}
	return hands
}

// costs returns how long each case will take: its time, or the mean of those that have one.
func costs(cases []*fixtures.LoadedCase, times map[string]time.Duration) func(*fixtures.LoadedCase) time.Duration {
	var sum, known time.Duration
	for _, c := range cases {
		if t, ok := times[c.ID]; ok {
			sum, known = sum+t, known+1
		}
	}
	mean := time.Second
	if known > 0 {
		mean = sum / known
	}
	return func(c *fixtures.LoadedCase) time.Duration {
		if t, ok := times[c.ID]; ok {
			return t
		}
		return mean
	}
}

// inOrder returns those cases of all that are among some.
func inOrder(some, all []*fixtures.LoadedCase) []*fixtures.LoadedCase {
	chosen := sets.New(some...)
	out := make([]*fixtures.LoadedCase, 0, len(some))
	for _, c := range all {
		if chosen.Has(c) {
			out = append(out, c)
		}
	}
	return out
}

// readTimes reads the file of --times, and returns its digest too.
func readTimes(name string) (times map[string]time.Duration, digest string, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, "", exitError{exitUsage, err}
	}
	if times, err = reports.ReadTimes(name, data); err != nil {
		return nil, "", exitError{exitUsage, err}
	}
	sum := sha256.Sum256(data)
	return times, hex.EncodeToString(sum[:8]), nil
}
