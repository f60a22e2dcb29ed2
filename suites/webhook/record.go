package webhook

import (
	"time"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/apiproxy"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/lint"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// record is all that a trial gathers: what was sent to the webhook and what came back. Rules read it.
type record struct {
	set *manifests.Set
	// began is when the trial began.
	began time.Time
	// lint are the faults of the manifests themselves.
	lint []lint.Finding
	// refusals are the registrations that the API server does not take.
	refusals []refusal
	// shown are the certificates that the server shows, by webhook.
	shown map[*manifests.Hook]shown
	// observed counts, by webhook, the requests that its rules match, and how many of those its match conditions let through.
	observed map[*manifests.Hook]*observed
	// attempts are the reviews that were posted, in order.
	attempts []*attempt
	// unseen are the webhooks for which no request came that their rules, selectors and conditions match.
	unseen []*manifests.Hook
	// untried says which requests could not be tried, and why.
	untried []string
	// hostile are requests that are no reviews.
	hostile []*hostileAttempt
	// loads are the measurements under load.
	loads []load
	// memory is how the process grew.
	memory memoryGrowth
	// files are files of the working directory that changed while reviews were posted.
	files []string
	// filesKnown tells that the working directory was looked at.
	filesKnown bool
	// calls are what the webhook asked of the API server; callsKnown tells that it is known.
	calls      []apiproxy.Request
	callsKnown bool
	// invalid are answers whose patch makes an object that the API server refuses.
	invalid []invalidPatch
	// live are the samples as they went through the API server.
	live []liveSample
	// shutdown and rotation are what came of ending the process and of a new certificate.
	shutdown shutdownTrial
	rotation rotationTrial
	// broken tells that a rule before those about samples is broken.
	broken bool
	// notes are what the report says besides: what users see while the webhook is down, what it adds to a create.
	notes []string
}

// observed counts requests.
type observed struct{ matched, passed int }

// refusal is a registration that the API server refuses.
type refusal struct {
	hook    *manifests.Hook // the webhook that is named; the first one of the configuration when none is
	field   string
	message string
}

// variant says in what a review differs from one that an API server sent.
type variant string

const (
	create        variant = "create"
	update        variant = "update"
	remove        variant = "delete"
	connect       variant = "connect or subresource"
	clusterScoped variant = "cluster-scoped"
	generateName  variant = "generateName"
	otherVersion  variant = "another version of the object"
	converted     variant = "converted object"
	refused       variant = "to be refused"

	reviewVersion variant = "another version of the review"
	dryRun        variant = "dry run"
	otherUser     variant = "another user"
	noNamespace   variant = "namespace only in the request"
	unknownFields variant = "unknown fields"
	unknownKind   variant = "unknown kind"
	large         variant = "large object"
	repeated      variant = "the same again"
	again         variant = "its own output"
	unchanged     variant = "update without a change"
	foreign       variant = "things of others"
	peer          variant = "another webhook before it"
	between       variant = "another webhook after it, and itself again"
	later         variant = "another webhook after it"
)

// attempt is one review that was posted to a webhook.
type attempt struct {
	*exchange.Exchange
	hook    *manifests.Hook
	variant variant
	// title says what was asked, such as "CREATE deployments gatehouse/sample (dry run)".
	title string
	// base is the attempt that this one is compared with; nil for those as the API server sent them.
	base *attempt
	// review is the AdmissionReview that was sent.
	review map[string]any
	// sample names the object.
	sample string
	// repeats are the attempts that sent the same again.
	repeats []*attempt
	// writes are the requests by which the webhook changed something on the API server meanwhile.
	writes []apiproxy.Request
}

// hostileKind is a kind of request that is no review.
type hostileKind string

const (
	malformed   hostileKind = "malformed JSON"
	empty       hostileKind = "empty body"
	overLarge   hostileKind = "over-large body"
	wrongMethod hostileKind = "wrong method"
	probe       hostileKind = "probe"
	noRequest   hostileKind = "review without a request"
)

// hostileAttempt is a request that is no review.
type hostileAttempt struct {
	*exchange.Exchange
	hook  *manifests.Hook
	kind  hostileKind
	title string
	// after is a plain review that was posted after it.
	after *attempt
}

// load is what came of many reviews at a time.
type load struct {
	hook       *manifests.Hook
	concurrent int
	reviews    int
	// p50, p95 and p99 are percentiles of the time of an answer.
	p50, p95, p99 time.Duration
	// mixed is an answer that carried another uid than its review; nil when there is none.
	mixed *attempt
	// failed is a review that was not answered; nil when there is none.
	failed *attempt
	// differing is an answer of another decision than that to the same review by itself; nil when there is none.
	differing *attempt
}

// memoryGrowth is how the resident memory of the process grew over many reviews.
type memoryGrowth struct {
	reason string // why it is not known; "" when it is
	// reviews and bytes are pairs: the memory after so many reviews.
	reviews []int
	bytes   []uint64
}

// invalidPatch is an answer whose patch makes an object that the API server refuses.
type invalidPatch struct {
	attempt *attempt
	message string
}

// liveSample is a sample as it went through the API server.
type liveSample struct {
	place   string // FILE:LINE
	title   string
	refused bool   // it must be refused
	want    string // regular expression for the message
	// err is what the API server answered; "" when it took the object.
	err string
	// denied tells that a webhook denied it; failed that calling a webhook failed.
	denied, failed bool
	// step is the request as it went.
	code  int
	calls []liveCall
}

// liveCall is a call of the webhook by the API server.
type liveCall struct{ hook, review, answer string }

// shutdownTrial is what came of a review under way when the process was asked to end.
type shutdownTrial struct {
	reason  string // why it was not tried; "" when it was
	problem string // what was wrong; "" when the review was answered
}

// rotationTrial is what came of a new certificate.
type rotationTrial struct {
	reason  string // why it was not tried or is not judged; "" when it was
	problem string
}
