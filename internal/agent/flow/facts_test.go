package flow

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNormalKey(t *testing.T) {
	for key, want := range map[string]string{
		"name": "name", " First Name ": "first_name", "first-name": "first_name", "a\tb\u00a0c": "a_b_c",
		"Größe.CM_2": "größe.cm_2", "": "", " \t": "", "名前": "名前", "имя": "имя",
		"Город 2": "город_2", "улица‐2": "улица_2", "a‑b－c": "a_b_c", "ﬁn①": "fin1", "١٢": "١٢",
		"नाम": "नाम", "É": "é", "e!\u0301": "é", "İ": "i", "a\u00adb": "ab", "x\x00y\xffz": "xyz", "...": "...",
		"-": "_", strings.Repeat("я", 70): strings.Repeat("я", 64), "!?": "fact_8faf838e", " !? ": "fact_8faf838e",
		"🎂": "fact_23816c18", "a\nb: c": "a_b_c", strings.Repeat("k", 500): strings.Repeat("k", maxFactKey),
	} {
		if got := NormalKey(key); got != want || NormalKey(got) != got {
			t.Errorf("NormalKey(%q) = %q, want %q", key, got, want)
		}
	}
}

// addFact, correctFact and removeFact are operations without ornaments.
func addFact(key, value string) factOp     { return factOp{Op: opAdd, Key: key, Value: value} }
func correctFact(key, value string) factOp { return factOp{Op: opUpdate, Key: key, Value: value} }
func removeFact(key string) factOp         { return factOp{Op: opDelete, Key: key} }

// sureness returns the operation with a confidence, saidIn with a turn.
func (o factOp) sureness(c float64) factOp { o.Confidence = &c; return o }
func (o factOp) saidIn(turn int) factOp    { o.SourceTurn = turn; return o }

