package reports

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// What the page shows of a body: so many bytes, and of a string within it so many.
const (
	htmlBodyLimit   = 64 << 10
	htmlStringLimit = 200
)

// prettyBody is a body as people read it: JSON is indented, without what hides the rest (report.json has all), and of a
// very long body only the beginning is shown.
func prettyBody(body string) string {
	var value any
	if json.Unmarshal([]byte(body), &value) == nil {
		if data, err := json.MarshalIndent(readable(value), "", "  "); err == nil {
			body = string(data)
		}
	}
	body = strings.TrimRight(clean(body), "\n")
	if len(body) <= htmlBodyLimit {
		return body
	}
	end := htmlBodyLimit
	for end > 0 && !slices.Contains([]byte("\n }"), body[end]) {
		end--
	}
	return strings.ToValidUTF8(body[:end], "") + fmt.Sprintf("\n... %d more bytes", len(body)-end)
}

// readable returns a value without managed fields and without the ends of long strings, such as a caBundle, and with the
// patch of a webhook's response decoded.
func readable(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, field := range v {
			entries, _ := field.([]any)
			switch patch := decodedPatch(v, key); {
			case patch != nil:
				out["patch (decoded)"] = readable(patch)
			case key == "managedFields" && len(entries) > 0:
				out[key] = plural(len(entries), "entry", "entries")
			default:
				out[key] = readable(field)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = readable(item)
		}
		return out
	case string:
		if len(v) > htmlStringLimit {
			return fmt.Sprintf("%s (%d bytes)", cut(v, htmlStringLimit), len(v))
		}
	}
	return value
}

// decodedPatch is the patch of an AdmissionReview's response, whose other fields stand beside it; nil for anything else.
func decodedPatch(response map[string]any, key string) any {
	text, _ := response[key].(string)
	_, answered := response["allowed"]
	if key != "patch" || !answered {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	var patch any
	if json.Unmarshal(data, &patch) != nil {
		return nil
	}
	return patch
}
