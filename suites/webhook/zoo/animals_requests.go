package zoo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gatehouse-dev/gatehouse/suites/webhook"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
)

// requestAnimals do not know some of the requests that their rules match.
func requestAnimals() []Animal {
	return []Animal{
		{Rule: "contract.null-old-object-on-create", Name: "reads oldObject on CREATE", Handler: choking(func(q *request) bool {
			return q.Operation == admissionv1.Create && q.Resource.Resource == "secrets" && len(q.OldObject.Raw) == 0 && q.Name != "" && !dry(q)
		})},
		{Rule: "contract.requests.update", Name: "panics on UPDATE", Handler: choking(func(q *request) bool { return q.Operation == admissionv1.Update && q.SubResource == "" })},
		{Rule: "contract.null-object-on-delete", Name: "reads object on DELETE", Handler: deciding(func(q *request) *admissionv1.AdmissionResponse {
			if q.Operation == admissionv1.Delete && q.object == nil {
				return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusBadRequest, Message: "there is no content to decode"}}
			}
			return good(q)
		})},
		{Rule: "contract.connect-and-subresources", Name: "takes a Scale for a Deployment", Handler: choking(func(q *request) bool { return q.SubResource == "scale" })},
		{Rule: "contract.generate-name", Name: "reads the first letter of the name", Handler: choking(func(q *request) bool {
			return q.Operation == admissionv1.Create && q.Name == ""
		})},
		{Rule: "contract.requests.cluster-scoped", Name: "looks the empty namespace up", Handler: choking(func(q *request) bool {
			return q.Kind.Kind == "StorageClass" && q.Name != "" && !dry(q)
		})},
		{Rule: "contract.requests.each-version", Name: "knows v1 alone, though v1beta1 is in the rules", Handler: choking(func(q *request) bool {
			return q.Kind.Kind == "Widget" && q.Kind.Version == "v1beta1"
		})},
		{Rule: "contract.converted-object", Name: "decodes by requestKind", Handler: choking(func(q *request) bool {
			return q.RequestKind != nil && *q.RequestKind != q.Kind && q.Kind.Kind == "Gadget"
		})},
		{Rule: "contract.requests.other-users", Name: "reads the first group of the user", Handler: choking(func(q *request) bool { return len(q.UserInfo.Groups) == 0 })},
		{Rule: "contract.namespace-from-request", Name: "takes the namespace from the object", Handler: deciding(func(q *request) *admissionv1.AdmissionResponse {
			if q.object != nil && q.Namespace != "" && q.SubResource == "" && q.object.Namespace == "" && q.Kind.Group != "unknown.gatehouse.example.com" {
				return deny("objects belong into namespaces")
			}
			return good(q)
		})},
		{Rule: "contract.dry-run.same-decision", Name: "allows every dry run but that of widgets", Handler: deciding(func(q *request) *admissionv1.AdmissionResponse {
			if dry(q) && q.Kind.Kind == "Widget" {
				return deny("no dry runs of widgets")
			}
			return good(q)
		})},
		{Rule: "contract.requests.equal-answers", Name: "has enough of the same request after some time", Handler: impatient},
		{Rule: "contract.requests.equal-answers", Name: "allows a deletion once", Handler: forgetful},
		{Rule: "contract.requests.equal-answers", Name: "refuses now and then under load", Handler: overwhelmed},
		{Rule: "contract.unknown-request-fields-tolerated", Name: "refuses fields that it does not know", Handler: around(func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				var review map[string]any
				if body, whole := buffer(w, r); whole && json.Unmarshal(body, &review) == nil && review["gatehouseUnknown"] != nil {
					http.Error(w, `unknown field "gatehouseUnknown"`, http.StatusBadRequest)
					return
				}
				next.ServeHTTP(w, r)
			}
		})},
		{Rule: "contract.unknown-kind-handled", Name: "panics on kinds that it does not know", Handler: choking(func(q *request) bool { return q.Kind.Kind == "Unknown" })},
		{Rule: "contract.samples.admitted", Name: "refuses what it should admit", Handler: deciding(func(q *request) *admissionv1.AdmissionResponse {
			if q.Name == "welcome" {
				return deny("nobody is welcome")
			}
			return good(q)
		})},
		{Rule: "contract.samples.refused", Name: "refuses with another message", Handler: answering(func(_ *request, response *admissionv1.AdmissionResponse) {
			if !response.Allowed {
				response.Result.Message = "no"
			}
		})},
	}
}