func TestMergeFacts(t *testing.T) {
	sure := 0.9
	town := Fact{Key: "town", Value: "Bonn", SourceTurn: 3, Confidence: &sure}
	townNow := Fact{Key: "town", Value: "Bonn", SourceTurn: 7, Confidence: &sure}
	gone, goneNow := town, townNow
	gone.Deleted, gone.SourceTurn, gone.ValueTurn = true, 5, 3
	goneNow.Deleted, goneNow.ValueTurn = true, 3
	moved := Fact{Key: "town", Value: "Köln", SourceTurn: 7, Previous: []PastValue{{"Bonn", 3}}}
	old := Fact{Key: "z", Value: "1"}
	fresh := func(key, value string) Fact { return Fact{Key: key, Value: value, SourceTurn: 7} }
	for name, test := range map[string]struct {
		facts []Fact
		ops   []factOp
		want  []Fact
		// delta is the keys that were added, updated and deleted.
		delta string
	}{
		"add":             {nil, []factOp{addFact("Town ", " Bonn\n").sureness(sure)}, []Fact{townNow}, "+town"},
		"same":            {[]Fact{town}, []factOp{addFact("town", " BONN ").sureness(0.2)}, []Fact{town}, ""},
		"correction":      {[]Fact{town}, []factOp{correctFact("town", "Köln")}, []Fact{moved}, "~town"},
		"add corrects":    {[]Fact{town}, []factOp{addFact("town", "Köln")}, []Fact{moved}, "~town"},
		"update adds":     {nil, []factOp{correctFact("town", "Bonn").saidIn(3).sureness(sure)}, []Fact{town}, "+town"},
		"delete":          {[]Fact{town}, []factOp{removeFact("town")}, []Fact{goneNow}, "-town"},
		"delete twice":    {[]Fact{gone}, []factOp{removeFact("town")}, []Fact{gone}, ""},
		"delete nothing":  {nil, []factOp{removeFact("town")}, nil, ""},
		"revive":          {[]Fact{gone}, []factOp{addFact("town", "Bonn")}, []Fact{fresh("town", "Bonn")}, "+town"},
		"revive, another": {[]Fact{gone}, []factOp{addFact("town", "Köln")}, []Fact{moved}, "+town"},
		"last wins": {
			nil, []factOp{addFact("a", "1"), addFact("b", "2"), removeFact("a")}, []Fact{fresh("b", "2")}, "+b",
		},
		"order": {
			[]Fact{old}, []factOp{addFact("b", "1"), addFact("a", "1")}, []Fact{old, fresh("b", "1"), fresh("a", "1")},
			"+b +a",
		},
		"older":        {[]Fact{town}, []factOp{correctFact("town", "Ulm").saidIn(2)}, []Fact{town}, ""},
		"older delete": {[]Fact{town}, []factOp{removeFact("town").saidIn(2)}, []Fact{town}, ""},
		"older than delete": {
			[]Fact{goneNow}, []factOp{addFact("town", "Bonn").saidIn(6)}, []Fact{goneNow}, "",
		},
		"same turn": {
			[]Fact{town},
			[]factOp{correctFact("town", "Ulm").saidIn(3)},
			[]Fact{{Key: "town", Value: "Ulm", SourceTurn: 3, Previous: []PastValue{{"Bonn", 3}}}},
			"~town",
		},
		"from the future": {
			[]Fact{{Key: "town", Value: "Bonn", SourceTurn: 99}},
			[]factOp{correctFact("town", "Köln").saidIn(80)},
			[]Fact{{Key: "town", Value: "Köln", SourceTurn: 7, Previous: []PastValue{{"Bonn", 99}}}},
			"~town",
		},
		"previous once": {
			[]Fact{{Key: "town", Value: "Bonn", SourceTurn: 3, Previous: []PastValue{{"bonn", 1}}}},
			[]factOp{correctFact("town", "Köln")},
			[]Fact{{Key: "town", Value: "Köln", SourceTurn: 7, Previous: []PastValue{{"bonn", 1}}}},
			"~town",
		},
		"meaningless": {
			[]Fact{town}, []factOp{
				{Op: "drop", Key: "town"}, addFact("x", ""), addFact("", "x"), addFact(" ", "x"), addFact("x", " \n"),
			}, []Fact{town}, "",
		},
		"seeded twice": {
			[]Fact{
				{Key: "Town", Value: "a", SourceTurn: 2}, old, {Key: "town", Value: "b", SourceTurn: 1},
				{Key: " ", Value: "z"},
			},
			nil,
			[]Fact{{Key: "town", Value: "a", SourceTurn: 2}, old},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, delta := mergeFacts(test.facts, test.ops, 7)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %s, want %s", inJSON(t, got), inJSON(t, test.want))
			}
			if d := deltaKeys(delta); d != test.delta {
				t.Errorf("delta %q, want %q", d, test.delta)
			}
		})
	}
}

func deltaKeys(d MemoryDelta) string {
	var keys []string
	for i, facts := range [][]Fact{d.FactsAdded, d.FactsUpdated, d.FactsDeleted} {
		for _, f := range facts {
			keys = append(keys, "+~-"[i:i+1]+f.Key)
		}
	}
	return strings.Join(keys, " ")
}

func TestMergeBounds(t *testing.T) {
	facts, _ := mergeFacts(nil, []factOp{addFact(strings.Repeat("k", 5000), strings.Repeat("é", 5000))}, 1)
	if f := facts[0]; len(f.Key) != maxFactKey || utf8.RuneCountInString(f.Value) != maxFactValue {
		t.Errorf("key of %d and value of %d characters", len(f.Key), utf8.RuneCountInString(f.Value))
	}
	for i := range 50 {
		facts, _ = mergeFacts(facts, []factOp{correctFact(facts[0].Key, fmt.Sprint(i))}, i+1)
	}
	if past := facts[0].Previous; len(past) != maxPastValues || past[len(past)-1].Value != "48" {
		t.Errorf("previous %v", past)
	}
	many := make([]factOp, 250)
	for i := range many {
		many[i] = addFact(fmt.Sprint("k", i), "v")
	}
	if facts, _ = mergeFacts(nil, many, 1); len(facts) != maxFactOps || facts[0].Key != "k0" {
		t.Errorf("%d facts from %s on", len(facts), facts[0].Key)
	}
	for i := range many {
		many[i] = many[i].sureness(float64(i) / 250)
	}
	facts, _ = mergeFacts(nil, many, 1)
	if again, delta := mergeFacts(facts, many, 1); len(facts) != maxFacts || facts[0].Key != "k150" ||
		deltaKeys(delta) != "" || len(again) != maxFacts {
		t.Errorf("%d facts from %s on, then %v", len(facts), facts[0].Key, delta)
	}
	percent := addFact("b", "1").sureness(95)
	facts, _ = mergeFacts(nil, []factOp{addFact("a", "1").sureness(math.NaN()), percent}, 1)
	if facts[0].Confidence != nil || *facts[1].Confidence != 1 || *percent.Confidence != 95 {
		t.Errorf("confidences of %s", inJSON(t, facts))
	}
}

