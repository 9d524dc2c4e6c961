package report

import (
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// reviewedBy notes with each test what somebody decided over its verdict.
func (s *survey) reviewedBy(book *annotation.Book) {
	for _, e := range slices.Concat(s.failing, s.others) {
		e.review = book.OfTest(e.suite, e.test, e.target)
	}
}

// review says what somebody decided over the verdict of a test; nothing where nobody did.
func (e *entry) reviewed() string {
	if e.review == nil {
		return ""
	}
	return fmt.Sprintf("reviewed: %s by %s: %s", reviewWord(e.review.Verdict), text.OneLine(e.review.Author, 100),
		text.OneLine(e.review.Comment, 300))
}

func reviewWord(verdict string) string {
	if verdict == string(result.Pass) {
		return "passes"
	}
	return "fails"
}