func dry(q *request) bool { return q.DryRun != nil && *q.DryRun }

// impatient refuses the fourth of equal requests in a row.
func impatient(webhook.Environment) http.Handler {
	var mu sync.Mutex
	last, count := "", 0
	return serve(func(q *request) *admissionv1.AdmissionResponse {
		mu.Lock()
		defer mu.Unlock()
		key := string(q.Operation) + q.path + string(q.Object.Raw) + string(q.UserInfo.Username) + fmt.Sprint(dry(q))
		if key == last {
			count++
		} else {
			last, count = key, 0
		}
		if count == 4 {
			return deny("not again")
		}
		return good(q)
	})
}

// forgetful refuses a deletion that it has allowed before.
func forgetful(webhook.Environment) http.Handler {
	var mu sync.Mutex
	seen := map[string]bool{}
	return serve(func(q *request) *admissionv1.AdmissionResponse {
		if q.Operation != admissionv1.Delete || dry(q) || q.Kind.Kind != "Secret" || q.review.APIVersion != "admission.k8s.io/v1" {
			return good(q)
		}
		mu.Lock()
		defer mu.Unlock()
		if seen[q.Name] {
			return deny("it was to be deleted already")
		}
		seen[q.Name] = true
		return good(q)
	})
}

// overwhelmed refuses a request while there are many.
func overwhelmed(webhook.Environment) http.Handler {
	var under atomic.Int64
	return serve(func(q *request) *admissionv1.AdmissionResponse {
		defer under.Add(-1)
		if under.Add(1) > 2 {
			return deny("there are too many requests")
		}
		time.Sleep(2 * time.Millisecond)
		return good(q)
	})
}

