package fieldschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// The types below mirror those of package schema, which encoding/json cannot handle because of their embedded pointers.

type atom struct {
	Scalar *schema.Scalar `json:"s,omitempty"`
	List   *list          `json:"l,omitempty"`
	Map    *mapping       `json:"m,omitempty"`
}

type reference struct {
	Name         *string                     `json:"n,omitempty"`
	Inlined      *atom                       `json:"i,omitempty"`
	Relationship *schema.ElementRelationship `json:"r,omitempty"`
	Nullable     bool                        `json:"nil,omitempty"`
}

type list struct {
	Elements     reference                  `json:"e"`
	Relationship schema.ElementRelationship `json:"r,omitempty"`
	Keys         []string                   `json:"k,omitempty"`
}

type mapping struct {
	Fields       []structField              `json:"f,omitempty"`
	Unions       []schema.Union             `json:"u,omitempty"`
	Elements     reference                  `json:"e,omitzero"`
	Relationship schema.ElementRelationship `json:"r,omitempty"`
}

type structField struct {
	Name    string    `json:"n"`
	Type    reference `json:"t"`
	Default any       `json:"d,omitempty"`
}

// Encode returns a schema's types, by name, as JSON.
func Encode(s *schema.Schema) ([]byte, error) {
	types := map[string]*atom{}
	for i := range s.Types {
		if _, ok := types[s.Types[i].Name]; ok {
			return nil, fmt.Errorf("type %s is there twice", s.Types[i].Name)
		}
		types[s.Types[i].Name] = fromAtom(s.Types[i].Atom)
	}
	return json.Marshal(types)
}

// Decode adds the types that Encode encoded to a schema that was not used yet, in order of name.
func Decode(data []byte, into *schema.Schema) error {
	var types map[string]*atom
	if err := json.Unmarshal(data, &types); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		into.Types = append(into.Types, schema.TypeDef{Name: name, Atom: types[name].toAtom()})
	}
	return nil
}

func fromAtom(a schema.Atom) *atom {
	result := &atom{Scalar: a.Scalar}
	if a.List != nil {
		result.List = &list{fromReference(a.List.ElementType), a.List.ElementRelationship, a.List.Keys}
	}
	if a.Map != nil {
		result.Map = &mapping{
			Unions: a.Map.Unions, Elements: fromReference(a.Map.ElementType), Relationship: a.Map.ElementRelationship,
		}
		for _, f := range a.Map.Fields {
			result.Map.Fields = append(result.Map.Fields, structField{f.Name, fromReference(f.Type), jsonValue(f.Default)})
		}
	}
	return result
}

// jsonValue gives the maps of a value that was read from YAML string keys.
func jsonValue(value any) any {
	fromYAML, ok := value.(map[any]any)
	if !ok {
		return value
	}
	result := map[string]any{}
	for key, v := range fromYAML {
		result[fmt.Sprint(key)] = jsonValue(v)
	}
	return result
}

func fromReference(r schema.TypeRef) reference {
	result := reference{Name: r.NamedType, Relationship: r.ElementRelationship, Nullable: r.Nullable}
	if r.Inlined.Scalar != nil || r.Inlined.List != nil || r.Inlined.Map != nil {
		result.Inlined = fromAtom(r.Inlined)
	}
	return result
}

func (a *atom) toAtom() schema.Atom {
	result := schema.Atom{Scalar: a.Scalar}
	if a.List != nil {
		result.List = &schema.List{ElementType: a.List.Elements.toReference(), ElementRelationship: a.List.Relationship, Keys: a.List.Keys}
	}
	if a.Map != nil {
		result.Map = &schema.Map{Unions: a.Map.Unions, ElementType: a.Map.Elements.toReference(), ElementRelationship: a.Map.Relationship}
		for _, f := range a.Map.Fields {
			result.Map.Fields = append(result.Map.Fields, schema.StructField{Name: f.Name, Type: f.Type.toReference(), Default: f.Default})
		}
	}
	return result
}

func (r reference) toReference() schema.TypeRef {
	result := schema.TypeRef{NamedType: r.Name, ElementRelationship: r.Relationship, Nullable: r.Nullable}
	if r.Inlined != nil {
		result.Inlined = r.Inlined.toAtom()
	}
	return result
}
