package runlog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// fill sets everything in v to something; n makes two values of a kind differ.
func fill(t testing.TB, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 7, 14, 9, 0, *n, 123_456_000, time.UTC)))
		return
	case json.RawMessage:
		v.Set(
			reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{"current_node_id":[%d,null,true,-1.5e3,"a\u0041\n"]}`, *n))))
		return
	case chat.Usage:
		v.Set(reflect.ValueOf(chat.Usage{InputTokens: *n, OutputTokens: 2, CachedTokens: 3, ReasoningTokens: 4}))
		return
	case chat.Cost:
		v.Set(reflect.ValueOf(chat.Cost{USD: float64(*n) / 8}))
		return
	case chat.Content:
		v.Set(reflect.ValueOf(chat.Content{Text: fmt.Sprintf("said <%d> & \"so\"\n\u2028 grüßt", *n)}))
		return
	case map[string]any:
		v.Set(reflect.ValueOf(map[string]any{"n": float64(*n)}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text \"%d\"", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 4)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(t, v.Index(i), n)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if v.Type().Elem() != reflect.TypeFor[result.JudgeUse]() {
			t.Fatalf("%s is a map that this test does not know", v.Type())
		}
		v.SetMapIndex(reflect.ValueOf("one"), reflect.ValueOf(result.JudgeUse{Calls: *n}))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(t, v.Field(i), n)
			}
		}
	default:
		t.Fatalf("%s is a kind that this test does not know", v.Type())
	}
}

// logged returns the line of a record as a log has it.
func logged(t testing.TB, of *result.Test) []byte {
	t.Helper()
	log, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	line, err := log.Line(of)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return line
}

// full is a record with everything in it.
func full(t testing.TB) *result.Test {
	of, n := &result.Test{}, 0
	fill(t, reflect.ValueOf(of).Elem(), &n)
	of.Schema = result.Schema
	of.Output[0].Role, of.Scores[1].Verdict, of.Scores[1].Score = chat.System, result.Error, 0
	of.Turns[1].Usage, of.Turns[1].Cost = chat.Usage{Unknown: true}, chat.Cost{Unknown: true}
	of.Turns[1].Input = chat.Content{Blocks: []chat.Block{{Type: "text", Value: "in blocks"}}}
	of.Scores[0].Name, of.Scores[0].Assertions[0].Votes[1] = "turn-1", nil
	return of
}

// lessened returns what a Brief reads of a whole record.
func lessened(t *result.Test, of Extent) *result.Test {
	if t == nil {
		return nil
	}
	k := *t
	said := func(c chat.Content) chat.Content {
		if of != Texts && c.Blocks == nil {
			c.Text = ""
		}
		return c
	}
	k.ConversationID, k.SessionID = "", ""
	k.Scores = slices.Clone(t.Scores)
	for i := range k.Scores {
		checks := slices.Clone(k.Scores[i].Assertions)
		for n := range checks {
			a := &checks[n]
			if of == Outcomes {
				a.Text = ""
			}
			if of != Texts && !(of == Grades && a.Evidence == result.NotCalled) {
				a.Evidence = ""
			}
			a.Spans, a.Score, a.Votes = nil, nil, nil
		}
		k.Scores[i].Assertions = checks
	}
	if of == Grades {
		return &result.Test{
			Schema: k.Schema, RunID: k.RunID, Suite: k.Suite, TestID: k.TestID, Trial: k.Trial, Target: k.Target,
			EndedByAgent: k.EndedByAgent, Score: k.Score, GradedScore: k.GradedScore, Verdict: k.Verdict,
			SkipReason: k.SkipReason, Threshold: k.Threshold, Strict: k.Strict, Required: k.Required,
			Cluster: k.Cluster, Definition: k.Definition, ExecutionStatus: k.ExecutionStatus, Scores: k.Scores,
		}
	}
	k.Output = slices.Clone(t.Output)
	for i := range k.Output {
		k.Output[i] = chat.Message{Role: k.Output[i].Role, Content: said(k.Output[i].Content)}
	}
	k.Turns = slices.Clone(t.Turns)
	for i := range k.Turns {
		x := &k.Turns[i]
		if of != Texts {
			x.TurnID, x.Output = "", ""
		}
		x.Input, x.TraceID, x.ToolCalls = said(x.Input), "", slices.Clone(x.ToolCalls)
		for n := range x.ToolCalls {
			x.ToolCalls[n].ID, x.ToolCalls[n].Source = "", ""
		}
	}
	return &k
}

// check compares what Brief reads of a line with what Decode reads, and that with encoding/json. Empty and nil lists
// are equal. It reports whether the line was read in brief at all.
func check(t *testing.T, line []byte) (brisk bool) {
	t.Helper()
	whole, failed := Decode(line)
	var std result.Test
	if err := json.Unmarshal(line, &std); (err != nil) != (failed != nil) && std.Schema <= result.Schema {
		t.Fatalf("%s\nencoding/json: %v, Decode: %v", line, err, failed)
	}
	if d := cmp.Diff(&std, whole, cmpopts.EquateEmpty()); failed == nil && d != "" {
		t.Fatalf("%s\nis not what encoding/json reads (-json +Decode):\n%s", line, d)
	}
	for of := Outcomes; of <= Texts; of++ {
		b := NewBrief(of)
		for range 2 { // the second time into the same memory
			got, inOrder, err := b.Read(line)
			if brisk = inOrder; (err != nil) != (failed != nil) {
				t.Fatalf("%s\nwhole: %v, in brief: %v", line, failed, err)
			}
			if !inOrder { // it was decoded whole
				continue
			}
			if d := cmp.Diff(lessened(whole, of), got, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("%s\nis read otherwise than whole (extent %d):\n%s", line, of, d)
			}
		}
	}
	if !brisk {
		return false // then an index decodes the record whole
	}
	got, inOrder, err := NewBrief(Grades).Read(line)
	if err != nil {
		t.Fatalf("%s\nhas no grades: %v", line, err)
	}
	if !inOrder { // it was decoded whole
		return true
	}
	if d := cmp.Diff(lessened(whole, Grades), got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("%s\nhas other grades than whole:\n%s", line, d)
	}
	return brisk
}

// A record with every field that there is, and one with as few as may be, are read in brief. Who adds a field to
// records has to add it here: until then each record with it takes ten times as long.
func TestBriefReadsEveryField(t *testing.T) {
	bare := &result.Test{
		Schema: result.Schema, Verdict: result.Skip, SkipReason: "not today",
		Failures: []result.Failure{{Code: result.Budget, Message: "spent"}},
	}
	bare.Usage.Unknown, bare.Cost.Unknown = true, true
	for name, of := range map[string]*result.Test{"full": full(t), "bare": bare} {
		if line := logged(t, of); !check(t, line) {
			t.Errorf("%s: is not read in brief:\n%s", name, line)
		}
	}
}

// Brief and Decode accept the lines that encoding/json accepts, and read the same values.
func TestBriefIsAsWhole(t *testing.T) {
	terms := &quarantine.Terms{Owner: "a", Until: "2026-10-01", Reason: "b"}
	small := &result.Test{
		Schema: 1, TestID: "a", Verdict: result.Fail, Tags: []string{"x"}, Quarantined: terms,
		Turns: make([]result.Turn, 1), Failures: []result.Failure{{Code: result.Flaky}},
	}
	lines := [][]byte{logged(t, full(t)), logged(t, small)}
	pieces := strings.Split("{ } [ ] , : \" \\ \\u00e9 \\ud83d \\x null true -0 01 1e999 0.5 1. \x00 \xff é 1 {} [] "+
		"\"verdict\":\"pass\", \"Verdict\":\"pass\", \"more\":1,", " ")
	pieces = append(pieces, " ", "", strings.Repeat("[", 300), `"trial":1,`, `"score":null`, `"schema":2`,
		`"turns":null`)
	random := rand.New(rand.NewPCG(1, 2))
	rounds := 3_000
	if testing.Short() {
		rounds = 500
	}
	atNode := &result.Test{
		Schema: 1, TestID: "a", Turns: []result.Turn{{State: json.RawMessage(`{"current_node_id":"n"}`)}},
	}
	lines = append(lines, logged(t, atNode))
	for _, change := range [][2]string{ // what chance seldom makes
		{`"schema":1`, `"schema":2`},
		{`"verdict":"error"`, `"score":1,"verdict":"error"`},
		{`"state":{`, `"state":{"deep":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `,`},
		{`"attempts":`, `"attempts":"none","attempts":`},
		{`"started_at":"`, `"started_at":"2026-`},
		{`"trial":`, `"trial":1.0,"trial":`},
	} {
		for _, line := range lines {
			check(t, []byte(strings.ReplaceAll(string(line), change[0], change[1])))
		}
	}
	brisk := 0
	for range rounds {
		line := string(lines[random.IntN(len(lines))])
		for range 1 + random.IntN(2) {
			at := random.IntN(len(line))
			if key := strings.Index(line[at:], `,"`); key >= 0 && random.IntN(2) == 0 {
				at += key + 1 // where a field begins
			}
			cut := min(len(line), at+[]int{0, 0, 1, 4, 20}[random.IntN(5)])
			line = line[:at] + pieces[random.IntN(len(pieces))] + line[cut:]
		}
		if check(t, []byte(line)) {
			brisk++
		}
	}
	if brisk == 0 || brisk == rounds {
		t.Errorf("%d of %d lines were read in brief", brisk, rounds)
	}
}

