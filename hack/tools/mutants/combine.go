package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// selected is the environment variable that names the mutant of a combined build that is to act.
const selected = "GATEHOUSE_MUTANT"

// combination is the sources of one build that holds many mutants. Beside each function that a mutant changes stands the
// mutant's variant of it, and in the function's place one that calls the variant of the mutant that is selected, or the
// original. A combination without a selected mutant acts as the sources do.
type combination struct {
	files map[string]*combinedFile // by the path relative to the root
}

// combinedFile is a source file with variants of its functions.
type combinedFile struct {
	source    *goFile
	imports   []string            // import specs of the variants that the file itself has not
	variants  map[string][]string // by the function's key: case clauses that call them
	functions []string            // the text of the variants
}

// errNotCombinable says that a mutant changes something else than the bodies of functions.
var errNotCombinable = errors.New("changes more than the bodies of functions")

// add adds a mutant's version of its files. With an error nothing is added.
func (c *combination) add(mutant string, original, mutated map[string][]byte) error {
	type change struct {
		file      string
		source    *goFile
		imports   []string
		functions []*function
	}
	var changes []change
	for file, data := range mutated {
		before, err := parseGo(file, original[file])
		if err != nil {
			return err
		}
		after, err := parseGo(file, data)
		if err != nil {
			return err
		}
		if known := c.files[file]; known != nil {
			before = known.source
		}
		functions, err := changed(before, after)
		if err != nil {
			return err
		}
		have := before.imports
		if known := c.files[file]; known != nil {
			have = slices.Concat(have, known.imports)
		}
		added, err := addedImports(have, after.imports)
		if err != nil {
			return err
		}
		changes = append(changes, change{file, before, added, functions})
	}
	for _, ch := range changes {
		f := c.files[ch.file]
		if f == nil {
			f = &combinedFile{source: ch.source, variants: map[string][]string{}}
			c.files[ch.file] = f
		}
		f.imports = append(f.imports, ch.imports...)
		for _, fn := range ch.functions {
			name := fmt.Sprintf("%s_mutant%d", fn.decl.Name.Name, len(f.functions))
			f.variants[fn.key()] = append(f.variants[fn.key()], fmt.Sprintf("case %q:\n%s", mutant, fn.call(name)))
			f.functions = append(f.functions, fn.renamed(name))
		}
	}
	return nil
}

// sources returns the files of the build, by the path relative to the root.
func (c *combination) sources() map[string][]byte {
	sources := map[string][]byte{}
	for file, f := range c.files {
		sources[file] = f.text()
		var selector bytes.Buffer
		fmt.Fprintf(&selector, "package %s\n\nimport \"os\"\n\nvar selectedMutant_ = os.Getenv(%q)\n", f.source.tree.Name.Name, selected)
		sources[path.Join(path.Dir(file), "selected_mutant_.go")] = selector.Bytes()
	}
	return sources
}

func (f *combinedFile) text() []byte {
	type edit struct {
		at, length int
		text       string
	}
	var edits []edit
	var dispatches strings.Builder
	for _, fn := range f.source.functions {
		cases, ok := f.variants[fn.key()]
		if !ok {
			continue
		}
		original := fn.decl.Name.Name + "_original"
		edits = append(edits, edit{fn.file.offset(fn.decl.Name.Pos()), len(fn.decl.Name.Name), original})
		fmt.Fprintf(&dispatches, "\n%s {\nswitch selectedMutant_ {\n%s\ndefault:\n%s\n}\n}\n", fn.signature(), strings.Join(cases, "\n"), fn.call(original))
	}
	if len(f.imports) > 0 {
		after := f.source.tree.Name.End()
		for _, d := range f.source.tree.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				after = g.End()
			}
		}
		edits = append(edits, edit{f.source.offset(after), 0, "\nimport (\n" + strings.Join(f.imports, "\n") + "\n)\n"})
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var out bytes.Buffer
	from := 0
	for _, e := range edits {
		out.Write(f.source.data[from:e.at])
		out.WriteString(e.text)
		from = e.at + e.length
	}
	out.Write(f.source.data[from:])
	out.WriteString(dispatches.String())
	for _, text := range f.functions {
		out.WriteString("\n" + text + "\n")
	}
	return out.Bytes()
}

// goFile is a parsed source file.
type goFile struct {
	data      []byte
	set       *token.FileSet
	tree      *ast.File
	imports   []string // the specs' text, sorted
	functions []*function
}

// function is a function or method with a body.
type function struct {
	file *goFile
	decl *ast.FuncDecl
}

