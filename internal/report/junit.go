package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxHeld bounds the memory in which JUnit sorts test cases by suite, and in which trials wait for their aggregate.
const maxHeld = 16 << 20

// JUnit writes the report as JUnit XML: a testsuite per suite and a testcase per test, all of them. A test with trials
// is one test case; what failed in its trials is in its body.
//
// The tests of several suites may come mixed. They are sorted in bounded memory, which takes a further reading of the
// stream for every 16 MB of test cases, or per suite, whichever is less.
func (r *Report) JUnit(w io.Writer) error {
	run, s, err := r.summary()
	if err != nil {
		return err
	}
	j := &junit{w: w, run: run, manyTargets: manyTargets(run, s), link: r.link}
	if s.added > maxRows {
		j.onPage = map[id]bool{}
		for _, e := range onPage(s) {
			j.onPage[e.id] = true
		}
	}
	t := run.Totals
	j.printf(
		"%s<testsuites name=\"rehearse\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\"%s>\n",
		xml.Header, t.Tests+len(s.notRun), t.Failed, t.Errors, t.Skipped+t.Quarantined+len(s.notRun),
		run.DurationMS/1000, j.timestamp())
	todo := s.suites
	for len(todo) > 0 && j.err == nil {
		if todo, err = r.junitPass(j, s, todo); err != nil {
			return err
		}
	}
	j.printf("</testsuites>\n")
	return j.err
}

// junit writes the document; its first error is kept.
type junit struct {
	w           io.Writer
	run         result.Run
	manyTargets bool
	link        func(id string) string
	// onPage are the tests that stand on the page; nil where all do.
	onPage map[id]bool
	err    error
}

func (j *junit) printf(format string, args ...any) {
	if j.err == nil {
		_, j.err = fmt.Fprintf(j.w, format, args...)
	}
}

func (j *junit) write(data []byte) {
	if j.err == nil {
		_, j.err = j.w.Write(data)
	}
}

func (j *junit) timestamp() string {
	if j.run.StartedAt.IsZero() {
		return ""
	}
	return fmt.Sprintf(" timestamp=\"%s\"", j.run.StartedAt.UTC().Format("2006-01-02T15:04:05"))
}

// manyTargets reports whether test ids alone would name several test cases.
func manyTargets(run result.Run, s *survey) bool {
	if len(run.Targets) > 1 {
		return true
	}
	for _, list := range [][]*entry{s.failing, s.others} {
		for _, e := range list {
			if e.target != list[0].target {
				return true
			}
		}
	}
	return false
}

// junitPass reads the stream once. It writes the first suite of todo as it comes and those others that fit into memory,
// and returns what is left to do.
func (r *Report) junitPass(j *junit, s *survey, todo []*suiteTally) ([]*suiteTally, error) {
	direct := todo[0]
	held := make(map[string]*bytes.Buffer, len(todo)) // nil for suites that wait for the next pass
	for _, suite := range todo[1:] {
		held[suite.name] = &bytes.Buffer{}
	}
	fits, size := len(todo)-1, 0
	trials := map[id]trialCase{} // of tests whose aggregate has not come yet: the first that did not pass
	trialSize := 0
	var block bytes.Buffer
	cases := xml.NewEncoder(&block) // an encoder for each of them would take more than what it writes
	cases.Indent("    ", "  ")
	write := func(suite string, c testcase) {
		if err := cases.Encode(c); err != nil && j.err == nil {
			j.err = err
		}
		defer block.Reset()
		line := append(bytes.TrimPrefix(block.Bytes(), []byte("\n")), '\n')
		if suite == direct.name {
			j.write(line)
			return
		}
		held[suite].Write(line)
		for size += len(line); size > maxHeld; fits-- {
			last := todo[fits].name
			size -= held[last].Len()
			held[last] = nil
		}
	}
	j.openSuite(direct)
	for record, err := range r.tests {
		if err != nil {
			return nil, err
		}
		t := record.Brief
		key, explains := idOf(t), t.Verdict == result.Fail || t.Verdict == result.Error
		skipped := t.Suite != direct.name && held[t.Suite] == nil
		if !skipped && (t.Trial > 0 && t.Verdict != result.Pass || explains) {
			if t, err = record.Decode(); err != nil {
				return nil, err
			}
		}
		switch {
		case skipped:
		case t.Trial > 0:
			if _, ok := trials[key]; !ok && t.Verdict != result.Pass && trialSize < maxHeld {
				trials[key] = trialCaseOf(t)
				trialSize += len(trials[key].body)
			}
		default:
			e := entryOf(t)
			e.review = r.book.OfTest(e.suite, e.test, e.target)
			write(t.Suite, j.testcase(e, t, trials[key]))
			trialSize -= len(trials[key].body)
			delete(trials, key)
		}
		if j.err != nil {
			return nil, j.err
		}
	}
	for _, e := range s.notRun {
		if e.suite == direct.name || held[e.suite] != nil {
			write(e.suite, j.testcase(e, nil, trialCase{}))
		}
	}
	j.printf("  </testsuite>\n")
	for _, suite := range todo[1 : fits+1] {
		j.openSuite(suite)
		j.printf("%s  </testsuite>\n", held[suite.name])
	}
	return todo[fits+1:], j.err
}

func (j *junit) openSuite(s *suiteTally) {
	var name strings.Builder
	// A builder takes everything.
	_ = xml.EscapeText(&name, []byte(text.Visible(s.name)))
	j.printf("  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\"%s>\n",
		name.String(), s.tests, s.failures, s.errors, s.skipped, s.ms/1000, j.timestamp())
}
