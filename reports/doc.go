// Package reports turns the results of cases into a verdict on a target, and writes it as JUnit, JSON, and text.
//
// [New] is the whole of the judgement: a pure function of the ledger, the target, the selection and the results. Every
// writer is a pure function of the [Report] that it returns, and report.json holds all of it, so that the other forms
// can be written again from the file, and the shards of a run merged into what one run would have given.
//
// # Verdicts
//
// A case has an [Outcome]: pass, fail, known-fail, not-run or error; a rule about a webhook that only recommends something
// has warn in the place of fail, which does not decide. A behaviour of the ledger has a [BehaviorVerdict],
// which follows from the outcomes of the cases that bear witness to it:
//
//   - failed when any of them failed, known failures included;
//   - else held when at least one passed;
//   - else not applicable when the ledger excludes the target's version, or every case was left out because of it;
//   - else unproven.
//
// The run has a [Verdict], the first of these that is true:
//
//   - error: results contradict each other or the ledger, or no case was executed;
//   - not conformant: a case failed that is not a known failure, or the list of known failures is wrong;
//   - error: a case ended in an error, or the run was interrupted;
//   - partial: the run was a selection or a shard, or a must behaviour that applies is unproven;
//   - conformant with known failures: known failures are all that failed;
//   - conformant.
//
// The level of a behaviour decides what has to be proved: a target is conformant without its should and may behaviours.
// It does not soften a failure, since a case demands of a should or may behaviour only what every server that has it
// must keep to; a target that knowingly differs lists the case as a known failure.
package reports
