package calibration

import (
	"encoding/json"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Verdict is a person's or a judge's word on an answer.
type Verdict string

// The verdicts. Unclear is a person's, Split that of people of whom as many say pass as fail, and Undecided what a
// judge gave no usable answer to.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Unclear Verdict = "unclear"
	Split   Verdict = "split"
	// Of a pair, which answer is better.
	A         Verdict = "a"
	B         Verdict = "b"
	Tie       Verdict = "tie"
	Undecided Verdict = "undecided"
)

// verdictOf returns Pass or Fail.
func verdictOf(passed bool) Verdict {
	if passed {
		return Pass
	}
	return Fail
}

// columns returns the names of each column of a file of labels: the usual one, then those of records and of other
// tools.
func columns() map[string][]string {
	return map[string][]string{
		"id":        {"id"},
		"question":  {"question", "input"},
		"answer":    {"answer", "output", "actual_output"},
		"a":         {"answer_a", "output_a"},
		"b":         {"answer_b", "output_b"},
		"expected":  {"expected_output", "reference"},
		"context":   {"context"},
		"criterion": {"criterion", "assertion"},
		"label":     {"label", "verdict", "winner"},
		"score":     {"score"},
		"annotator": {"annotator", "author"},
		"judged":    {"judged"},
		"model":     {"model"},
		// These name an answer of a run.
		"run": {"run_id"}, "suite": {"suite"}, "test": {"test_id"}, "target": {"target"}, "trial": {"trial"},
		"item":    {"item"},
		"comment": {"comment"}, "at": {"at"},
	}
}

// field returns the column of a row by any of its names.
func (l *loader) field(n source.Node, column string) (source.Node, bool) {
	for _, name := range l.columns[column] {
		if n.Has(name) {
			return n.Field(name), true
		}
	}
	return n, false
}

// text returns the text of a column; empty when the row has none.
func (l *loader) text(n source.Node, column string) string {
	f, ok := l.field(n, column)
	if !ok {
		return ""
	}
	if f.Kind == source.Number || f.Kind == source.Bool { // an id may well be a number
		return f.Scalar
	}
	return f.Text()
}

// read reads a row. Its faults go to the reader.
func (l *loader) read(n source.Node) row {
	known := map[string]bool{}
	for _, names := range l.columns {
		for _, name := range names {
			known[name] = true
		}
	}
	for _, f := range n.Fields {
		if !known[f.Name] {
			l.ignored[f.Name] = true
		}
	}
	item := &Item{
		Expected: l.text(n, "expected"), Criterion: strings.TrimSpace(l.text(n, "criterion")),
		Model: l.text(n, "model"),
	}
	r := row{id: l.text(n, "id"), item: item, label: Label{Annotator: l.text(n, "annotator")}}
	if r.id == "" {
		r.id = l.place(n)
	}
	if context := l.text(n, "context"); context != "" {
		item.Input = append(item.Input, chat.NewMessage(chat.System, context))
	}
	if question, ok := l.field(n, "question"); ok {
		item.Input = append(item.Input, messages(question)...)
	}
	if answer, ok := l.field(n, "answer"); ok {
		item.answered, item.Output = true, answer.Text()
	}
	l.pair(n, item)
	if judged, ok := l.field(n, "judged"); ok {
		item.Judged = verdictIn(judged, item.Pair, false)
	}
	l.said(n, &r.label, item.Pair)
	if item.Criterion == "" {
		n.Report("say in a column criterion what the person decided", "the row has no criterion")
	}
	if !item.answered && item.Judged == "" {
		n.Report("add the answer, or what the judge said of it in a column judged",
			"the row has no answer to be judged")
	}
	if (item.Judged != "" || item.Pair) && r.label.Score != nil {
		n.Report("use a label", "a score cannot be held against a verdict of the judge, nor decide between two answers")
	}
	return r
}

// pair reads two answers that were compared.
func (l *loader) pair(n source.Node, item *Item) {
	first, hasFirst := l.field(n, "a")
	second, hasSecond := l.field(n, "b")
	switch {
	case !hasFirst && !hasSecond:
		return
	case !hasFirst || !hasSecond || item.answered:
		n.Report("write answer_a and answer_b, or answer alone", "the row has neither one answer nor two")
	}
	item.Pair, item.answered = true, true
	item.Output, item.Other = first.Text(), second.Text()
	if item.Criterion == "" {
		item.Criterion = "Is the better answer to the question"
	}
}

// place names the answer of a run that a row is about: its suite, test, target, trial and item. It is empty for other
// rows.
func (l *loader) place(n source.Node) string {
	test := l.text(n, "test")
	if test == "" {
		return ""
	}
	var parts []string
	for _, column := range []string{"run", "suite", "test", "target", "trial", "item"} {
		if part := l.text(n, column); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " / ")
}

// said reads a person's label or score.
func (l *loader) said(n source.Node, label *Label, pair bool) {
	verdict, hasVerdict := l.field(n, "label")
	score, hasScore := l.field(n, "score")
	switch {
	case hasVerdict && hasScore:
		score.Report("keep one of the two", "the row has a label and a score")
	case hasVerdict:
		label.Verdict = verdictIn(verdict, pair, true)
	case hasScore:
		x, ok := score.Float()
		if !ok || x < 0 || x > 1 {
			score.Report("divide grades by the highest one", "%q is no score between 0 and 1", score.Scalar)
			return
		}
		label.Score = &x
	default:
		n.Report("add label: pass, fail or unclear, or a score between 0 and 1", "the row has no label")
	}
}

// verdictIn reads pass or fail, of a pair a, b or tie, and unclear where it is allowed.
func verdictIn(n source.Node, pair, unclear bool) Verdict {
	words := map[string]Verdict{"pass": Pass, "true": Pass, "yes": Pass, "fail": Fail, "false": Fail, "no": Fail}
	hint := "write pass or fail"
	if pair {
		words = map[string]Verdict{"a": A, "model_a": A, "b": B, "model_b": B, "tie": Tie}
		hint = "write a, b or tie"
	}
	if unclear {
		words["unclear"] = Unclear
		hint = strings.Replace(hint, " or ", ", ", 1) + " or unclear"
	}
	if n.Kind == source.String || n.Kind == source.Bool {
		if v, known := words[strings.ToLower(strings.TrimSpace(n.Scalar))]; known {
			return v
		}
	}
	n.Report(hint, "%q is no verdict", n.Scalar)
	return ""
}

// messages returns a question: a text, or a list of {role, content}, which may stand as JSON in a cell.
func messages(n source.Node) []chat.Message {
	v := n.Value
	if n.Kind == source.String {
		if parsed, err := source.ParseJSON(n.File(), []byte(n.Scalar), n.Line); err == nil &&
			parsed.Kind == source.List {
			v = parsed
		}
	}
	if v.Kind != source.List {
		return []chat.Message{chat.NewMessage(chat.User, n.Text())}
	}
	data, err := json.Marshal(v.Any())
	var said []chat.Message
	if err == nil {
		err = json.Unmarshal(data, &said)
	}
	for _, m := range said {
		if m.Role == "" && err == nil {
			n.Report(`write [{"role": "user", "content": …}]`, "a message has no role")
			return nil
		}
	}
	switch {
	case err == nil:
		return said
	case n.Kind == source.String: // a text that happens to begin like a list
		return []chat.Message{chat.NewMessage(chat.User, n.Scalar)}
	}
	n.Report(`write a text, or [{"role": "user", "content": …}]`, "cannot read the messages: %v", err)
	return nil
}
