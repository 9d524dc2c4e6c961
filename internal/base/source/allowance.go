package source

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
)

// MaxSubmitted is how many nodes the documents of one submission have together. A node is a scalar, a list, a mapping
// or a key; what merges and aliases stand for counts as often as they are used.
const MaxSubmitted = 250_000

// The work of a submission that its nodes do not bound: maxAgain is how many nodes are read again, in documents that
// several others name, and maxUnpacked how many bytes of packed files are unpacked.
const (
	maxAgain    = 20 * MaxSubmitted
	maxUnpacked = 1 << 30
)

// Allowance is what one submission may cost: its documents have MaxSubmitted nodes together. It is safe for concurrent
// use. Use NewAllowance, and Files.Limited.
type Allowance struct {
	mu sync.Mutex
	// left, again and unpacked are what may still be read.
	left, again, unpacked int
	// read is the last line of each file whose nodes were counted. It tells a row that is read again from the next one.
	read map[string]int
	// exceeded is the first problem.
	exceeded Problems
}

// NewAllowance returns the allowance of one submission.
func NewAllowance() *Allowance {
	return &Allowance{left: MaxSubmitted, again: maxAgain, unpacked: maxUnpacked, read: map[string]int{}}
}

// Exceeded returns the problem of what did not fit; nil if all did. Other problems of the submission follow from it.
func (a *Allowance) Exceeded() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.exceeded.Err()
}

// most is how many nodes the document or the row at a line may have.
func (a *Allowance) most(file string, line int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if line <= a.read[file] {
		return min(a.again, MaxSubmitted)
	}
	return a.left
}

// take counts the nodes of a document or of the row at a line, and refuses those that do not fit. Rows are read in
// order.
func (a *Allowance) take(file string, line, nodes int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := &a.left
	if line <= a.read[file] {
		left = &a.again
	}
	if nodes > *left {
		return a.exceed(strings.TrimPrefix(file, rowsOf("")), line)
	}
	*left -= nodes
	a.read[file] = max(a.read[file], line)
	return nil
}

// refuse returns the problem of a document with too many nodes.
func (a *Allowance) refuse(file string, line int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.exceed(file, line)
}

// exceed returns the problem of a document with too many nodes. The caller has the lock.
func (a *Allowance) exceed(file string, line int) error {
	if a.exceeded == nil {
		if line == wholeDocument {
			line = 0
		}
		a.exceeded = Problems{{
			File: file, Line: line,
			Message: fmt.Sprintf("the submission has more than %d nodes, merges and aliases included", MaxSubmitted),
			Hint:    "split it into several runs; a merge or an alias counts as all that it stands for",
		}}
	}
	return a.exceeded
}

// Limited returns the files of a submission: documents that are read of them count against an allowance.
func (f Files) Limited(a *Allowance) Files {
	f.allowance = a
	return f
}

// wholeDocument stands for the line of a document that is read as a whole.
const wholeDocument = math.MaxInt

// most is how many nodes a document of these files may have.
func (f Files) most(file string) int {
	if f.allowance == nil {
		return maxNodes
	}
	return f.allowance.most(file, wholeDocument)
}

// tooMany is the problem of a document with more nodes than it may have.
func (f Files) tooMany(file string) error {
	if f.allowance == nil {
		return fault(file, 0, 0, fmt.Sprintf("the document has more than %d nodes, merges and aliases included",
			maxNodes), "split it, or keep the tests in a .jsonl file")
	}
	return f.allowance.refuse(file, wholeDocument)
}

// take counts the nodes of a document.
func (f Files) take(file string, nodes int) error {
	if f.allowance == nil {
		return nil
	}
	return f.allowance.take(file, wholeDocument, nodes)
}

// rowsOf is the name under which the rows of a file count: a text that is read as a whole, too, counts twice.
func rowsOf(file string) string { return "row of " + file }

// CountRow counts a row of a table of these files, which was read last: its cells, and what is written in them as JSON.
// The error is a Problems.
func (f Files) CountRow(file string, rows *csv.Reader, row []string) error {
	if f.allowance == nil {
		return nil
	}
	line, _ := rows.FieldPos(0)
	nodes := 1 + 2*len(row)
	for _, cell := range row {
		if text := strings.TrimSpace(cell); strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
			nodes += JSONNodes([]byte(text))
		}
	}
	return f.allowance.take(rowsOf(file), line, nodes)
}

// Unpacked returns the content of a packed file, whose bytes count against the allowance.
func (f Files) Unpacked(content io.ReadCloser) io.ReadCloser {
	if f.allowance == nil {
		return content
	}
	return &unpacking{content, f.allowance}
}

type unpacking struct {
	io.ReadCloser
	of *Allowance
}

func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	if u.of.unpacked -= n; u.of.unpacked < 0 {
		return 0, fmt.Errorf("the packed files of the submission have more than %d MB", maxUnpacked>>20)
	}
	return n, err
}
