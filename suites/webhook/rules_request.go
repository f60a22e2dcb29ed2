package webhook

import "fmt"

// requestRules are about the requests that a webhook's rules match: it must have an answer to each.
func requestRules() []Rule {
	return []Rule{
		{
			ID:     "contract.null-old-object-on-create",
			Change: "On CREATE read request.object alone: request.oldObject is null, and what is optional in the object may be absent.",
			judge:  answers("the rules match no CREATE", false, create, refused),
		},
		{
			ID:     "contract.requests.update",
			Change: "On UPDATE read both request.object and request.oldObject: what is optional may be absent from either.",
			judge:  answers("the rules match no UPDATE", false, update),
		},
		{
			ID:     "contract.null-object-on-delete",
			Change: "On DELETE decode request.oldObject: request.object is null, and what is optional in the old object may be absent.",
			judge:  answers("the rules match no DELETE", false, remove),
		},
		{
			ID:     "contract.connect-and-subresources",
			Change: "Look at request.subResource and decode by request.kind: the object of pods/exec is a PodExecOptions, that of scale a Scale.",
			judge:  answers("the rules match no subresource", false, connect),
		},
		{
			ID:     "contract.generate-name",
			Change: "Bear an empty request.name and metadata.name: with generateName the API server makes the name after admission.",
			judge:  answers("the rules match no CREATE", false, generateName),
		},
		{
			ID:     "contract.requests.cluster-scoped",
			Change: "Bear an empty request.namespace: the object has none.",
			judge:  answers("the rules match nothing that is cluster-scoped", false, clusterScoped),
		},
		{
			ID:     "contract.requests.each-version",
			Change: "Decode the object by request.kind, in each version that the rules name, or name fewer versions.",
			judge:  answers("the rules match one version of each resource", false, otherVersion),
		},
		{
			ID:     "contract.converted-object",
			Change: "Decode the object by request.kind, in which API servers send it; request.requestKind is what the client sent.",
			judge:  answers("nothing that the rules match is served in another version", false, converted),
		},
		{
			ID:     "contract.requests.other-users",
			Change: "Bear every userInfo: groups, uid and extra may be absent, and extra may hold anything.",
			judge:  answers("the rules match no CREATE", false, otherUser),
		},
		{
			ID:     "contract.namespace-from-request",
			Change: "Take the namespace from request.namespace: metadata.namespace of an object may be empty.",
			judge:  answers("nothing that the rules match is in a namespace", true, noNamespace),
		},
		{
			ID:     "contract.dry-run.same-decision",
			Change: "Decide on a dry run as on the real request; leave out nothing but side effects.",
			judge: both(answers("the rules match nothing", true, dryRun), each("", of(dryRun), func(a *attempt) string {
				if a.base != nil && a.base.Allowed() && a.Allowed() && a.changesObject() != a.base.changesObject() {
					return "the object is changed in one of the dry run and the real request, and not in the other"
				}
				return ""
			})),
		},
		{
			ID:     "contract.requests.equal-answers",
			Change: "Decide by the request and by what is stored, not by chance, time or the requests before.",
			judge: both(answers("no request was made that the rules match", true, repeated), func(r *record) judgement {
				j := judgement{}
				for _, l := range r.loads {
					if l.differing != nil {
						j.add(l.differing, fmt.Sprintf("%s: one answer is %s, and that to the same review by itself is %s", l.differing.title, l.differing.decision(), l.differing.base.decision()))
					}
				}
				return j
			}),
		},
		{
			ID:     "contract.unknown-request-fields-tolerated",
			Change: "Ignore fields that you do not know, and leave them in the object: patch the fields that you mean instead of sending the object back as an older type knows it.",
			judge: both(answers("the rules match no CREATE", true, unknownFields), each("", of(unknownFields), func(a *attempt) string {
				if patched := a.patched(); patched != nil && patched["gatehouseUnknown"] == nil {
					return "the patch removes a field of the object that the webhook does not know"
				}
				return ""
			})),
		},
		{
			ID:     "contract.unknown-kind-handled",
			Change: "Answer a review of a kind that you do not know: allow it, or refuse it with a message.",
			judge:  answers("the rules match no CREATE", false, unknownKind),
		},
		{
			ID:     "contract.access.allowed",
			Change: "Allow the webhook's service account in a Role or ClusterRole what it asks of the API server, or leave it out.",
			judge: func(r *record) judgement {
				if !r.callsKnown {
					return judgement{notRun: "only calls of a server that Gatehouse started are seen"}
				}
				j := judgement{looked: 1}
				seen := map[string]bool{}
				for _, call := range r.calls {
					if call.Code == 403 && !seen[call.String()] {
						seen[call.String()] = true
						j.findings = append(j.findings, finding{message: fmt.Sprintf("the webhook may not %s, as service account %s/%s", call, r.set.Account().Namespace, r.set.Account().Name)})
					}
				}
				return j
			},
		},
	}
}

// of selects a variant.
func of(v variant) func(*attempt) bool { return func(a *attempt) bool { return a.variant == v } }
