package webhook

import (
	"fmt"
	"slices"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
)

// robustnessRules are about requests that no API server sends, but scanners, probes and mistakes do.
func robustnessRules() []Rule {
	const noAnswers = "no review was answered"
	return []Rule{
		{
			ID:     "contract.response.malformed-request-handled",
			Change: "Answer a body that is no AdmissionReview with status 400, or refuse it.",
			judge:  rejects(noAnswers, malformed, empty),
		},
		{
			ID:     "contract.robustness.no-request",
			Change: "Check that the review has a request before reading it. No API server sends one without; a panic on it is ugly all the same.",
			judge:  rejects(noAnswers, noRequest),
		},
		{
			ID:     "contract.robustness.wrong-method",
			Change: "Answer methods other than POST with status 405.",
			judge:  rejects(noAnswers, wrongMethod),
		},
		{
			ID:     "contract.robustness.over-large",
			Change: "Read at most some MiB of a body (http.MaxBytesReader) and answer a larger one with status 413.",
			judge:  rejects(noAnswers, overLarge),
		},
		{
			ID:     "contract.robustness.probes",
			Change: "Answer GET and HEAD with any status; end no connection without an answer.",
			judge: hostiles(noAnswers, func(a *hostileAttempt) string {
				if a.kind == probe && a.Fault == exchange.Closed {
					return fmt.Sprintf("%s: %s", a.title, a.Problem)
				}
				return ""
			}),
		},
		{
			ID:     "contract.robustness.survives",
			Change: "Let no request end the process or change how later ones are answered.",
			judge: hostiles(noAnswers, func(a *hostileAttempt) string {
				if a.after.Fault == exchange.None && a.after.Responded() {
					return ""
				}
				return fmt.Sprintf("after %s, plain reviews are no longer answered: %s", a.title, a.after.Problem)
			}),
		},
		{
			ID:     "contract.availability.graceful-shutdown",
			Change: "On SIGTERM stop accepting connections and finish the reviews that are under way (http.Server.Shutdown).",
			judge: func(r *record) judgement {
				if r.shutdown.reason != "" {
					return judgement{notRun: r.shutdown.reason}
				}
				j := judgement{looked: 1}
				if r.shutdown.problem != "" {
					j.findings = []finding{{message: "after SIGTERM, " + r.shutdown.problem}}
				}
				return j
			},
		},
		{
			ID:     "contract.availability.cert-rotation",
			Change: "Read the certificate again when its files change (tls.Config.GetCertificate): certificates are renewed while the process runs.",
			judge: func(r *record) judgement {
				if r.rotation.reason != "" {
					return judgement{notRun: r.rotation.reason}
				}
				j := judgement{looked: 1}
				if r.rotation.problem != "" {
					j.findings = []finding{{message: r.rotation.problem}}
				}
				return j
			},
		},
	}
}

// hostiles makes the judgement over the requests that are no reviews.
func hostiles(none string, check func(*hostileAttempt) string) func(*record) judgement {
	return func(r *record) judgement {
		j := judgement{inapplicable: none}
		for _, a := range r.hostile {
			j.looked++
			if message := check(a); message != "" {
				j.findings = append(j.findings, finding{hook: a.hook, message: message, hostile: a})
			}
		}
		return j
	}
}

// rejects makes the judgement that requests of some kinds are answered with an error.
func rejects(none string, kinds ...hostileKind) func(*record) judgement {
	return hostiles(none, func(a *hostileAttempt) string {
		switch {
		case !slices.Contains(kinds, a.kind) || a.rejects() || !a.after.Responded(): // contract.robustness.survives
			return ""
		case a.Fault != exchange.None:
			return fmt.Sprintf("%s: %s", a.title, a.Problem)
		default:
			return fmt.Sprintf("%s is answered with status %d; want one from 400 to 499, or a refusal", a.title, a.Code)
		}
	})
}

// timeRules are about how long answers take and what they cost.
func timeRules() []Rule {
	return []Rule{
		{
			ID:     "contract.time.half-timeout",
			Change: "Do less in a review: no calls to other servers, no locks around it, caches instead of lists.",
			judge: both(func(r *record) judgement {
				j := judgement{inapplicable: "no review was answered"}
				for _, l := range r.loads {
					j.looked += l.reviews
					j.notes = append(j.notes, l.String())
					if l.p99 > l.hook.Timeout()/2 {
						j.findings = append(j.findings, finding{hook: l.hook, message: fmt.Sprintf("with %d reviews at a time, one in a hundred takes %s, more than half of the timeout of %s", l.concurrent, brief(l.p99), l.hook.Timeout())})
					}
				}
				return j
			}, each("", func(a *attempt) bool { return a.variant != large }, func(a *attempt) string {
				if a.Took <= a.hook.Timeout()/2 {
					return ""
				}
				return fmt.Sprintf("%s took %s, more than half of the timeout of %s", a.title, brief(a.Took), a.hook.Timeout())
			})),
		},
		{
			ID:     "contract.time.memory",
			Change: "Keep nothing of a request after its answer: look for maps and slices that only grow, and for goroutines that do not end.",
			judge: func(r *record) judgement {
				m := r.memory
				if m.reason != "" {
					return judgement{notRun: m.reason}
				}
				j := judgement{looked: m.reviews[len(m.reviews)-1]}
				early, middle, last := m.points()
				text := fmt.Sprintf("resident memory: %s after %d reviews, %s after %d, %s after %d",
					mebibytes(m.bytes[early]), m.reviews[early], mebibytes(m.bytes[middle]), m.reviews[middle], mebibytes(m.bytes[last]), m.reviews[last])
				j.notes = []string{text}
				if m.leaks() {
					j.findings = []finding{{message: "memory grows with the number of reviews: " + text}}
				}
				return j
			},
		},
	}
}

// leastGrowth is the growth between two looks at the memory from which it is said to grow: more than what the pools of a
// runtime add after some thousand reviews.
const leastGrowth = 4 << 20

// points are the looks at the memory that are compared: after a fifth of the reviews, when the process is warm, after three
// fifths, and after all.
func (m memoryGrowth) points() (early, middle, last int) {
	n := len(m.bytes)
	return max(n/5-1, 0), n*3/5 - 1, n - 1
}

// leaks tells that memory grew in both of the later parts, and in the last at least half as fast as in the one before.
func (m memoryGrowth) leaks() bool {
	early, middle, last := m.points()
	before, after := int64(m.bytes[middle])-int64(m.bytes[early]), int64(m.bytes[last])-int64(m.bytes[middle])
	return before > leastGrowth && after > leastGrowth && after > before/2
}

func mebibytes(bytes uint64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// String is the measurement in one line.
func (l load) String() string {
	rate := ""
	if l.p50 > 0 {
		rate = fmt.Sprintf(", %d reviews", l.reviews)
	}
	return fmt.Sprintf("%s at %d: p50 %s, p95 %s, p99 %s%s", l.hook, l.concurrent, brief(l.p50), brief(l.p95), brief(l.p99), rate)
}
