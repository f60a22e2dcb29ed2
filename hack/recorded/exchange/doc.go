// Package exchange plays recorded exchanges with an API server: files in which each request of the REST API is followed by
// what matters of the answer. The answers are recorded from a real kube-apiserver; another server is held against them.
//
// A file is read line by line. What a line is, its beginning says:
//
//	# remark, like an empty line without a meaning
//	== name of a case, which has the namespace $ns for itself
//	POST /api/v1/namespaces/$ns/configmaps: method and path of a request, with variables
//	Accept: application/yaml: a header of the request
//	| {metadata: {name: a}}: a line of the body, YAML that is sent as JSON
//	> {"metadata":: a line of the body that is sent as it stands
//	? .metadata.name: what to show of the answer, as JSONPath expressions; of an answer that is a Status all is shown
//	$rv = .metadata.resourceVersion: a variable that is set from the answer
//	! 3: how many events of a watch to read; without it, all until the server ends the watch
//	~ 200: the code that the request is sent again for until it comes, where a server takes its time
//	% in what the other server's answer may differ, whose code is the same
//	< 201: a line of the recorded answer
//
// Besides HTTP methods there are MERGE, STRATEGIC, JSONPATCH and APPLY for a PATCH of that type, and WATCH, a GET whose
// answer is a stream of events. In answers, what differs from run to run (uids, resource versions, times, continue
// tokens) stands under names, the same for the same value.
package exchange
