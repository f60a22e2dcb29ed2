// Package webhook puts somebody's admission webhook on trial: does it keep the contract that the documentation makes with
// API servers and users?
//
// [Judge] is the whole of it, in two halves. First everything is gathered: the manifests are read, an API server and the
// webhook's server started, every request that the webhook's rules match is really made on the API server, and the reviews
// that come of it are posted to the webhook, as they are and with changes that a webhook must bear. All that was sent and
// answered goes into a record. Then each rule of [Rules] looks at the record and says what it finds: a plain function over
// plain data, with a demand of the ledger (contract.*) as its id.
//
// [Run] does the same inside somebody's own Go test, with a subtest for each rule:
//
//	func TestWebhook(t *testing.T) {
//		webhook.Run(t, webhook.Options{ConfigFile: "gatehouse.yaml"})
//	}
//
// A spec of Ginkgo, which has no *testing.T, calls Judge:
//
//	It("keeps the contract of admission webhooks", func(ctx SpecContext) {
//		report, err := webhook.Judge(ctx, webhook.Options{ConfigFile: "gatehouse.yaml"})
//		Expect(err).NotTo(HaveOccurred())
//		Expect(report.ExitStatus).To(BeZero(), "%v", report.Reasons)
//	})
package webhook