func TestMergeEvicts(t *testing.T) {
	low, high := 0.1, 0.9
	full := make([]Fact, maxFacts)
	for i := range full {
		full[i] = Fact{Key: fmt.Sprintf("k%03d", i), Value: "v", SourceTurn: i + 1, Confidence: &high}
	}
	full[40].Confidence = &low
	gone := func(facts []Fact) string { // the old keys that are missing
		keys := byKey(facts)
		var missing []string
		for _, f := range full {
			if _, ok := keys[f.Key]; !ok {
				missing = append(missing, f.Key)
			}
		}
		return strings.Join(missing, " ")
	}
	for name, test := range map[string]struct {
		ops  []factOp
		gone string
	}{
		"lowest, then oldest":     {[]factOp{addFact("a", "1"), addFact("b", "1")}, "k000 k040"},
		"the new one is lowest":   {[]factOp{addFact("a", "1").sureness(0)}, ""},
		"confirmed ones stay":     {[]factOp{addFact("k040", "V"), addFact("a", "1")}, "k000"},
		"the corrected is lowest": {[]factOp{addFact("k077", "w").sureness(0), addFact("a", "1")}, "k077"},
		"equals go by key":        {[]factOp{addFact("k077", "w").sureness(0), addFact("a", "1").sureness(0)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, delta := mergeFacts(full, test.ops, 200)
			if len(got) != maxFacts || gone(got) != test.gone {
				t.Errorf("%d facts without %q, want without %q", len(got), gone(got), test.gone)
			}
			checkDelta(t, full, got, delta)
			again, second := mergeFacts(got, test.ops, 200)
			if !reflect.DeepEqual(again, got) || deltaKeys(second) != "" {
				t.Errorf("merging again changed %s", deltaKeys(second))
			}
		})
	}
	seeded := make([]Fact, 10_000)
	for i := range seeded {
		seeded[i] = Fact{Key: fmt.Sprint("k", i), Value: "v"}
	}
	if got, delta := mergeFacts(seeded, nil, 1); len(got) != maxFacts ||
		len(delta.FactsDeleted) != len(seeded)-maxFacts {
		t.Errorf("%d facts left of 10,000, %d deleted", len(got), len(delta.FactsDeleted))
	}
	if lines := strings.Count((Memory{Facts: seeded}).factsText(), "\n"); lines != maxFacts {
		t.Errorf("%d facts in the prompt", lines)
	}
}

// anyFacts draws facts with room behind the end of their lists; sometimes so many that some have to go.
func anyFacts(t *rapid.T) []Fact {
	facts := make([]Fact, 0, 150)
	if rapid.Bool().Draw(t, "crowded") {
		for i := range rapid.IntRange(maxFacts-3, maxFacts+3).Draw(t, "crowd") {
			facts = append(facts, Fact{
				Key: fmt.Sprintf("k%d", i), Value: "v", SourceTurn: i % 3, Confidence: anyConfidence(t),
			})
		}
	}
	for range rapid.IntRange(0, 8).Draw(t, "facts") {
		f := Fact{
			Key: anyKey(t), Value: anyValue(t), SourceTurn: rapid.IntRange(-1, 12).Draw(t, "source"),
			Confidence: anyConfidence(t),
		}
		f.Deleted = rapid.Bool().Draw(t, "deleted")
		f.Previous = make([]PastValue, rapid.IntRange(0, maxPastValues).Draw(t, "previous"), maxPastValues+4)
		facts = append(facts, f)
	}
	return facts
}

