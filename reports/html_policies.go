package reports

import "fmt"

// A policy and its expressions, as the page shows them.
type (
	htmlPolicy struct {
		Name, Kind, Place, Coverage, Mark string
		Expressions                       []htmlExpression
	}
	htmlExpression struct{ Path, Place, Text, Tally, Missing string }
)

// htmlPolicies are the policies of a run of policy tests, and how much of them was evaluated.
func htmlPolicies(t PolicyTests) (policies []htmlPolicy, coverage string) {
	for _, p := range t.Policies {
		policy := htmlPolicy{Name: line(p.Name), Kind: line(p.Kind), Place: line(place(p.File, p.Line)), Mark: "good"}
		covered, all := p.covered()
		policy.Coverage = fmt.Sprintf("%d of %d outcomes", covered, all)
		if covered < all {
			policy.Mark = "soft"
		}
		for _, e := range p.Expressions {
			policy.Expressions = append(policy.Expressions, htmlExpression{
				Path: line(e.Path), Place: line(place(p.File, e.Line)), Text: clean(e.Expression), Tally: e.tally(), Missing: e.missing(),
			})
		}
		policies = append(policies, policy)
	}
	covered, all := t.Covered()
	return policies, fmt.Sprintf("%d of %d outcomes of expressions were reached", covered, all)
}
