package webhook

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstreamerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"
	upstreamrequest "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
)

func ptr[T any](value T) *T { return &value }

func TestVerify(t *testing.T) {
	v1Meta := metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}
	v1 := func(response *admissionv1.AdmissionResponse) runtime.Object {
		return &admissionv1.AdmissionReview{TypeMeta: v1Meta, Response: response}
	}
	v1beta1 := func(response *admissionv1beta1.AdmissionResponse) runtime.Object {
		return &admissionv1beta1.AdmissionReview{Response: response}
	}
	jsonPatch, empty := admissionv1.PatchTypeJSONPatch, admissionv1.PatchType("")
	tests := []struct {
		name     string
		mutating bool
		review   runtime.Object
		err      string
		want     *answer
	}{
		{"v1 allowed", false, v1(&admissionv1.AdmissionResponse{UID: "u", Allowed: true, Warnings: []string{"w"}}), "",
			&answer{allowed: true, warnings: []string{"w"}}},
		{"v1 without response", false, v1(nil), "webhook response was absent", nil},
		{"v1 wrong uid", false, v1(&admissionv1.AdmissionResponse{UID: "x"}), `expected response.uid="u", got "x"`, nil},
		{"v1 no uid", false, v1(&admissionv1.AdmissionResponse{}), `expected response.uid="u", got ""`, nil},
		{"v1 without kind", false, &admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{UID: "u"}},
			"expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=", nil},
		{"v1 patch", true, v1(&admissionv1.AdmissionResponse{UID: "u", Patch: []byte("[]"), PatchType: &jsonPatch}), "",
			&answer{patch: []byte("[]"), patchType: jsonPatch}},
		{"v1 patch without type", true, v1(&admissionv1.AdmissionResponse{UID: "u", Patch: []byte("[]")}),
			"webhook returned response.patch but not response.patchType", nil},
		{"v1 type without patch", true, v1(&admissionv1.AdmissionResponse{UID: "u", PatchType: &jsonPatch}),
			"webhook returned response.patchType but not response.patch", nil},
		{"v1 empty type without patch", true, v1(&admissionv1.AdmissionResponse{UID: "u", PatchType: &empty}),
			"webhook returned response.patchType but not response.patch", nil},
		{"v1 empty type", true, v1(&admissionv1.AdmissionResponse{UID: "u", Patch: []byte("[]"), PatchType: &empty}),
			`webhook returned invalid response.patchType of ""`, nil},
		{"v1 other type is told later", true, v1(&admissionv1.AdmissionResponse{UID: "u", Patch: []byte("[]"), PatchType: ptr(admissionv1.PatchType("X"))}), "",
			&answer{patch: []byte("[]"), patchType: "X"}},
		{"v1 validating with patch", false, v1(&admissionv1.AdmissionResponse{UID: "u", Patch: []byte("[]"), PatchType: &jsonPatch}),
			"validating webhook may not return response.patch", nil},
		{"v1 validating with type", false, v1(&admissionv1.AdmissionResponse{UID: "u", PatchType: &empty}),
			"validating webhook may not return response.patchType", nil},
		{"v1beta1 needs no uid", false, v1beta1(&admissionv1beta1.AdmissionResponse{Allowed: true}), "", &answer{allowed: true}},
		{"v1beta1 without response", false, v1beta1(nil), "webhook response was absent", nil},
		{"v1beta1 patch of any type", true, v1beta1(&admissionv1beta1.AdmissionResponse{Patch: []byte("[]"), PatchType: ptr(admissionv1beta1.PatchType("X"))}), "",
			&answer{patch: []byte("[]"), patchType: jsonPatch}},
		{"v1beta1 validating with patch", false, v1beta1(&admissionv1beta1.AdmissionResponse{Patch: []byte("[]")}), "", &answer{}},
		{"no review at all", false, &metav1.Status{}, "unexpected response type *v1.Status", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := verify("u", tt.mutating, tt.review)
			if text := errorText(err); text != tt.err {
				t.Fatalf("error %q, want %q", text, tt.err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(answer{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The API server's own code gives a second opinion on random answers.
func TestVerifyAsUpstream(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 5000 {
		review := &admissionv1.AdmissionReview{}
		if r.IntN(4) > 0 {
			review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
		}
		if r.IntN(8) > 0 {
			review.Response = &admissionv1.AdmissionResponse{UID: "u", Allowed: r.IntN(2) == 0}
			if r.IntN(4) == 0 {
				review.Response.UID = "x"
			}
			if r.IntN(2) == 0 {
				review.Response.Patch = []byte("[]")
			}
			if r.IntN(2) == 0 {
				review.Response.PatchType = ptr([]admissionv1.PatchType{"", "JSONPatch", "Other"}[r.IntN(3)])
			}
		}
		var decoded runtime.Object = review
		if r.IntN(3) == 0 {
			beta := &admissionv1beta1.AdmissionReview{}
			if response := review.Response; response != nil {
				beta.Response = &admissionv1beta1.AdmissionResponse{UID: response.UID, Allowed: response.Allowed, Patch: response.Patch}
			}
			decoded = beta
		}
		mutating := r.IntN(2) == 0
		got, err := verify("u", mutating, decoded)
		want, wantErr := upstreamrequest.VerifyAdmissionResponse("u", mutating, decoded)
		if errorText(err) != errorText(wantErr) {
			t.Fatalf("mutating %v, %+v: error %v, upstream %v", mutating, decoded, err, wantErr)
		}
		if err == nil && (got.allowed != want.Allowed || string(got.patch) != string(want.Patch) || got.patchType != want.PatchType) {
			t.Fatalf("mutating %v, %+v: %+v, upstream %+v", mutating, decoded, got, want)
		}
	}
}

func TestDenial(t *testing.T) {
	h := &hook{name: "w.example.com"}
	for name, result := range map[string]*metav1.Status{
		"nothing":              nil,
		"empty":                {},
		"message":              {Message: "because"},
		"reason":               {Reason: metav1.StatusReasonForbidden},
		"message and reason":   {Message: "because", Reason: metav1.StatusReasonForbidden, Code: 403},
		"code below 400":       {Code: 399},
		"success":              {Status: metav1.StatusSuccess, Code: 200, Message: "fine"},
		"other status":         {Status: "Sulking", Code: 418},
		"code beyond 599":      {Code: 999},
		"details":              {Code: 422, Details: &metav1.StatusDetails{Name: "x", RetryAfterSeconds: 3, Causes: []metav1.StatusCause{{Field: "f"}}}},
		"metadata of a Status": {ListMeta: metav1.ListMeta{ResourceVersion: "7"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := upstreamerrors.ToStatusErr(h.name, result.DeepCopy())
			before := result.DeepCopy()
			ending, err := h.settle(h.denial(result))
			status := (*apierrors.StatusError)(nil)
			if ending != "denied" || !errors.As(err, &status) {
				t.Fatalf("%s, %v", ending, err)
			}
			if diff := cmp.Diff(want.ErrStatus, status.ErrStatus); diff != "" {
				t.Errorf("(-upstream +got):\n%s", diff)
			}
			if !cmp.Equal(before, result) {
				t.Error("the answer was changed")
			}
		})
	}
}

func TestSettle(t *testing.T) {
	failing, ignoring := &hook{name: "w"}, &hook{name: "w", ignoreFailures: true}
	refused := failing.failed("failed to call webhook: %w", errors.New("connection refused"))
	tests := []struct {
		name   string
		hook   *hook
		err    error
		ending string
		want   string
	}{
		{"no error", failing, nil, "allowed", ""},
		{"failure, Fail", failing, refused, "failed", `Internal error occurred: failed calling webhook "w": failed to call webhook: connection refused`},
		{"failure, Ignore", ignoring, refused, "failed-open", ""},
		{"denial, Ignore", ignoring, ignoring.denial(nil), "denied", `admission webhook "w" denied the request without explanation`},
		{"dry run, Ignore", ignoring, ignoring.dryRunOf("Some"), "failed", `admission webhook "w" does not support dry run`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ending, err := tt.hook.settle(tt.err)
			if string(ending) != tt.ending || !strings.Contains(errorText(err), tt.want) || (err == nil) != (tt.want == "") {
				t.Errorf("%s, %v; want %s, %q", ending, err, tt.ending, tt.want)
			}
		})
	}
}

// dryRunOf is the error that a dry run gets from the webhook if its side effects are of the class.
func (h hook) dryRunOf(class string) error {
	h.sideEffects = (*sideEffectClass)(&class)
	return h.allowsDryRun()
}
