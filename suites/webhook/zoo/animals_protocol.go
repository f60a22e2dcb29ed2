package zoo

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-dev/gatehouse/suites/webhook"
)

// endpointAnimals have servers that are wrong.
func endpointAnimals() []Animal {
	return []Animal{
		{Rule: "contract.endpoint.https-post-json", Name: "speaks plain text", Handler: around(func(http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "allowed") }
		})},
		{Rule: "contract.endpoint.path-served", Name: "serves another path", Manifests: []Edit{{"path: /validate", "path: /validate-v1"}}},
		{Rule: "contract.endpoint.content-type", Name: "calls JSON text", Handler: around(func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(textWriter{w}, r) }
		})},
		{Rule: "contract.endpoint.concurrent-requests", Name: "keeps the uid in a variable of all requests", Handler: sharedUID},
		{Rule: "contract.endpoint.large-objects", Name: "reads one MiB", Handler: around(func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				const limit = 1 << 20
				if r.ContentLength > limit {
					http.Error(w, "too large", http.StatusRequestEntityTooLarge)
					return
				}
				next.ServeHTTP(w, r)
			}
		})},
		{Rule: "contract.response.malformed-request-handled", Name: "allows what it cannot read", Handler: around(func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				body, whole := buffer(w, r)
				if whole && r.Method == http.MethodPost && !isReview(body) {
					write(w, &request{AdmissionRequest: &admissionv1.AdmissionRequest{}, review: &admissionv1.AdmissionReview{}}, allow())
					return
				}
				next.ServeHTTP(w, r)
			}
		})},
		{Rule: "contract.robustness.no-request", Name: "reads the request without looking whether there is one", Handler: around(func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if body, whole := buffer(w, r); whole && isReview(body) && !bytes.Contains(body, []byte(`"request"`)) {
					panic(http.ErrAbortHandler)
				}
				next.ServeHTTP(w, r)
			}
		})},
		{Rule: "contract.robustness.wrong-method", Name: "takes any method", Handler: around(func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut {
					r.Method = http.MethodPost
				}
				next.ServeHTTP(w, r)
			}
		})},
		{Rule: "contract.robustness.over-large", Name: "reads bodies of any size", Handler: around(func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.ContentLength > 8<<20 {
					_, _ = io.Copy(io.Discard, r.Body)
					q := &request{AdmissionRequest: &admissionv1.AdmissionRequest{}, review: &admissionv1.AdmissionReview{}}
					write(w, q, allow())
					return
				}
				next.ServeHTTP(w, r)
			}
		})},
		{Rule: "contract.robustness.probes", Name: "panics on GET", Handler: around(func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					panic(http.ErrAbortHandler)
				}
				next.ServeHTTP(w, r)
			}
		})},
		{Rule: "contract.robustness.survives", Name: "is done for after an empty body", Handler: doneFor},
		{Rule: "contract.time.half-timeout", Name: "does everything behind one lock", Handler: locked},
		{Rule: "contract.response.within-timeout", Name: "takes too long over updates", Handler: around(func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				body, _ := buffer(w, r)
				if bytes.Contains(body, []byte(`"operation":"UPDATE"`)) && bytes.Contains(body, []byte(`"resource":"configmaps"`)) {
					<-r.Context().Done()
					return
				}
				next.ServeHTTP(w, r)
			}
		})},
	}
}

// textWriter calls every answer text.
type textWriter struct{ http.ResponseWriter }

func (w textWriter) WriteHeader(code int) {
	w.Header().Set("Content-Type", "text/plain")
	w.ResponseWriter.WriteHeader(code)
}

func (w textWriter) Write(p []byte) (int, error) {
	w.Header().Set("Content-Type", "text/plain")
	return w.ResponseWriter.Write(p)
}

// buffer reads a body and puts it back; false for one that is larger than any review.
func buffer(w http.ResponseWriter, r *http.Request) (body []byte, whole bool) {
	const limit = 8 << 20
	if r.ContentLength > limit {
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err == nil
}

func isReview(body []byte) bool {
	var review struct{ Kind string }
	return json.Unmarshal(body, &review) == nil && review.Kind == "AdmissionReview"
}

// sharedUID answers with the uid of the request that came last, which is another one when there are many.
func sharedUID(webhook.Environment) http.Handler {
	var mu sync.Mutex
	var last *request
	return serve(func(q *request) *admissionv1.AdmissionResponse {
		mu.Lock()
		last = q
		mu.Unlock()
		time.Sleep(time.Millisecond)
		response := good(q)
		mu.Lock()
		defer mu.Unlock()
		response.UID = last.UID
		return response
	})
}

// doneFor answers nothing any more after an empty body.
func doneFor(webhook.Environment) http.Handler {
	var mu sync.Mutex
	done := false
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		gone := done
		done = done || r.Method == http.MethodPost && r.ContentLength == 0
		mu.Unlock()
		if gone && r.ContentLength > 0 && r.ContentLength < 1<<20 {
			if body, whole := buffer(w, r); whole && bytes.Contains(body, []byte(`"request"`)) {
				panic(http.ErrAbortHandler)
			}
		}
		serve(good).ServeHTTP(w, r)
	})
}

