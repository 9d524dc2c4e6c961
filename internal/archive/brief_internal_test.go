package archive

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rehearse/internal/chat"
	"rehearse/internal/quarantine"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
)

// fill sets everything in v to something; n makes two values of a kind differ.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 7, 14, 9, 0, *n, 123_456_000, time.UTC)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{"current_node_id":[%d,null,true,-1.5e3,"a\u0041\n"]}`, *n))))
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
	log, err := runlog.Open(t.TempDir())
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
func full(t *testing.T) *result.Test {
	of, n := &result.Test{}, 0
	fill(t, reflect.ValueOf(of).Elem(), &n)
	of.Schema = result.Schema
	of.Output[0].Role, of.Scores[1].Verdict, of.Scores[1].Score = chat.System, result.Error, 0
	of.Turns[1].Usage, of.Turns[1].Cost = chat.Usage{Unknown: true}, chat.Cost{Unknown: true}
	of.Turns[1].Input = chat.Content{Blocks: []chat.Block{{Type: "text", Value: "in blocks"}}}
	of.Scores[0].Name, of.Scores[0].Assertions[0].Votes[1] = "turn-1", nil
	return of
}

// known is what an index makes of a record.
type known struct {
	Row      Row
	Passages []Passage
	Error    bool
}

func knownOf(of *result.Test, err error, texts bool) known {
	if err != nil {
		return known{Error: true}
	}
	k := known{Row: rowOf(of, 1, 2)}
	if texts {
		k.Passages = Passages(of)
	}
	return k
}

// check holds that a line is read in brief as it is read whole. It reports whether it was read in brief at all.
func check(t *testing.T, line []byte) (brisk bool) {
	t.Helper()
	for _, texts := range []bool{true, false} {
		b := newBrief(texts)
		for range 2 { // the second time into the same memory
			got, err := b.read(line)
			brisk = got == &b.test
			one := knownOf(got, err, texts)
			whole, err := runlog.Decode(line)
			if d := cmp.Diff(knownOf(whole, err, texts), one, cmp.AllowUnexported(Row{})); d != "" {
				t.Fatalf("%s\nis read otherwise than whole (texts %t):\n%s", line, texts, d)
			}
		}
	}
	whole, err := runlog.Decode(line)
	if err != nil {
		return brisk // who asks for grades has seen the row of the line
	}
	b := newBrief(false)
	b.grades = true
	got, err := b.read(line)
	if err != nil {
		t.Fatalf("%s\nhas no grades: %v", line, err)
	}
	if got.Key() != whole.Key() { // then Run.Grades reads it whole
		return brisk
	}
	if d := cmp.Diff(gradesOf(whole), gradesOf(got)); d != "" {
		t.Fatalf("%s\nhas other grades than whole:\n%s", line, d)
	}
	return brisk
}

// grades are what the page Judge needs of a record.
type grades struct {
	Key result.Key
	// Assertions are those of all items.
	Assertions []grade
}

type grade struct {
	Item, Text, Grader string
	Passed             bool
	Voters             int
}

func gradesOf(of *result.Test) grades {
	all := grades{Key: of.Key()}
	for _, s := range of.Scores {
		for _, a := range s.Assertions {
			all.Assertions = append(all.Assertions, grade{s.Name, a.Text, a.Grader, a.Passed, len(a.Voters)})
		}
	}
	return all
}

// A record with every field that there is, and one with as few as may be, are read in brief. Who adds a field to records has to add it here: until then each
// record with it takes ten times as long.
func TestBriefReadsEveryField(t *testing.T) {
	bare := &result.Test{Schema: result.Schema, Verdict: result.Skip, SkipReason: "not today", Failures: []result.Failure{{Code: result.Budget, Message: "spent"}}}
	bare.Usage.Unknown, bare.Cost.Unknown = true, true
	for name, of := range map[string]*result.Test{"full": full(t), "bare": bare} {
		if line := logged(t, of); !check(t, line) {
			t.Errorf("%s: is not read in brief:\n%s", name, line)
		}
	}
}

// Whatever a line holds, it is read as runlog.Decode reads it: what is no record for one is none for the other.
func TestBriefIsAsWhole(t *testing.T) {
	terms := &quarantine.Terms{Owner: "a", Until: "2026-10-01", Reason: "b"}
	small := &result.Test{Schema: 1, TestID: "a", Verdict: result.Fail, Tags: []string{"x"}, Quarantined: terms, Turns: make([]result.Turn, 1), Failures: []result.Failure{{Code: result.Flaky}}}
	lines := [][]byte{logged(t, full(t)), logged(t, small)}
	pieces := strings.Split("{ } [ ] , : \" \\ \\u00e9 \\ud83d \\x null true -0 01 1e999 0.5 1. \x00 \xff é 1 {} [] \"verdict\":\"pass\", \"Verdict\":\"pass\", \"more\":1,", " ")
	pieces = append(pieces, " ", "", strings.Repeat("[", 300), `"trial":1,`, `"score":null`, `"schema":2`, `"turns":null`)
	random := rand.New(rand.NewPCG(1, 2))
	rounds := 10_000
	if testing.Short() {
		rounds = 2_000
	}
	atNode := &result.Test{Schema: 1, TestID: "a", Turns: []result.Turn{{State: json.RawMessage(`{"current_node_id":"n"}`)}}}
	lines = append(lines, logged(t, atNode))
	for _, change := range [][2]string{ // what chance seldom makes
		{`"schema":1`, `"schema":2`}, {`"verdict":"error"`, `"score":1,"verdict":"error"`}, {`"state":{`, `"state":{"deep":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `,`},
		{`"attempts":`, `"attempts":"none","attempts":`}, {`"started_at":"`, `"started_at":"2026-`}, {`"trial":`, `"trial":1.0,"trial":`},
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