func parseGo(name string, data []byte) (*goFile, error) {
	f := &goFile{data: data, set: token.NewFileSet()}
	var err error
	if f.tree, err = parser.ParseFile(f.set, filepath.Base(name), data, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	for _, spec := range f.tree.Imports {
		f.imports = append(f.imports, f.between(spec))
	}
	slices.Sort(f.imports)
	for _, d := range f.tree.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
			f.functions = append(f.functions, &function{f, d})
		}
	}
	return f, nil
}

func (f *goFile) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *goFile) between(n ast.Node) string {
	return string(f.data[f.offset(n.Pos()):f.offset(n.End())])
}

// changed returns the functions of after whose bodies differ from those of before.
func changed(before, after *goFile) ([]*function, error) {
	if !slices.Equal(before.others(), after.others()) || len(before.functions) != len(after.functions) {
		return nil, errNotCombinable
	}
	var differing []*function
	for i, now := range after.functions {
		was := before.functions[i]
		if was.key() != now.key() || was.signature() != now.signature() {
			return nil, errNotCombinable
		}
		if before.between(was.decl) == after.between(now.decl) {
			continue
		}
		if now.decl.Name.Name == "init" || now.decl.Name.Name == "_" {
			return nil, errNotCombinable
		}
		differing = append(differing, now)
	}
	if len(differing) == 0 {
		return nil, errNotCombinable
	}
	return differing, nil
}

// others is the text of the declarations that are neither imports nor functions.
func (f *goFile) others() []string {
	var texts []string
	for _, d := range f.tree.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.IMPORT {
			texts = append(texts, f.between(d))
		}
	}
	return texts
}

// addedImports returns the imports that are not there yet.
func addedImports(have, want []string) ([]string, error) {
	var added []string
	for _, spec := range want {
		if slices.Contains(have, spec) {
			continue
		}
		for _, other := range have {
			if importName(other) == importName(spec) {
				return nil, errNotCombinable
			}
		}
		added = append(added, spec)
	}
	return added, nil
}

// importName is the name that an import is used by, as far as its text tells.
func importName(spec string) string {
	if name, _, aliased := strings.Cut(spec, " "); aliased {
		return name
	}
	return path.Base(strings.Trim(spec, `"`))
}

// key tells the functions of a file apart.
func (fn *function) key() string {
	if fn.decl.Recv == nil {
		return fn.decl.Name.Name
	}
	return fn.file.between(fn.decl.Recv.List[0].Type) + "." + fn.decl.Name.Name
}

// signature is the head of the function, with names of our own for the receiver and the parameters.
func (fn *function) signature() string {
	var s strings.Builder
	s.WriteString("func ")
	if fn.decl.Recv != nil {
		fmt.Fprintf(&s, "(r_ %s) ", fn.file.between(fn.decl.Recv.List[0].Type))
	}
	s.WriteString(fn.decl.Name.Name)
	if params := fn.decl.Type.TypeParams; params != nil {
		s.WriteString(fn.file.between(params))
	}
	s.WriteString("(")
	for i, p := range flatten(fn.decl.Type.Params) {
		fmt.Fprintf(&s, "p%d_ %s, ", i, fn.file.between(p))
	}
	s.WriteString(")")
	if fn.decl.Type.Results != nil {
		s.WriteString(" (")
		for _, r := range flatten(fn.decl.Type.Results) {
			s.WriteString(fn.file.between(r) + ", ")
		}
		s.WriteString(")")
	}
	return s.String()
}

// call is the statement that calls the function's variant of the name, by the names of signature.
func (fn *function) call(name string) string {
	var s strings.Builder
	if fn.decl.Type.Results != nil {
		s.WriteString("return ")
	}
	if fn.decl.Recv != nil {
		s.WriteString("r_.")
	}
	s.WriteString(name)
	if params := fn.decl.Type.TypeParams; params != nil {
		s.WriteString("[")
		for _, field := range params.List {
			for _, n := range field.Names {
				s.WriteString(n.Name + ", ")
			}
		}
		s.WriteString("]")
	}
	s.WriteString("(")
	for i, p := range flatten(fn.decl.Type.Params) {
		fmt.Fprintf(&s, "p%d_", i)
		if _, variadic := p.(*ast.Ellipsis); variadic {
			s.WriteString("...")
		}
		s.WriteString(", ")
	}
	s.WriteString(")")
	return s.String()
}

// renamed is the function's text under another name.
func (fn *function) renamed(name string) string {
	start, end := fn.file.offset(fn.decl.Pos()), fn.file.offset(fn.decl.End())
	at := fn.file.offset(fn.decl.Name.Pos())
	return string(fn.file.data[start:at]) + name + string(fn.file.data[at+len(fn.decl.Name.Name):end])
}

// flatten returns the type of each parameter or result.
func flatten(fields *ast.FieldList) []ast.Expr {
	var types []ast.Expr
	for _, f := range fields.List {
		for range max(1, len(f.Names)) {
			types = append(types, f.Type)
		}
	}
	return types
}