// roomOf returns the facts with what stands behind the end of their lists, where nothing may be written.
func roomOf(facts []Fact) any {
	past := [][]PastValue{}
	for _, f := range facts {
		past = append(past, f.Previous[:cap(f.Previous)])
	}
	return []any{facts[:cap(facts)], past}
}

func anyKey(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"a", "A", "b-c", "b_c", "d", "", "é", "k1", "k2", "k3", "k4", "k99", "new1", "new2", "new3",
	}).Draw(t, "key")
}

func anyValue(t *rapid.T) string {
	return rapid.SampledFrom([]string{"v", "V ", "w", "", "x\ny", "ſ", "S"}).Draw(t, "value")
}

func anyConfidence(t *rapid.T) *float64 {
	return rapid.SampledFrom([]*float64{nil, new(0.0), new(0.5), new(1.0), new(-3.0)}).Draw(t, "confidence")
}

func anyOps(t *rapid.T) []factOp {
	var ops []factOp
	for range rapid.IntRange(0, 12).Draw(t, "ops") {
		ops = append(ops, factOp{
			Op: rapid.SampledFrom([]string{opAdd, opUpdate, opDelete, "?"}).Draw(t, "op"), Key: anyKey(t),
			Value: anyValue(t), SourceTurn: rapid.IntRange(-1, 12).Draw(t, "op source"), Confidence: anyConfidence(t),
		})
	}
	return ops
}

func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts, ops, turn := anyFacts(t), anyOps(t), rapid.IntRange(0, 12).Draw(t, "turn")
		before := inJSON(t, roomOf(facts))
		once, delta := mergeFacts(facts, ops, turn)
		twice, second := mergeFacts(once, ops, turn)
		if after := inJSON(t, roomOf(facts)); after != before {
			t.Fatalf("the facts changed from\n%s to\n%s", before, after)
		}
		if !reflect.DeepEqual(once, twice) || deltaKeys(second) != "" {
			t.Fatalf("merging again changed %s:\n%s\n%s", deltaKeys(second), inJSON(t, once), inJSON(t, twice))
		}
		if len(once) > maxFacts {
			t.Fatalf("%d facts", len(once))
		}
		checkDelta(t, facts, once, delta)
		keys := map[string]bool{}
		for _, f := range once {
			if keys[f.Key] || NormalKey(f.Key) != f.Key || f.Key == "" {
				t.Fatalf("key %q", f.Key)
			}
			keys[f.Key] = true
		}
	})
}

// checkDelta holds that the facts that were live before and the delta make those that are live now.
func checkDelta(t interface{ Fatalf(string, ...any) }, before, after []Fact, delta MemoryDelta) {
	live := liveValues(normalFacts(before))
	for _, f := range delta.FactsAdded {
		if _, ok := live[f.Key]; ok || f.Deleted {
			t.Fatalf("%q is added, but was there", f.Key)
		}
		live[f.Key] = f.Value
	}
	for _, f := range delta.FactsUpdated {
		if value, ok := live[f.Key]; !ok || value == f.Value {
			t.Fatalf("%q is updated, but was %q", f.Key, value)
		}
		live[f.Key] = f.Value
	}
	for _, f := range delta.FactsDeleted {
		if _, ok := live[f.Key]; !ok {
			t.Fatalf("%q is deleted, but was not there", f.Key)
		}
		delete(live, f.Key)
	}
	if now := liveValues(after); !reflect.DeepEqual(now, live) {
		t.Fatalf("the delta leads to %v, but there is %v", live, now)
	}
}

func liveValues(facts []Fact) map[string]string {
	live := map[string]string{}
	for _, f := range facts {
		if !f.Deleted {
			live[f.Key] = f.Value
		}
	}
	return live
}

