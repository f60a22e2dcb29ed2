package cel

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxValueRunes is how much of a value is written.
const maxValueRunes = 100

// textOf writes a value as in CEL, cut where it is long, and an error as its message.
func textOf(value ref.Val) (text string, failed bool) {
	switch v := value.(type) {
	case *types.Err:
		return v.Error(), true
	case *types.Unknown, nil:
		return "unknown", true
	case types.String:
		return strconv.Quote(cut(string(v))), false
	}
	var written strings.Builder
	write(&written, value)
	return cut(written.String()), false
}

// write writes a value, and stops within it when there is more than will be read.
func write(text *strings.Builder, value ref.Val) {
	if text.Len() > 4*maxValueRunes {
		return
	}
	switch v := value.(type) {
	case types.String:
		text.WriteString(strconv.Quote(string(v)))
	case types.Null:
		text.WriteString("null")
	case types.Bytes:
		text.WriteString("b" + strconv.Quote(string(v)))
	case *types.Optional:
		if !v.HasValue() {
			text.WriteString("none")
			return
		}
		write(text, v.GetValue())
	case traits.Lister:
		text.WriteString("[")
		for i, it := 0, v.Iterator(); it.HasNext() == types.True; i++ {
			if i > 0 {
				text.WriteString(", ")
			}
			write(text, it.Next())
		}
		text.WriteString("]")
	case traits.Mapper:
		writeMap(text, v)
	default:
		if s, ok := value.ConvertToType(types.StringType).(types.String); ok {
			text.WriteString(string(s))
			return
		}
		text.WriteString(value.Type().TypeName())
	}
}

// writeMap writes the entries of a map in order of their keys.
func writeMap(text *strings.Builder, m traits.Mapper) {
	keys := map[string]ref.Val{}
	var order []string
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		var written strings.Builder
		write(&written, key)
		keys[written.String()] = key
		order = append(order, written.String())
	}
	slices.Sort(order)
	text.WriteString("{")
	for i, key := range order {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(key + ": ")
		write(text, m.Get(keys[key]))
	}
	text.WriteString("}")
}

// cut cuts off what is too long to be read.
func cut(text string) string {
	runes := []rune(text)
	if len(runes) <= maxValueRunes {
		return text
	}
	return string(runes[:maxValueRunes]) + "..."
}
