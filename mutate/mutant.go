package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a file with one wrong change. The change says what was written and what stands there now.
type mutant struct {
	file, function, change, source string
	line                           int
}

// String tells mutants apart, also when lines above them come and go.
func (m mutant) String() string { return m.file + " | " + m.function + " | " + m.change }

// sample returns at most n mutants in their order, or all when n is 0. Which ones depends on the seed and each mutant
// alone, so that a change of the code changes little of the sample.
func sample(all []mutant, n int, seed uint64) []mutant {
	if n <= 0 || n >= len(all) {
		return all
	}
	rank := func(m mutant) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, m, seed))) }
	drawn := slices.Clone(all)
	slices.SortFunc(drawn, func(a, b mutant) int { return cmp.Compare(rank(a), rank(b)) })
	drawn = drawn[:n]
	slices.SortStableFunc(drawn, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return drawn
}

// swaps are the operators that are tried in place of one, words the texts in place of a constant.
var (
	swaps = map[token.Token][]token.Token{
		token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ},
		token.GEQ: {token.GTR, token.LSS},
		token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
		token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL},
	}
	words = map[string]string{"0": "1", "1": "0", "true": "false", "false": "true"}
)

// writer makes the mutants of a file, function by function.
type writer struct {
	source, file, function string
	files                  *token.FileSet
	mutants                []mutant
}

// mutantsOf returns the mutants of those files of a folder whose names match a pattern, in the order of the source.
func mutantsOf(folder, pattern string) (all []mutant) {
	names, err := filepath.Glob(filepath.Join(folder, cmp.Or(pattern, "*.go")))
	check(err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		check(err)
		w := &writer{source: string(source), files: token.NewFileSet(), file: filepath.ToSlash(name)}
		parsed, err := parser.ParseFile(w.files, name, source, parser.SkipObjectResolution)
		check(err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				w.function = f.Name.Name
				w.returnAtOnce(f)
				ast.Inspect(f.Body, w.visit)
			}
		}
		all = append(all, w.mutants...)
	}
	return all
}

// returnAtOnce returns zero values before anything is done.
func (w *writer) returnAtOnce(f *ast.FuncDecl) {
	var zeros []string
	if f.Type.Results != nil {
		for _, r := range f.Type.Results.List {
			zeros = append(zeros, slices.Repeat([]string{"*new(" + w.text(r.Type) + ")"}, max(1, len(r.Names)))...)
		}
	}
	w.add(f.Body.Lbrace+1, f.Body.Lbrace+1, " return "+strings.Join(zeros, ", ")+";", "return at once")
}

func (w *writer) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		for _, op := range swaps[n.Op] {
			w.replace(n, w.text(n.X)+" "+op.String()+" "+w.text(n.Y))
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			w.replace(n, w.text(n.X))
		}
	case *ast.BasicLit, *ast.Ident:
		w.word(n)
	case *ast.IncDecStmt, *ast.ExprStmt:
		w.replace(n, "{}")
	case *ast.AssignStmt:
		if len(n.Rhs) == 1 && len(n.Lhs) == 1 && n.Tok != token.DEFINE {
			w.replace(n, "_ = "+w.text(n.Rhs[0])) // what was used stays used
			if n.Tok != token.ASSIGN {
				w.replace(n, w.text(n.Lhs[0])+" = "+w.text(n.Rhs[0]))
			}
		}
	}
	return true
}

// word changes a constant; the line tells it from others.
func (w *writer) word(n ast.Node) {
	if other, ok := words[w.text(n)]; ok {
		line := strings.Split(w.source, "\n")[w.files.Position(n.Pos()).Line-1]
		w.add(n.Pos(), n.End(), other, w.text(n)+" → "+other+" in "+strings.TrimSpace(line))
	}
}

func (w *writer) replace(n ast.Node, text string) {
	w.add(n.Pos(), n.End(), text, w.text(n)+" → "+text)
}

func (w *writer) add(from, to token.Pos, text, change string) {
	at := w.files.Position(from)
	source := w.source[:at.Offset] + text + w.source[w.files.Position(to).Offset:]
	w.mutants = append(w.mutants, mutant{
		w.file, w.function, strings.Join(strings.Fields(change), " "), source, at.Line,
	})
}

func (w *writer) text(n ast.Node) string {
	return w.source[w.files.Position(n.Pos()).Offset:w.files.Position(n.End()).Offset]
}