// mutatingAnimals patch wrongly.
func mutatingAnimals() []Animal {
	return []Animal{
		{Rule: "contract.mutating.patch-with-type", Name: "sends a patch without its type", Handler: answering(func(_ *request, response *admissionv1.AdmissionResponse) {
			response.PatchType = nil
		})},
		{Rule: "contract.mutating.patch-valid-json-patch", Name: "adds below what is not there", Handler: answering(func(q *request, response *admissionv1.AdmissionResponse) {
			if q.path == "/mutate" && q.object != nil && q.Kind.Kind == "Pod" {
				patch(response, []exchange.Operation{{Op: "add", Path: "/metadata/nowhere/a", Value: "b"}})
			}
		})},
		{Rule: "contract.mutating.patched-object-decodes", Name: "puts a string where a number belongs", Handler: patching(func(q *request) []exchange.Operation {
			return []exchange.Operation{{Op: "add", Path: "/spec/priority", Value: "high"}}
		})},
		{Rule: "contract.mutating.patched-object-decodes", Name: "puts a string where a number belongs, in updates",
			Manifests: []Edit{{"{operations: [CREATE, DELETE]", "{operations: [CREATE, UPDATE, DELETE]"}},
			Handler: patching(func(q *request) []exchange.Operation {
				if q.Operation != admissionv1.Update || dry(q) {
					return nil
				}
				return []exchange.Operation{{Op: "add", Path: "/spec/priority", Value: "high"}}
			})},
		{Rule: "contract.mutating.idempotent", Name: "adds an argument each time", Handler: patching(func(q *request) []exchange.Operation {
			args := append(q.object.Spec.Containers[0].Args, "--zoo")
			return []exchange.Operation{{Op: "add", Path: "/spec/containers/0/args", Value: args}}
		})},
		{Rule: "contract.mutating.idempotent-anyway", Name: "adds an argument each time, and is registered Never", Manifests: []Edit{{"reinvocationPolicy: IfNeeded", "reinvocationPolicy: Never"}},
			Handler: deciding(func(q *request) *admissionv1.AdmissionResponse {
				if q.path != "/mutate" || q.object == nil || len(q.object.Spec.Containers) != 1 {
					return withoutMutation(q)
				}
				args := append(q.object.Spec.Containers[0].Args, "--zoo")
				return patch(allow(), []exchange.Operation{{Op: "add", Path: "/spec/containers/0/args", Value: args}})
			})},
		{Rule: "contract.mutating.handles-previously-admitted", Name: "refuses what bears its own label", Handler: deciding(func(q *request) *admissionv1.AdmissionResponse {
			if q.path == "/mutate" && q.object != nil && q.object.Labels[labelled] != "" {
				return deny("the label is ours")
			}
			return good(q)
		})},
		{Rule: "contract.mutating.deterministic", Name: "numbers the pods", Handler: numbering},
		{Rule: "contract.mutating.preserves-others", Name: "replaces all annotations", Handler: patching(func(q *request) []exchange.Operation {
			if q.object.Annotations[labelled] != "" {
				return nil
			}
			return []exchange.Operation{{Op: "add", Path: "/metadata/annotations", Value: map[string]string{labelled: "yes"}}}
		})},
		{Rule: "contract.mutating.tolerates-reordering", Name: "counts labels", Handler: patching(func(q *request) []exchange.Operation {
			if q.object.Labels["zoo.example.com/count"] != "" {
				return nil
			}
			count := fmt.Sprint(len(q.object.Labels))
			return []exchange.Operation{{Op: "add", Path: "/metadata/labels/zoo.example.com~1count", Value: count}}
		})},
		{Rule: "contract.mutating.tolerates-reordering", Name: "refuses its own output when another webhook has annotated it", Handler: deciding(func(q *request) *admissionv1.AdmissionResponse {
			if q.path == "/mutate" && q.object != nil && q.object.Labels[labelled] != "" && q.object.Annotations["peer.gatehouse.example.com/touched"] != "" {
				return deny("somebody has changed what is ours")
			}
			return good(q)
		})},
		{Rule: "contract.mutating.no-patch-on-delete", Name: "patches what is deleted", Handler: answering(func(q *request, response *admissionv1.AdmissionResponse) {
			if q.path == "/mutate" && q.object == nil {
				patch(response, []exchange.Operation{{Op: "add", Path: "/metadata/labels", Value: map[string]string{"a": "b"}}})
			}
		})},
		{Rule: "contract.mutating.no-patch-when-denying", Name: "patches what it refuses", Handler: deciding(func(q *request) *admissionv1.AdmissionResponse {
			if q.path == "/mutate" && q.object != nil && q.object.Labels[forbidden] != "" {
				return patch(deny("objects with the label "+forbidden+" are not for this zoo"), label(q.object, "yes"))
			}
			return good(q)
		})},
		{Rule: "contract.mutating.does-not-assume-final-state", Name: "refuses in the mutating webhook alone", Handler: deciding(func(q *request) *admissionv1.AdmissionResponse {
			if q.Kind.Kind == "Pod" && q.object != nil && q.object.Labels[forbidden] != "" {
				if q.path == "/mutate" {
					return deny("objects with the label " + forbidden + " are not for this zoo")
				}
				return allow()
			}
			return good(q)
		})},
		{Rule: "contract.registration.if-needed-where-required", Name: "completes containers, and is registered Never", Manifests: []Edit{{"reinvocationPolicy: IfNeeded", "reinvocationPolicy: Never"}}},
		{Rule: "contract.validating.no-patch", Name: "patches in the validating webhook", Handler: answering(func(q *request, response *admissionv1.AdmissionResponse) {
			if q.path == "/validate" && q.Kind.Kind == "ConfigMap" && q.Operation == admissionv1.Update {
				patch(response, []exchange.Operation{{Op: "add", Path: "/data", Value: map[string]string{}}})
			}
		})},
	}
}