func TestFactsReply(t *testing.T) {
	half := 0.5
	bonn := []factOp{{Op: opAdd, Key: "town", Value: "Bonn"}}
	for reply, want := range map[string][]factOp{
		`{"facts":[]}`: nil,
		`{"facts":[{"op":"add","key":"town","value":"Bonn"}]}`:                                              bonn,
		"```json\n{\"facts\":[{\"op\":\" ADD\",\"key\":\"town\",\"value\":\"Bonn\"}]}\n```":                 bonn,
		`Here {as asked}: {"facts":[{"op":"add","key":"town","value":"Bonn","extra":{}}]} - that is all {}`: bonn,
		`{"result":{"facts":[{"op":"add","key":"town","value":"Bonn"}]}}`:                                   bonn,
		`{"facts":[1,"x",null,{},{"op":"add","key":"town","value":"Bonn"},{"op":"set","key":"a","value":"b"},{"op":"add","key":" ","value":"b"},` +
			`{"op":"add","key":"a"},{"op":"add","key":"a","value":["x"]},{"op":7,"key":"a","value":"x"}]}`: bonn,
		`{"facts":[{"op":"update","key":"age","value":42,"source_turn":3,"confidence":0.5},{"op":"delete","key":"x","value":null}]}`: {
			{Op: opUpdate, Key: "age", Value: "42", SourceTurn: 3, Confidence: &half}, {Op: opDelete, Key: "x"},
		},
		`{"facts":[{"op":"add","key":"vip","value":true,"source_turn":"4","confidence":"high"},{"op":"delete","key":"x","value":{}}]}`: {
			{Op: opAdd, Key: "vip", Value: "true", SourceTurn: 4}, {Op: opDelete, Key: "x"},
		},
	} {
		if got, err := parseFacts(reply); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%s, %v, want\n%s", reply, inJSON(t, got), err, inJSON(t, want))
		}
	}
	for _, reply := range []string{
		"", "none", "[]", `{}`, `{"facts":null}`, `{"facts":{}}`, `{"facts":[`, `{"fact":[]}`,
		strings.Repeat("{", 1_000_000), strings.Repeat(`{"a":`, 200_000),
	} {
		if ops, err := parseFacts(reply); err == nil || len(err.Error()) > 500 {
			t.Errorf("%.40q gives %v, %v", reply, ops, err)
		}
	}
}

func FuzzFactsReply(f *testing.F) {
	for _, seed := range []string{
		noFacts, "```{", "{{{",
		`{"facts":[{"op":"add","key":"A b","value":"x\u0000\n- y: z","source_turn":1e300,"confidence":"NaN"}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		ops, err := parseFacts(reply)
		if err != nil && ops != nil {
			t.Fatal("operations and an error")
		}
		facts, _ := mergeFacts(nil, ops, 5)
		again, _ := mergeFacts(facts, ops, 5)
		if !reflect.DeepEqual(facts, again) {
			t.Fatalf("merging %q again changes %v to %v", reply, facts, again)
		}
		text := Memory{Facts: facts}.factsText()
		lines := strings.FieldsFunc(text, func(r rune) bool {
			return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r)
		})
		if len(facts) > 0 && len(lines) != len(facts)+1 {
			t.Fatalf("%d facts in %d lines: %q", len(facts), len(lines), text)
		}
	})
}

// anyReply draws a model that answers with facts, with nonsense, or not at all.
func anyReply(t *rapid.T) func() (string, error) {
	var entries []string
	for _, op := range anyOps(t) {
		entries = append(entries, fmt.Sprintf(`{"op":%q,"key":%q,"value":%q,"source_turn":%d}`, op.Op, op.Key, op.Value,
			op.SourceTurn))
	}
	reply := `{"facts":[` + strings.Join(entries, ",") + `]}`
	return rapid.SampledFrom([]func() (string, error){
		replying(reply), replying(reply), replying("nonsense"), nil,
	}).Draw(t, "facts model")
}
