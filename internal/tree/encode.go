package tree

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Encode writes a value as a YAML document that Parse reads as the same value, fields in their order. References that
// have not been resolved stay as they are.
func Encode(n *Node) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(encoded(n)); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return out.Bytes(), nil
}

func encoded(n *Node) *yaml.Node {
	switch n.Kind {
	case Null:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(n.Value)}
	case Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(n.Value)}
	case Float:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: floatText(n)}
	case List:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.Items {
			out.Content = append(out.Content, encoded(item))
		}
		return out
	case Map:
		out := &yaml.Node{Kind: yaml.MappingNode}
		for _, field := range n.Fields {
			out.Content = append(out.Content, encodedString(field.Key), encoded(field.Value))
		}
		return out
	case String:
		text, _ := n.Value.(string)
		return encodedString(text)
	default: // Unknown
		return encodedString(n.Text)
	}
}

// floatText is a number that is no integer to a reader of YAML.
func floatText(n *Node) string {
	value, _ := n.Value.(float64)
	text := strconv.FormatFloat(value, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// encodedString is a string in a style that keeps every character.
func encodedString(text string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	odd := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	if ambiguous.MatchString(text) || strings.ContainsFunc(text, odd) || strings.HasPrefix(text, "\n") || strings.Contains(text, " \n") {
		out.Style = yaml.DoubleQuotedStyle
	}
	return out
}
