package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// usages returns runs with these seconds of CPU, twice as much wall time and as many megabytes of private memory.
func usages(seconds ...float64) (all []usage) {
	for _, s := range seconds {
		d := time.Duration(s * float64(time.Second))
		all = append(all, usage{CPU: d, Wall: 2 * d, Private: int64(s * mb)})
	}
	return all
}

func TestRatiosArePairedMedians(t *testing.T) {
	p := &pairing{Base: usages(1, 2, 4), Tree: usages(1.1, 1.8, 8)}
	for _, q := range quantities {
		got, known := p.ratios(q)
		if !known || !near(got.Least, 0.9) || !near(got.Median, 1.1) || !near(got.Most, 2) {
			t.Errorf("%s: ratios are %+v, want 0.9, 1.1 and 2, since 1.8/2 < 1.1/1 < 8/4", q.name, got)
		}
	}
	for name, p := range map[string]*pairing{
		"a run without a pair":       {Base: usages(1, 1), Tree: usages(1)},
		"an unknown value":           {Base: usages(1, 1), Tree: usages(1, 0)},
		"no run":                     {},
		"a row that failed":          {Base: usages(1), Tree: usages(1), Error: "exit code 3"},
		"a row that is incomparable": {Base: usages(1), Tree: usages(1), NotComparable: "exit code 2"},
	} {
		if got, known := p.ratios(quantities[0]); known {
			t.Errorf("%s has the ratio %+v", name, got)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// TestLimits checks totals, marks and the outcome of a comparison.
func TestLimits(t *testing.T) {
	row := func(ratio float64) *pairing { return &pairing{Job: "row", Base: usages(1), Tree: usages(ratio)} }
	rejected := &pairing{Job: "old", NotComparable: "exit code 2"}
	failed := &pairing{Job: "broken", Base: usages(1), Tree: usages(0.1), Error: "exit code 3"}
	wallOnly := row(1)
	wallOnly.Tree[0].Wall *= 3
	unknown := row(1)
	unknown.Tree[0].Private = 0
	for name, tc := range map[string]struct {
		rows        []*pairing
		total, mark string
		fails       string // part of the error; empty for none
	}{
		"equal":                   {[]*pairing{row(1), row(1)}, "1.000", "–", ""},
		"geometric mean":          {[]*pairing{row(2), row(0.5)}, "1.000", "–", ""},
		"near the limit":          {[]*pairing{row(1.03)}, "1.030", "CPU > 1.02, private memory > 1.02", ""},
		"over the limit":          {[]*pairing{row(1.06)}, "1.060", "CPU > 1.05", "CPU: 1.060 times the base"},
		"over in one row only":    {[]*pairing{row(1.1), row(0.9), row(1)}, "0.997", "–", ""},
		"wall does not gate":      {[]*pairing{wallOnly}, "1.000", "wall > 1.05", ""},
		"not comparable":          {[]*pairing{row(1), rejected}, "1.000", "–", ""},
		"nothing is comparable":   {[]*pairing{rejected}, "–", "CPU unknown", "CPU: the total is unknown"},
		"a failed row counts not": {[]*pairing{row(1), failed}, "1.000", "–", "broken: exit code 3"},
		"a row without a run":     {[]*pairing{row(1), {Job: "empty"}}, "1.000", "–", "empty: not measured"},
		"no sample of memory":     {[]*pairing{row(1), unknown}, "1.000", "private memory unknown", "total is unknown"},
	} {
		table := comparisonTable(tc.rows, len(tc.rows))
		last := table[len(table)-1]
		if last[3] != tc.total || !strings.Contains(last[8], tc.mark) {
			t.Errorf("%s: the last line is %q, want CPU %s and %q", name, last, tc.total, tc.mark)
		}
		err := judge(tc.rows)
		if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
			t.Errorf("%s: error is %v, want %q", name, err, tc.fails)
		}
	}
}

func TestRowsThatDoNotCount(t *testing.T) {
	table := comparisonTable([]*pairing{
		{Job: "good", Base: usages(1), Tree: usages(1.03)}, {Job: "old", NotComparable: "exit code 2"},
		{Job: "broken", Base: usages(1), Tree: usages(1), Error: "exit code 3"},
	}, 10)
	var got []string
	for _, line := range table[1:] {
		got = append(got, line[0]+" | "+line[3]+" | "+line[8])
	}
	marked := "CPU > 1.02, private memory > 1.02, wall > 1.02"
	want := []string{
		"good | 1.030 (1.03–1.03) | " + marked, "old | – | not comparable", "broken | – | failed",
		"geometric mean of 1 of 10 rows | 1.030 | " + marked,
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFilesOfOneSideAreNoted(t *testing.T) {
	p := &pairing{Base: usages(1), Tree: usages(1)}
	p.Base[0].Files, p.Tree[0].Files = []string{"junit.xml", "run.json"}, []string{"run.json", "run.db"}
	p.compareFiles()
	if want := "only the base writes junit.xml; only this tree writes run.db"; p.Note != want {
		t.Errorf("note is %q, want %q", p.Note, want)
	}
}

// TestAlternate runs shell scripts as the two programs.
func TestAlternate(t *testing.T) {
	for name, tc := range map[string]struct {
		base, tree                string // what the script does after it has logged its name
		order, notComparable, err string
	}{
		"in turn":             {"echo go1", "echo go1", "base tree base tree base tree", "", ""},
		"the base rejects":    {"echo unknown key; exit 2", "echo go1", "base tree", "unknown key", ""},
		"the base crashes":    {"exit 3", "echo go1", "base", "", "base: exit code 3"},
		"this tree rejects":   {"echo go1", "exit 2", "base tree", "", "this tree: exit code 2"},
		"both reject":         {"exit 2", "exit 2", "base tree", "exit code 2", "this tree: exit code 2"},
		"this tree does less": {"echo go1", "true", "base tree", "", "this tree: its output does not match"},
		"fails later":         {"echo go1", "test $(wc -l <log) = 2 && echo go1", "base tree base tree", "", "pair 1"},
		"leaves a process":    {"echo go1", "sleep 60 >/dev/null & echo go1", "base tree", "", "left processes"},
		"rejects later": {
			"[ $(wc -l <log) = 1 ] && echo go1 || exit 2", "echo go1", "base tree base", "", "pair 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var programs [2]string
			for i, does := range []string{tc.base, tc.tree} {
				programs[i] = filepath.Join(dir, []string{"base", "tree"}[i])
				script := fmt.Sprintf("#!/bin/sh\ncd %q\nbasename $0 >> log\n%s\n", dir, does)
				if err := os.WriteFile(programs[i], []byte(script), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			b := &bencher{options: options{pairs: 2, limit: time.Minute}, dir: dir}
			p := &pairing{}
			err := b.alternate(t.Context(), job{tool: versionCommand, perPair: 1}, programs, p)
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			if got := strings.Join(strings.Fields(string(log)), " "); got != tc.order {
				t.Errorf("the programs ran in the order %q, want %q", got, tc.order)
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			for what, texts := range map[string][2]string{
				"not comparable": {p.NotComparable, tc.notComparable}, "error": {got, tc.err},
			} {
				if got, want := texts[0], texts[1]; !strings.Contains(got, want) || (got == "") != (want == "") {
					t.Errorf("%s: %q, want %q", what, got, want)
				}
			}
		})
	}
}

// TestCheckWantsEveryAssertion checks that a run which grades less than the suite has is not a measurement.
func TestCheckWantsEveryAssertion(t *testing.T) {
	const record = `{"test_id":"a","verdict":"%s","turns":[{}],"scores":[{"assertions":[{"passed":true}%s]}]}` + "\n"
	for name, tc := range map[string]struct {
		records string
		exit    int
		want    string
	}{
		"complete":             {fmt.Sprintf(record, "pass", `,{"passed":true}`), 0, ""},
		"fewer assertions":     {fmt.Sprintf(record, "pass", ``), 0, "1 assertions passed"},
		"a failed assertion":   {fmt.Sprintf(record, "pass", `,{"passed":false}`), 0, "1 assertions passed"},
		"another verdict":      {fmt.Sprintf(record, "ungraded", `,{"passed":true}`), 0, "verdict ungraded"},
		"no record":            {"", 0, "0 records instead of 1"},
		"another exit code":    {fmt.Sprintf(record, "pass", `,{"passed":true}`), 4, "exit code 4"},
		"a record that is cut": {record[:20], 0, "record 1"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, resultsDir, "results.jsonl")
		err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(tc.records), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		err = rehearse{}.check(dir, workload{conversations: 1, turns: 1}, tc.exit)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error is %v, want %q", name, err, tc.want)
		}
	}
}

// TestMain lets the test program be the endpoint, as the bench program is.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-serve") {
		if err := serve(context.Background(), 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestPrivateMemoryIsSampled(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); errors.Is(err, os.ErrNotExist) {
		t.Skip("the system does not report private memory")
	}
	dir := t.TempDir()
	run := func(script string) usage {
		p := program{dir: dir, name: "/bin/sh", args: []string{"-c", script}}
		u, exit, err := measure(t.Context(), time.Minute, p)
		if err != nil || exit != 0 {
			t.Fatalf("exit code %d: %v; it printed: %s", exit, err, lastOutput(dir))
		}
		return u
	}
	// A child of the shell reads 40 MB before its first line ends, so a shell that waits for it has that memory too.
	const large = `head -c 40000000 /dev/zero | tr '\0' x | sort > /dev/null`
	small, child := run("sleep 0.2"), run("("+large+"); true")
	if small.Private <= 0 || small.Private > 10*mb {
		t.Errorf("a shell that sleeps has %d bytes of private memory", small.Private)
	}
	if child.Private < 30*mb {
		t.Errorf("a shell whose child has 40 MB has %d bytes of private memory", child.Private)
	}
}