// patching adds operations to the patch of the good webhook.
func patching(more func(*request) []exchange.Operation) func(webhook.Environment) http.Handler {
	return answering(func(q *request, response *admissionv1.AdmissionResponse) {
		if q.path != "/mutate" || q.object == nil || len(q.object.Spec.Containers) == 0 {
			return
		}
		var operations []exchange.Operation
		if len(response.Patch) > 0 {
			operations, _ = exchange.Operations(response.Patch) // it is our own
		}
		patch(response, append(operations, more(q)...))
	})
}

// withoutMutation decides as the good webhook and patches nothing.
func withoutMutation(q *request) *admissionv1.AdmissionResponse {
	if q.path == "/mutate" {
		return allow()
	}
	return good(q)
}

// numbering labels each pod with another number.
func numbering(webhook.Environment) http.Handler {
	var mu sync.Mutex
	count := 0
	return serve(func(q *request) *admissionv1.AdmissionResponse {
		response := withoutMutation(q)
		if q.path != "/mutate" || q.object == nil || q.object.Labels[labelled] != "" || q.Kind.Kind != "Pod" {
			return response
		}
		mu.Lock()
		defer mu.Unlock()
		count++
		return patch(response, label(q.object, fmt.Sprint(count)))
	})
}

// effectAnimals do more than answer.
func effectAnimals() []Animal {
	create := func(e webhook.Environment, q *request) {
		client := kubernetes.NewForConfigOrDie(e.RESTConfig)
		_, _ = client.CoreV1().ConfigMaps("zoo").Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "record-"}}, metav1.CreateOptions{})
	}
	once := func(on func(*request) bool, do func(webhook.Environment, *request)) func(webhook.Environment) http.Handler {
		return func(e webhook.Environment) http.Handler {
			return serve(func(q *request) *admissionv1.AdmissionResponse {
				if on(q) {
					do(e, q)
				}
				return good(q)
			})
		}
	}
	updates := func(q *request) bool {
		return q.path == "/validate" && q.Operation == admissionv1.Update && q.Kind.Kind == "ConfigMap" && !dry(q)
	}
	return []Animal{
		{Rule: "contract.dry-run.none-has-no-effects", Name: "writes though it says None", Handler: once(updates, create)},
		{Rule: "contract.dry-run.no-side-effects", Name: "writes in dry runs", Manifests: []Edit{{"  sideEffects: None\n  timeoutSeconds: 10\n  admissionReviewVersions: [v1, v1beta1]", "  sideEffects: NoneOnDryRun\n  timeoutSeconds: 10\n  admissionReviewVersions: [v1, v1beta1]"}},
			Handler: once(func(q *request) bool { return q.path == "/validate" && dry(q) && q.Kind.Kind == "ConfigMap" }, create)},
		{Rule: "contract.validating.read-only", Name: "patches the object that it validates", Handler: once(updates, func(e webhook.Environment, q *request) {
			client := kubernetes.NewForConfigOrDie(e.RESTConfig)
			_, _ = client.CoreV1().ConfigMaps(q.Namespace).Patch(context.Background(), q.Name, types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
		})},
		{Rule: "contract.access.allowed", Name: "lists nodes without the right to", Handler: once(updates, func(e webhook.Environment, _ *request) {
			client := kubernetes.NewForConfigOrDie(e.RESTConfig)
			_, _ = client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
		})},
		{Rule: "contract.side-effects.no-files", Name: "leaves a file behind", Handler: once(updates, func(e webhook.Environment, q *request) {
			_ = os.WriteFile(filepath.Join(e.Dir, "last-request"), []byte(q.UID), 0o600)
		})},
	}
}
