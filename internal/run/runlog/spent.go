package runlog

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Spending is what conversations have cost.
type Spending struct {
	USD    float64
	Tokens int
}

// Spent returns what the conversations of the run in dir have cost so far, also those that were held again since. What
// is unknown counts as nothing, and so does a line that cannot be read. Memory is some 50 bytes per line.
func Spent(dir string) (Spending, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Spending{}, fmt.Errorf("find what was spent: %w", err)
	}
	spent, counted := Spending{}, map[[16]byte]struct{}{} // a log that was kept has records that the log may still have
	for _, e := range entries {
		kept, _ := filepath.Match(keptPattern, e.Name()) // the pattern is a constant
		if !kept && e.Name() != LogFile && e.Name() != RepeatFile {
			continue
		}
		if err := spentIn(filepath.Join(dir, e.Name()), counted, &spent); err != nil {
			return Spending{}, err
		}
	}
	return spent, nil
}

// spentIn adds up the records of a log that were not counted yet.
func spentIn(path string, counted map[[16]byte]struct{}, spent *Spending) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read what was spent: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	lines := newLines(file)
	for lines.next() {
		sum := sha256.Sum256(lines.line)
		id := [16]byte(sum[:16])
		if _, again := counted[id]; again || lines.err != nil {
			continue
		}
		counted[id] = struct{}{}
		if t, err := Decode(lines.line); err == nil {
			spent.USD += costOf(t)
			spent.Tokens += tokensOf(t)
		}
	}
	return lines.failed
}

// costOf returns the known cost of one conversation. An aggregate over trials held none of its own, but may have judged
// theirs again.
func costOf(t *result.Test) float64 {
	switch {
	case t.Trials != nil && t.Trials.Attribution != nil:
		return t.Trials.Attribution.Use.Cost.USD
	case t.Trials != nil || !t.Ran():
		return 0
	}
	user := 0.0
	if t.User != nil {
		user = t.User.Cost.USD
	}
	if !t.Cost.Unknown {
		return user + t.Cost.USD
	}
	usd := user + t.Judge.Cost.USD
	for _, turn := range t.Turns {
		usd += turn.Cost.USD
	}
	return usd
}

// tokensOf returns the known tokens of one conversation, as costOf does.
func tokensOf(t *result.Test) int {
	switch {
	case t.Trials != nil && t.Trials.Attribution != nil:
		return t.Trials.Attribution.Use.Usage.Total()
	case t.Trials != nil || !t.Ran():
		return 0
	}
	tokens := t.Usage.Total() + t.Judge.Usage.Total()
	if t.User != nil {
		tokens += t.User.Usage.Total()
	}
	return tokens
}
