package zoo

import "strings"

// manifestAnimals are the good webhook with a fault in what it is shipped with.
func manifestAnimals() []Animal {
	const (
		configmaps = "  - {operations: [CREATE, UPDATE, DELETE], apiGroups: [\"\"], apiVersions: [v1], resources: [configmaps, secrets]}\n"
		gadgets    = "  - {operations: [CREATE], apiGroups: [zoo.example.com], apiVersions: [v1], resources: [gadgets]}\n"
		condition  = "matchConditions: [{name: not-exempt, expression: \"request.userInfo.username != 'exempt'\"}]"
		validating = "  failurePolicy: Fail\n  sideEffects: None\n  timeoutSeconds: 10\n  admissionReviewVersions: [v1, v1beta1]\n"
		mutating   = "  reinvocationPolicy: IfNeeded\n"
		mutateName = "- name: mutate.zoo.example.com\n"
	)
	rule := func(id, name, old, text string) Animal {
		return Animal{Rule: "contract.registration." + id, Name: name, Manifests: []Edit{{old, text}}}
	}
	selector := func(excluded string) []Edit {
		const old = "values: [kube-system, zoo]}]}\n  reinvocationPolicy"
		return []Edit{{old, strings.Replace(old, "kube-system, zoo", excluded, 1)}}
	}
	return []Animal{
		rule("accepted", "has a matchPolicy that is not there", validating, strings.Replace(validating, "timeoutSeconds: 10", "timeoutSeconds: 10\n  matchPolicy: Similar", 1)),
		rule("match-conditions-compile", "has a condition that does not compile", condition, "matchConditions: [{name: broken, expression: \"request.user ==\"}]"),
		rule("match-conditions-hold", "has a condition that never holds", mutating, mutating+"  matchConditions: [{name: never, expression: \"request.namespace == 'nowhere'\"}]\n"),
		rule("current-api", "is written in v1beta1", "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration", "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: MutatingWebhookConfiguration"),
		rule("side-effects-declared", "has some side effects", validating, strings.Replace(validating, "sideEffects: None", "sideEffects: Some", 1)),
		rule("review-versions-known", "declares a version that is not there", "admissionReviewVersions: [v1]\n", "admissionReviewVersions: [v2]\n"),
		rule("review-version-v1", "declares v1beta1 alone", "admissionReviewVersions: [v1]\n", "admissionReviewVersions: [v1beta1]\n"),
		rule("fully-qualified-name", "has a short name", mutateName, "- name: mutate\n"),
		rule("names-unique", "has two webhooks of a name", mutateName, secondHook),
		{Rule: "contract.registration.does-not-block-itself", Name: "sees its own namespace", Manifests: selector("kube-system")},
		{Rule: "contract.registration.namespace-exclusion", Name: "sees kube-system", Manifests: selector("zoo")},
		rule("not-own-configuration", "wants to guard webhook configurations", gadgets, gadgets+"  - {operations: [UPDATE], apiGroups: [admissionregistration.k8s.io], apiVersions: [v1], resources: [validatingwebhookconfigurations]}\n"),
		rule("narrow-rules", "matches all of a group", gadgets, strings.Replace(gadgets, "[gadgets]", "[\"*\"]", 1)),
		rule("narrow-operations", "matches all operations", gadgets, strings.Replace(gadgets, "[CREATE]", "[\"*\"]", 1)),
		rule("hot-resources", "matches leases", gadgets, gadgets+"  - {operations: [CREATE], apiGroups: [coordination.k8s.io], apiVersions: [v1], resources: [leases]}\n"),
		rule("connect-operation", "waits for exec without CONNECT", configmaps, configmaps+"  - {operations: [CREATE], apiGroups: [\"\"], apiVersions: [v1], resources: [pods/attach]}\n"),
		rule("object-selector-opt-in-only", "guards what is labelled", validating, validating+"  objectSelector: {matchExpressions: [{key: zoo.example.com/exempt, operator: DoesNotExist}]}\n"),
		rule("timeout-small", "lets users wait", validating, strings.Replace(validating, "timeoutSeconds: 10", "timeoutSeconds: 30", 1)),
		rule("match-policy-equivalent", "is evaded by other versions", mutating, mutating+"  matchPolicy: Exact\n"),
		rule("match-policy-equivalent", "is evaded by another version of a custom resource", validating, validating+"  matchPolicy: Exact\n"),
		rule("versions-there", "waits for a version that is not there", gadgets, gadgets+strings.Replace(gadgets, "[v1]", "[v2]", 1)),
		rule("ca-bundle", "has no authority", "kind: MutatingWebhookConfiguration\nmetadata:\n  name: zoo\n  annotations: {cert-manager.io/inject-ca-from: zoo/webhook}", "kind: MutatingWebhookConfiguration\nmetadata:\n  name: zoo"),
		rule("service-exists", "names a port that the Service has not", "path: /mutate}", "path: /mutate, port: 8443}"),
		rule("no-shadows", "asks twice", mutateName, strings.Replace(secondHook, "- name: mutate.zoo", "- name: second.zoo", 1)),
		rule("no-shadows", "asks twice, in a wider webhook after it", "- name: validate.zoo.example.com\n", narrowHook+"- name: validate.zoo.example.com\n"),
		{Rule: "contract.registration.certificate-names", Name: "ships a certificate of another name", Secret: &Certificate{Names: []string{"webhook.elsewhere.svc"}}},
		{Rule: "contract.registration.certificate-lasting", Name: "ships a certificate that ends next week", Secret: &Certificate{Names: []string{service}, Days: 7}},
		{Rule: "contract.registration.certificate-lasting", Name: "ships a certificate that is not good yet", Secret: &Certificate{Names: []string{service}, Begins: 2}},
		{Rule: "contract.registration.certificate-strong", Name: "ships a weak key", Secret: &Certificate{Names: []string{service}, Weak: true}},
	}
}

// narrowHook is a validating webhook for some of what the good one is for, before it.
const narrowHook = `- name: narrow.zoo.example.com
  clientConfig: {service: {name: webhook, namespace: zoo, path: /validate}}
  rules:
  - {operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [secrets]}
  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, zoo]}]}
  matchConditions: [{name: not-exempt, expression: "request.userInfo.username != 'exempt'"}]
  sideEffects: None
  timeoutSeconds: 10
  admissionReviewVersions: [v1, v1beta1]
`

// secondHook is a mutating webhook as the good one, before it.
const secondHook = `- name: mutate.zoo.example.com
  clientConfig: {service: {name: webhook, namespace: zoo, path: /mutate}}
  rules:
  - {operations: [CREATE, DELETE], apiGroups: [""], apiVersions: [v1], resources: [pods]}
  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, zoo]}]}
  reinvocationPolicy: IfNeeded
  sideEffects: None
  admissionReviewVersions: [v1]
- name: mutate.zoo.example.com
`
