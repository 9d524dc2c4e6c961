// Package calibration holds a judge against people: it reads labelled answers, asks the judge about each, and says how
// far they agree.
package calibration

import (
	"bufio"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// The bounds of a file of labels.
const (
	maxRows      = 20_000
	maxFileBytes = 256 << 20
	maxRowBytes  = 16 << 20
)

// Label is what one person said about an answer.
type Label struct {
	// Annotator is empty where the file names nobody.
	Annotator string
	// Verdict is Pass, Fail or Unclear, of a pair A, B, Tie or Unclear; empty where there is a score.
	Verdict Verdict
	// Score is between 0 and 1; nil where there is a verdict.
	Score *float64
}

// Item is an answer with what people said about one criterion.
type Item struct {
	// ID is the file's, else made of the row's line, as row-2.
	ID string
	// Line is that of the first row of the item.
	Line   int
	Input  []chat.Message
	Output string
	// Pair says that people compared two answers, Output and Other.
	Pair      bool
	Other     string
	Expected  string
	Criterion string
	Labels    []Label
	// Judged is what a judge said before, by Model; empty where the file does not say.
	Judged Verdict
	Model  string
	// answered is true when the file has the answer, so that a judge can be asked.
	answered bool
}

// Scored reports whether people gave scores in place of verdicts.
func (i *Item) Scored() bool { return len(i.Labels) > 0 && i.Labels[0].Score != nil }

// Labels is a file of labels.
type Labels struct {
	File  string
	Items []*Item
	// Ignored are the columns that say nothing here.
	Ignored []string
	// Annotators are the people who are named.
	Annotators []string
}

// Load reads labels: CSV with a header line, by the file's name, else JSON Lines; also with .gz. For faulty rows the
// error is a source.Problems with every fault. Rows about the same answer and criterion are one item.
func Load(file string) (*Labels, error) {
	f, err := source.OpenBounded(file, maxFileBytes)
	if err != nil {
		return nil, source.Invalid("read the labels: %w", err)
	}
	l := &loader{
		Labels: Labels{File: file}, reader: &source.Reader{File: file}, items: map[string]*Item{},
		contents: map[string][sha256.Size]byte{}, ignored: map[string]bool{}, columns: columns(),
	}
	if strings.EqualFold(filepath.Ext(strings.TrimSuffix(file, ".gz")), ".csv") {
		err = l.table(f)
	} else {
		err = l.lines(f)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, source.AsInvalid(fmt.Errorf("read the labels of %s: %w", file, err))
	}
	if err := l.reader.Problems.Err(); err != nil {
		return nil, err
	}
	if len(l.Items) == 0 {
		return nil, source.Invalid("%s has no labels: write a row for each answer that a person has judged", file)
	}
	for name := range l.ignored {
		l.Ignored = append(l.Ignored, name)
	}
	slices.Sort(l.Ignored)
	slices.Sort(l.Annotators)
	return &l.Labels, nil
}

// loader reads one file.
type loader struct {
	Labels
	reader *source.Reader
	rows   int
	// items and contents are by key: id and criterion, else a hash of all that is judged.
	items    map[string]*Item
	contents map[string][sha256.Size]byte
	ignored  map[string]bool
	columns  map[string][]string
}

// errMany says that a file has too many rows.
var errMany = fmt.Errorf("more than %d rows: split the file", maxRows)

func (l *loader) lines(in io.Reader) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxRowBytes)
	line := 1
	for ; scanner.Scan(); line++ {
		data := scanner.Bytes()
		if line == 1 {
			data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
		}
		if strings.TrimSpace(string(data)) == "" {
			continue
		}
		v, err := source.ParseJSON(l.File, data, line)
		if problems, ok := errors.AsType[source.Problems](err); ok {
			l.reader.Problems = append(l.reader.Problems, problems...)
			continue
		} else if err != nil {
			return err
		}
		if err := l.row(v, line); err != nil {
			return err
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d is longer than %d MB", line, maxRowBytes>>20)
	}
	return scanner.Err()
}

func (l *loader) table(in io.Reader) error {
	rows := csv.NewReader(in)
	header, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	if err != nil {
		return err
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	for {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := rows.FieldPos(0)
		v := source.Value{Kind: source.Map, Line: line, Column: 1}
		for i, cell := range cells {
			if strings.TrimSpace(cell) == "" {
				continue
			}
			at, column := rows.FieldPos(i)
			if !utf8.ValidString(cell) {
				return fmt.Errorf("line %d: the cell %s is not UTF-8 text", at, header[i])
			}
			text := source.Value{Kind: source.String, Scalar: cell, Line: at, Column: column}
			v.Fields = append(v.Fields, source.Field{Name: header[i], Line: at, Column: column, Value: text})
		}
		if err := l.row(v, line); err != nil {
			return err
		}
	}
}

// row adds one row to the items.
func (l *loader) row(v source.Value, line int) error {
	if l.rows++; l.rows > maxRows {
		return errMany
	}
	faults := len(l.reader.Problems)
	n := l.reader.Node(v, "")
	if v.Kind != source.Map {
		n.Report(`write {"question": …, "answer": …, "criterion": …, "label": "pass"}`,
			"a row is an object, not %s", v.Kind)
		return nil
	}
	r := l.read(n)
	if len(l.reader.Problems) > faults {
		return nil
	}
	content := r.content()
	key := "\x00" + string(content[:])
	if r.id != "" {
		key = r.id + "\x00" + r.item.Criterion
	}
	item, known := l.items[key]
	if !known {
		item = r.item
		if item.ID, item.Line = r.id, line; item.ID == "" {
			item.ID = fmt.Sprintf("row-%d", line)
		}
		l.items[key], l.contents[key] = item, content
		l.Items = append(l.Items, item)
	}
	switch {
	case l.contents[key] != content:
		n.Report("give each answer an id of its own", "the id %q stands for another answer in line %d", r.id, item.Line)
	case known && slices.ContainsFunc(item.Labels, func(other Label) bool {
		return other.Annotator == r.label.Annotator
	}):
		n.Report("name the people in a column annotator, or remove one of the rows",
			"the same person labels the answer of line %d again", item.Line)
	case len(l.Items) > 0 && l.Items[0].Pair != r.item.Pair:
		n.Report("keep pairs in a file of their own", "the file has answers and pairs of answers")
	case known && item.Scored() != (r.label.Score != nil):
		n.Report("use verdicts or scores for all labels of an answer",
			"the answer of line %d has labels of the other kind", item.Line)
	default:
		item.Labels = append(item.Labels, r.label)
	}
	if who := r.label.Annotator; who != "" && !slices.Contains(l.Annotators, who) {
		l.Annotators = append(l.Annotators, who)
	}
	return nil
}

// row is one line of a file.
type row struct {
	id    string
	item  *Item
	label Label
}

// content hashes all that is judged, and what a judge said of it.
func (r row) content() [sha256.Size]byte {
	i := r.item
	// texts only: there is no error
	data, _ := json.Marshal([]any{i.Input, i.Output, i.Other, i.Expected, i.Criterion, i.Judged, i.Model, i.answered})
	return sha256.Sum256(data)
}
