package webhook

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	admissionv1 "k8s.io/api/admission/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

// decodePatch returns the operations of an answer's patch, none where it has no patch. A patch that is no JSON patch is a
// failure of the webhook; an operation that means nothing shows only when it is applied.
func (h *hook) decodePatch(answer *answer) (jsonpatch.Patch, error) {
	if len(answer.patch) == 0 {
		return nil, nil
	}
	patch, err := jsonpatch.DecodePatch(answer.patch)
	if err != nil {
		return nil, h.failed("received undecodable patch in webhook response: %w", err)
	}
	return patch, nil
}

// patched returns the object as the patch leaves it, with defaults for what the patch added, and whether the patch
// changed it. Except for an unknown patch type, the errors are not subject to the failure policy: the webhook did answer,
// and it is unknown what it wanted.
func (h *hook) patched(objects *versions.Version, patch jsonpatch.Patch, patchType admissionv1.PatchType, interfaces admission.ObjectInterfaces) (runtime.Object, bool, error) {
	before := objects.VersionedObject.Object()
	if before == nil {
		return nil, false, apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", h.name))
	}
	if patchType != admissionv1.PatchTypeJSONPatch {
		return nil, false, h.failed("unsupported patch type %q", patchType)
	}
	encoded, err := objects.ObjectJSON()
	if err != nil {
		return nil, false, apierrors.NewInternalError(err)
	}
	encoded, err = patch.Apply(encoded)
	if err != nil {
		return nil, false, apierrors.NewInternalError(err)
	}
	after, err := decodeLike(before, objects, encoded, interfaces)
	if err != nil {
		return nil, false, apierrors.NewInternalError(err)
	}
	// As on a kube-apiserver, the first patch of a request that writes managedFields is a change even where it alters
	// nothing: their new entry has a time finer than JSON can hold.
	changed := !apiequality.Semantic.DeepEqual(before, after)
	interfaces.GetObjectDefaulter().Default(after)
	return after, changed, nil
}

// decodeLike decodes an object that is of the kind of another, unless it says otherwise of itself.
func decodeLike(before runtime.Object, objects *versions.Version, encoded []byte, interfaces admission.ObjectInterfaces) (runtime.Object, error) {
	var into runtime.Object = &unstructured.Unstructured{}
	if _, ok := before.(*unstructured.Unstructured); !ok {
		var err error
		if into, err = interfaces.GetObjectCreater().New(objects.VersionedKind); err != nil {
			return nil, err
		}
	}
	decoder := serializerjson.NewSerializerWithOptions(serializerjson.DefaultMetaFactory,
		interfaces.GetObjectCreater(), interfaces.GetObjectTyper(), serializerjson.SerializerOptions{})
	decoded, _, err := decoder.Decode(encoded, nil, into)
	if err != nil {
		return nil, err
	}
	return decoded, nil
}

// describePatch writes the operations that change something, one a line.
func describePatch(patch jsonpatch.Patch) []string {
	var lines []string
	for _, operation := range patch {
		kind := operation.Kind()
		if kind == "test" {
			continue
		}
		path, _ := operation.Path()
		line := kind + " " + path
		if from, err := operation.From(); err == nil {
			line += " from " + from
		}
		if value := operation["value"]; value != nil {
			line += " " + compact(*value)
		}
		lines = append(lines, line)
	}
	return lines
}

func compact(value json.RawMessage) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return string(value)
	}
	return string(encoded)
}
