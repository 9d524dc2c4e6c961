package source

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Problem is one fault of a document: what is wrong, where, and what to do about it.
type Problem struct {
	File    string `json:"file"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	// Warning is true of something that has no effect, but is no fault.
	Warning bool `json:"-"`
	// Each is true of a warning that matters at every place where it occurs, not once per file.
	Each bool `json:"-"`
}

// String returns "file:line:column: path: message (hint)".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": " + p.Text())
	return b.String()
}

// Text returns "path: message (hint)".
func (p Problem) Text() string {
	said := p.Message
	if p.Path != "" {
		said = p.Path + ": " + said
	}
	if p.Hint != "" {
		said += " (" + p.Hint + ")"
	}
	return said
}

// Problems is every fault found in a set of documents; as an error it reads one fault a line.
type Problems []Problem

// Error joins the problems with newlines.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns the faults among the problems as an error, or nil when there are none.
func (ps Problems) Err() error {
	if faults, _ := ps.Split(); len(faults) > 0 {
		return faults
	}
	return nil
}

// InOrder returns the problems file by file, and those of a file in the order of their places.
func (ps Problems) InOrder() Problems {
	files := map[string]int{}
	for _, p := range ps {
		if _, met := files[p.File]; !met {
			files[p.File] = len(files)
		}
	}
	sorted := slices.Clone(ps)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
	return sorted
}

// Split tells faults from warnings.
func (ps Problems) Split() (faults, warnings Problems) {
	for _, p := range ps {
		if p.Warning {
			warnings = append(warnings, p)
		} else {
			faults = append(faults, p)
		}
	}
	return faults, warnings
}

// Suggest returns a hint: the known word nearest to the misspelt one, or the list of what is known.
func Suggest(word string, known []string) string {
	if near, ok := Nearest(word, known); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known: " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}

// Nearest returns the known word that differs least from the misspelt one, if it differs in at most a third of its
// letters or in one. Hyphens and case do not count.
func Nearest(word string, known []string) (string, bool) {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "_")) }
	best, bestDistance := "", len(word)
	for _, k := range known {
		d := EditDistance(plain(word), plain(k))
		if d < bestDistance && d <= max(1, (len(k)+2)/3) {
			best, bestDistance = k, d
		}
	}
	return best, best != ""
}

// EditDistance returns the Levenshtein distance of two texts in characters (V. Levenshtein, 1966).
func EditDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := range s {
		diagonal := row[0]
		row[0] = i + 1
		for j := range t {
			substituted := diagonal
			if s[i] != t[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(t)]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// TableProblem says what is wrong with a CSV file of which a row, or the header line, cannot be read.
func TableProblem(file string, err error) error {
	p := Problem{
		File: file, Message: "not valid CSV: " + err.Error(),
		Hint: "write a header line, and as many cells in each row as it has",
	}
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		p.Line, p.Column, p.Message = parse.Line, parse.Column, "not valid CSV: "+parse.Err.Error()
	}
	if errors.Is(err, io.EOF) {
		p.Message = "the file is empty"
	}
	return Problems{p}
}