// FuzzBrief holds that any line is read in brief as it is read whole.
func FuzzBrief(f *testing.F) {
	for _, line := range oddLines(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) { check(t, line) })
}

// oddLines are lines that programs other than this one may write, or that somebody has changed by hand.
func oddLines(t testing.TB) (lines [][]byte) {
	whole := string(logged(t, full(t)))
	plain := string(logged(t, &result.Test{
		Schema: 1, Suite: "s", TestID: "a", Target: "t", Verdict: result.Fail, Score: 0.25, Scores: []result.Score{{
			Name: "turn-1", Verdict: result.Fail, Score: 0.25,
			Assertions: []result.Assertion{{Text: "is kind", Grader: "rubrics"}},
		}}, Output: []chat.Message{{Role: chat.User, Content: chat.Content{Text: "hi"}}}, Turns: make([]result.Turn, 1),
	}))
	bare := plain[:len(plain)-1] // without its last brace
	for _, behind := range []string{
		`"verdict":"pass"`, `"Verdict":"pass"`, `"VERDICT":"pass"`, `"verd\u0069ct":"pass"`, `"score":1`,
		`"\u017fcore":1`, `"ſcore":1`, `"test_id":"b"`, `"trial":2`, `"turns":[]`, `"turns":null`, `"scores":[]`,
		`"scores":[{"name":"turn-1","assertions":[{"text":"is kind","passed":true,"grader":"rubrics"}]}]`,
		`"Scores":[{"assertions":[{"passed":true}]}]`, `"failures":null`, `"output":null`,
		`"metadata":{"a":1e400}`, `"metadata":{"a":123456789012345678901234567890}`,
		`"position":9223372036854775808`, `"position":1e2`, `"schema":2`, `"schema":-1`, `"more":"\ud800"`,
		`"more":` + strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990),
		`"more":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), `"quarantined":null`, `"quarantined":{}`,
		`"trials":{"count":1}`, `"tags":null`, `"tags":["a",null]`, `"":1`, `"started_at":null`,
		`"started_at":"2026-02-30T00:00:00Z"`,
	} {
		lines = append(lines, []byte(bare+","+behind+"}"), []byte("{"+behind+","+plain[1:]),
			[]byte(strings.Replace(plain, `"output":`, behind+`,"output":`, 1)),
			[]byte(strings.Replace(whole, `"turns":`, behind+`,"turns":`, 1)))
	}
	for _, line := range []string{whole, plain, `{}`, `null`, `[]`, ``} {
		lines = append(lines, []byte(line), []byte("\ufeff"+line), []byte(line+"\x00"), []byte(line+"}"),
			[]byte(line+" "), []byte(" "+line), []byte(line+line), []byte(strings.ReplaceAll(line, ",", ", ")),
			[]byte(line[:len(line)/2]))
		for _, change := range [][2]string{
			{`"a"`, "\"\xff\""},
			{`"a"`, "\"\xed\xa0\x80\""},
			{`"a"`, `"\u0000"`},
			{`"a"`, "\"\x00\""},
			{`"a"`, `"\ud83d\ude00"`},
			{`"a"`, `"\ude00\ud83d"`},
			{`"a"`, "\"\x7f\u2028\""},
			{`"a"`, `null`},
			{`"a"`, `""`},
			{`0.25`, `-0`},
			{`0.25`, `0.25e0`},
			{`0.25`, `2.5E-1`},
			{`0.25`, `1e-400`},
			{`0.25`, `1e400`},
			{`0.25`, `00`},
			{`0.25`, `.25`},
			{`0.25`, `+1`},
			{`0.25`, `null`},
			{`0.25`, `"0.25"`},
			{`"fail"`, `"FAIL"`},
			{`[`, `[null,`},
			{`{`, `{"a":1,`},
			{`:`, `:[],"x":`},
			{`"failures":`, `"tags":[],"failures":`},
		} {
			lines = append(lines, []byte(strings.Replace(line, change[0], change[1], 1)),
				[]byte(strings.ReplaceAll(line, change[0], change[1])))
		}
	}
	return lines
}

// Odd lines are read as whole ones are, too.
func TestOddLines(t *testing.T) {
	for _, line := range oddLines(t) {
		check(t, line)
	}
}
