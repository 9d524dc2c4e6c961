package result

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Source is where the author wrote a test.
type Source struct {
	// File is relative to the working folder of the run, or to the bundle of a submitted one. It has slashes.
	File string `json:"file"`
	// Line is where the test begins; Turns are the lines of its turns. Lines count from 1.
	Line  int   `json:"line"`
	Turns []int `json:"turns"`
}

// Location returns the file and line that a reader of the record should open: the first turn that failed or could not
// be graded, else the test. The file is empty where the record does not say.
func (t *Test) Location() (file string, line int) {
	if t.Source == nil {
		return "", 0
	}
	if n := t.FirstFailing(); n > 0 && n <= len(t.Source.Turns) {
		return t.Source.File, t.Source.Turns[n-1]
	}
	return t.Source.File, t.Source.Line
}

// FirstFailing returns the number of the first turn that failed or could not be graded; 0 when the test passed, or when
// no turn is to blame.
func (t *Test) FirstFailing() int {
	if t.Verdict != Fail && t.Verdict != Error {
		return 0
	}
	for _, s := range t.Scores {
		var n int
		if _, err := fmt.Sscanf(s.Name, "turn-%d", &n); err == nil && (s.Verdict == Fail || s.Verdict == Error) {
			return n
		}
	}
	first := 0 // an aggregate has no scores, but failures of its trials
	for _, f := range t.Failures {
		if f.Turn > 0 && (first == 0 || f.Turn < first) {
			first = f.Turn
		}
	}
	return first
}

// Anchor returns the id of the record on the page of its run: the same in every run. A record of a trial has the
// trial's number behind it.
func (k Key) Anchor() string {
	sum := sha256.Sum256([]byte(k.Suite + "\x00" + k.TestID + "\x00" + k.Target))
	id := "t-" + hex.EncodeToString(sum[:])[:12]
	if k.Trial > 0 {
		id += fmt.Sprintf("-%d", k.Trial)
	}
	return id
}