// locked lets one request in at a time.
func locked(webhook.Environment) http.Handler {
	var mu sync.Mutex
	return serve(func(q *request) *admissionv1.AdmissionResponse {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(q.Name, "welcome") {
			time.Sleep(100 * time.Millisecond)
		}
		return good(q)
	})
}

// responseAnimals answer something wrong.
func responseAnimals() []Animal {
	return []Animal{
		{Rule: "contract.response.same-version-as-request", Name: "leaves the kind out", Handler: around(func(next http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if body, whole := buffer(w, r); whole && bytes.Contains(body, []byte("admission.k8s.io/v1\"")) {
					if q, err := read(body, r.URL.Path); err == nil && r.Method == http.MethodPost {
						q.review.TypeMeta = metav1.TypeMeta{APIVersion: q.review.APIVersion}
						write(w, q, good(q))
						return
					}
				}
				next.ServeHTTP(w, r)
			}
		})},
		{Rule: "contract.response.response-present", Name: "sends the review back without a response", Handler: deciding(func(q *request) *admissionv1.AdmissionResponse {
			if q.review.APIVersion == "admission.k8s.io/v1" && q.Operation == admissionv1.Delete && q.Resource.Resource == "secrets" {
				return nil
			}
			return good(q)
		})},
		{Rule: "contract.response.uid-echoed", Name: "makes a uid of its own for deletions", Handler: answering(func(q *request, response *admissionv1.AdmissionResponse) {
			if q.Operation == admissionv1.Delete {
				response.UID = "00000000-0000-0000-0000-000000000000"
			}
		})},
		{Rule: "contract.response.each-declared-version-supported", Name: "answers v1beta1 with v1", Handler: answering(func(q *request, _ *admissionv1.AdmissionResponse) {
			q.review.APIVersion = "admission.k8s.io/v1"
		})},
		{Rule: "contract.response.denial-has-explanation", Name: "refuses without a word", Handler: answering(func(_ *request, response *admissionv1.AdmissionResponse) {
			if !response.Allowed {
				response.Result.Message = ""
			}
		}), Manifests: nil},
		{Rule: "contract.response.denial-code-sensible", Name: "refuses with code 500", Handler: answering(func(_ *request, response *admissionv1.AdmissionResponse) {
			if !response.Allowed {
				response.Result.Code = http.StatusInternalServerError
			}
		})},
		{Rule: "contract.response.no-secrets-in-messages", Name: "tells what a secret holds", Handler: answering(func(q *request, response *admissionv1.AdmissionResponse) {
			if q.Kind.Kind == "Secret" && q.object != nil {
				for _, value := range q.object.Data {
					if text, ok := value.(string); ok {
						response.Warnings = append(response.Warnings, "found "+text)
					}
				}
			}
		})},
		{Rule: "contract.warnings.length", Name: "warns at length", Handler: answering(func(_ *request, response *admissionv1.AdmissionResponse) {
			response.Warnings = []string{strings.Repeat("take care, ", 30)}
		})},
		{Rule: "contract.warnings.no-prefix", Name: "says Warning in warnings", Handler: answering(func(_ *request, response *admissionv1.AdmissionResponse) {
			response.Warnings = []string{"Warning: take care"}
		})},
		{Rule: "contract.audit.key-format", Name: "puts a domain into audit keys", Handler: answering(func(_ *request, response *admissionv1.AdmissionResponse) {
			response.AuditAnnotations = map[string]string{"zoo.example.com/decision": "allowed"}
		})},
		{Rule: "contract.audit.value-size", Name: "audits objects whole", Handler: answering(func(_ *request, response *admissionv1.AdmissionResponse) {
			response.AuditAnnotations = map[string]string{"object": strings.Repeat("x", 2000)}
		})},
	}
}

// tlsAnimal serves a certificate of its own.
func tlsAnimal() Animal {
	return Animal{Rule: "contract.endpoint.tls-name-matches", Name: "shows a certificate that nobody vouches for", Process: true, Serve: func(p Process) error {
		certificate, err := strangersCertificate()
		if err != nil {
			return err
		}
		return p.serve(&tls.Config{Certificates: []tls.Certificate{certificate}}, nil)
	}}
}
