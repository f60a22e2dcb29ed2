package webhook

import "slices"

// Rules returns the rules of the contract, in the order of reports.
func Rules() []Rule {
	return slices.Concat(
		endpointRules(),
		certificateRules(),
		responseRules(),
		requestRules(),
		mutatingRules(),
		validatingRules(),
		effectRules(),
		robustnessRules(),
		timeRules(),
		registrationRules(),
		sampleRules(),
	)
}

// RuleIDs returns the ids of the rules.
func RuleIDs() []string {
	var ids []string
	for _, rule := range Rules() {
		ids = append(ids, rule.ID)
	}
	return ids
}
