package annotation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func override(verdict string, minutes int) Annotation {
	return Annotation{
		Kind: Override, Suite: "s", TestID: "t", Target: "x", Verdict: verdict, Comment: "why", Author: "ada",
		At: noon.Add(time.Duration(minutes) * time.Minute),
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Annotation)
		want   string
	}{
		"as it is":            {func(*Annotation) {}, ""},
		"none":                {func(a *Annotation) { a.Verdict = None }, ""},
		"no author":           {func(a *Annotation) { a.Author = " " }, "author is missing"},
		"no comment":          {func(a *Annotation) { a.Comment = "" }, "needs a comment"},
		"an error":            {func(a *Annotation) { a.Verdict = "error" }, "none of pass, fail and none"},
		"long":                {func(a *Annotation) { a.Comment = strings.Repeat("x", maxText+1) }, "more than"},
		"long in bytes alone": {func(a *Annotation) { a.Comment = strings.Repeat("語", maxText) }, ""},
		"another kind":        {func(a *Annotation) { a.Kind = "praise" }, "unknown kind"},
		"a label":             {func(a *Annotation) { a.Kind, a.Label = Label, "unclear" }, ""},
		"a wrong label": {
			func(a *Annotation) { a.Kind, a.Label = Label, "maybe" }, "none of pass, fail and unclear",
		},
		"a quarantine": {
			func(a *Annotation) { a.Kind, a.Owner, a.Until, a.Reason = Quarantine, "ada", "2026-03-02", "x" }, "",
		},
		"one that is over": {
			func(a *Annotation) { a.Kind, a.Owner, a.Until, a.Reason = Quarantine, "ada", "2026-03-01", "x" },
			"choose tomorrow",
		},
		"one for ever": {
			func(a *Annotation) { a.Kind, a.Owner, a.Until, a.Reason = Quarantine, "ada", "2036-03-01", "x" },
			"within 90 days",
		},
		"a dataset":          {func(a *Annotation) { a.Kind, a.Dataset = Dataset, "hard" }, ""},
		"a nameless dataset": {func(a *Annotation) { a.Kind = Dataset }, "name the dataset"},
	} {
		a := override("pass", 0)
		c.change(&a)
		err := a.Check(noon)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// The later one holds, none takes it back, and what comes from two places counts once.
func TestBook(t *testing.T) {
	key := result.Key{Suite: "s", TestID: "t", Target: "x"}
	list := []Annotation{override("fail", 2), override("pass", 1)}
	b := BookOf(list, list)
	if len(b.All) != 2 || b.Verdict(key, result.Error) != result.Fail || !b.HasOverrides("s", "t", "x") ||
		b.Override(key).Author != "ada" {
		t.Errorf("%+v", b)
	}
	b = BookOf(list, []Annotation{override(None, 3)})
	if b.Verdict(key, result.Error) != result.Error || b.HasOverrides("s", "t", "x") {
		t.Errorf("taken back: %+v", b)
	}
	item := override("pass", 4)
	item.Item = "turn-2"
	if b = BookOf([]Annotation{item}); b.Override(key) != nil || len(b.Overrides(key)) != 1 ||
		!b.HasOverrides("s", "t", "x") {
		t.Errorf("of an item: %+v", b)
	}
	// One that was taken back at a trial leaves that of another trial.
	first, second, back := override("fail", 5), override("pass", 6), override(None, 7)
	first.Trial, second.Trial, back.Trial = 1, 2, 2
	if b = BookOf([]Annotation{first, second}); b.Verdict(key, result.Error) != result.Pass {
		t.Errorf("of two trials: %+v", b)
	}
	if b = BookOf([]Annotation{first, second, back}); b.Verdict(key, result.Error) != result.Fail ||
		!b.HasOverrides("s", "t", "x") {
		t.Errorf("taken back at one trial: %+v", b)
	}
	var none *Book
	if none.Verdict(key, result.Pass) != result.Pass || none.HasOverrides("s", "t", "x") ||
		none.Label(key, "turn-1", "x") != nil {
		t.Error("no book says something")
	}
}

// What was written is read, also behind a line that a crash has cut.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	if all, _, err := Read(dir); err != nil || all != nil {
		t.Fatalf("no file: %v, %v", all, err)
	}
	first := override("pass", 1)
	first.RunID = "run"
	if err := Append(dir, first); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, File)
	whole, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(whole), "run_id") {
		t.Fatalf("%s, %v", whole, err)
	}
	if err := os.WriteFile(file, append(whole, `{"kind":"over`...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Append(dir, override("fail", 2)); err != nil {
		t.Fatal(err)
	}
	strange := override("banana", 3)
	if err := Append(dir, strange); err != nil { // by hand, or by another program
		t.Fatal(err)
	}
	whole, _ = os.ReadFile(file)
	long := `{"kind":"override","comment":"` + strings.Repeat("x", 2*maxLine) + `"}` + "\n"
	if err := os.WriteFile(file, append([]byte(long), whole...), 0o600); err != nil {
		t.Fatal(err)
	}
	all, unreadable, err := Read(dir)
	if err != nil || unreadable != 3 || len(all) != 2 || all[1].Verdict != "fail" || !all[0].At.Equal(first.At) {
		t.Errorf("%+v, %d, %v", all, unreadable, err)
	}
}

// Nothing is written where a link leads: the folder may come from somebody else.
func TestLinkForAFile(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Symlink(elsewhere, filepath.Join(dir, File)); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Append(dir, override("pass", 1)); err == nil {
		t.Error("it was written")
	}
	if left, err := os.ReadFile(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
}
