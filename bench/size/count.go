package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// count is what some Go files come to.
type count struct {
	tokens, files int
	packages      map[string]int // files by folder
}

// sizes is what one tree comes to.
type sizes struct {
	rows map[string]*count // by group, and by kits, tests, generated and toolRow
	// bytes are the web and embedded files of the product, by kind.
	bytes map[string]int
	// literals are the bytes of the product's string literals, since text in a literal is one token.
	literals int
	// long is how many lines of Go are over maxColumns, tests and tools included.
	long int
	// lines and headers are the product's lines, and those of them from a package clause to the last import.
	lines, headers int
	// arrows are the imports of one product package by another, groupArrows those of one group by another.
	arrows, groupArrows map[[2]string]bool
	// unlisted are the packages below internal that belong to no group.
	unlisted map[string]bool
}

const (
	maxColumns = 120
	tabWidth   = 4
	embedded   = "other embedded"
)

// webKinds are the kinds of web files by their extension, before that of a template.
var webKinds = map[string]string{".js": "JS", ".mjs": "JS", ".ts": "JS", ".css": "CSS", ".html": "HTML", ".htm": "HTML"}

// generatedLine is the line that marks a generated file, as "go help generate" defines it.
var generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// measure counts the tree at root. Folders that begin with a dot and node_modules are passed over.
func measure(root string) (*sizes, error) {
	s := &sizes{
		rows: map[string]*count{}, bytes: map[string]int{}, unlisted: map[string]bool{},
		arrows: map[[2]string]bool{}, groupArrows: map[[2]string]bool{},
	}
	module, err := moduleOf(root)
	if err != nil {
		return nil, err
	}
	web, embeds := map[string]bool{}, map[string]bool{} // files
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		dir := path.Dir(rel)
		kind := webKinds[path.Ext(strings.TrimSuffix(rel, ".tmpl"))]
		if kind != "" && !isTool(dir) && !isKit(dir) && !within(dir, "docs") {
			info, err := d.Info()
			if err != nil {
				return err
			}
			s.bytes[kind] += int(info.Size())
			web[rel] = true
		}
		if path.Ext(rel) != ".go" {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return s.add(root, module, rel, source, embeds)
	})
	if err != nil {
		return nil, err
	}
	for name := range embeds {
		if web[name] {
			continue
		}
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		s.bytes[embedded] += int(info.Size())
	}
	return s, nil
}

// moduleOf returns the path of the module at root.
func moduleOf(root string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", fs.ErrInvalid
}

// add counts one Go file: rel is its path below root, with slashes.
func (s *sizes) add(root, module, rel string, source []byte, embeds map[string]bool) error {
	dir := path.Dir(rel)
	row, product := s.rowOf(rel, source)
	c := s.rows[row]
	if c == nil {
		c = &count{packages: map[string]int{}}
		s.rows[row] = c
	}
	tokens, literals := tokensOf(source)
	c.tokens += tokens
	c.files++
	c.packages[dir]++
	for line := range strings.Lines(string(source)) {
		if columns(strings.TrimRight(line, "\r\n")) > maxColumns {
			s.long++
		}
	}
	if !product {
		return nil
	}
	s.literals += literals
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, rel, source, parser.ImportsOnly)
	if err != nil {
		return err
	}
	s.lines += bytes.Count(source, []byte("\n"))
	end := file.Name.End()
	if n := len(file.Decls); n > 0 {
		end = file.Decls[n-1].End()
	}
	s.headers += fset.Position(end).Line - fset.Position(file.Package).Line + 1
	s.arrow(module, dir, row, file)
	return findEmbeds(root, dir, source, embeds)
}

// rowOf returns the row that a file counts in, and whether it is part of the product.
func (s *sizes) rowOf(rel string, source []byte) (row string, product bool) {
	dir := path.Dir(rel)
	switch {
	case strings.HasSuffix(rel, "_test.go"):
		return tests, false
	case isTool(dir):
		return toolRow, false
	case isKit(dir):
		return kits, false
	case isGenerated(source):
		return generated, false
	}
	group := groupOf(dir)
	if group == rest && within(dir, "internal") {
		s.unlisted[dir] = true
	}
	return group, true
}

// isGenerated looks for the mark of generated files before the package clause.
func isGenerated(source []byte) bool {
	at := generatedLine.FindIndex(source)
	if at == nil {
		return false
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.PackageClauseOnly)
	return err == nil && at[0] < int(file.Package)-1
}

// tokensOf counts the tokens that stand in a source, without comments and without the semicolons that the scanner
// inserts at the ends of lines, and the bytes of its string literals.
func tokensOf(source []byte) (tokens, literals int) {
	fset := token.NewFileSet()
	var sc scanner.Scanner
	sc.Init(fset.AddFile("", -1, len(source)), source, nil, 0)
	for {
		switch _, tok, text := sc.Scan(); {
		case tok == token.EOF:
			return tokens, literals
		case tok == token.SEMICOLON && text != ";":
		case tok == token.STRING:
			literals += len(text)
			tokens++
		default:
			tokens++
		}
	}
}

// columns returns the width of a line.
func columns(line string) (n int) {
	for _, r := range line {
		if r == '\t' {
			n += tabWidth - n%tabWidth
		} else {
			n++
		}
	}
	return n
}

// arrow records what a product package imports of this module.
func (s *sizes) arrow(module, dir, group string, file *ast.File) {
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		to, ours := strings.CutPrefix(imported, module+"/")
		if err != nil || !ours {
			continue
		}
		s.arrows[[2]string{dir, to}] = true
		if other := groupOf(to); other != group {
			s.groupArrows[[2]string{group, other}] = true
		}
	}
}

// findEmbeds adds the files that the go:embed lines of a source name, as paths below root.
func findEmbeds(root, dir string, source []byte, into map[string]bool) error {
	for line := range strings.Lines(string(source)) {
		patterns, ok := strings.CutPrefix(line, "//go:embed ")
		if !ok {
			continue
		}
		for _, pattern := range strings.Fields(patterns) {
			pattern, all := strings.CutPrefix(strings.Trim(pattern, "\"`"), "all:")
			found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), filepath.FromSlash(pattern)))
			if err != nil {
				return err
			}
			for _, name := range found {
				if err := embedTree(root, name, all, into); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// embedTree adds a file, or a folder's files without hidden ones unless all are embedded.
func embedTree(root, from string, all bool, into map[string]bool) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")
		if hidden && name != from && !all {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		into[filepath.ToSlash(rel)] = true
		return err
	})
}
