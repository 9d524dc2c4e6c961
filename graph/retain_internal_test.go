package graph

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

type kind string

type inner struct {
	Name  string          `json:"name,omitempty"`
	Kinds map[kind][]kind `json:"kinds"`
	Flag  *bool           `json:"flag"`
	Next  *struct{ N float64 }
}

// loose has what JSON does not give back as it was.
type loose struct {
	List  []string `json:"list,omitempty"`
	Any   any
	Gone  int `json:"-"`
	Twice **int
	At    time.Time
}

type mixed struct {
	Text   string
	Faith  inner
	Loose  loose
	Texts  []string          `json:"texts"`
	Values map[string]string `json:"values"`
	Turn   []inner           `json:"turn"`
	Hidden string            `json:"-"`
	Log    []inner           `json:"log"`
	Odd    []loose           `json:"odd"`
}

func mixedSchema(t *testing.T) (s *schema[mixed], log *List[mixed, inner], odd *List[mixed, loose]) {
	t.Helper()
	log = Append(func(s *mixed) *[]inner { return &s.Log }).Keyed(func(i inner) string { return i.Name })
	odd = Append(func(s *mixed) *[]loose { return &s.Odd })
	s, err := newSchema([]Column[mixed]{
		Last(func(s *mixed) *string { return &s.Text }), Last(func(s *mixed) *inner { return &s.Faith }),
		Last(func(s *mixed) *loose { return &s.Loose }), Last(func(s *mixed) *[]string { return &s.Texts }),
		Last(func(s *mixed) *map[string]string { return &s.Values }),
		Append(func(s *mixed) *[]inner { return &s.Turn }).PerTurn(), Last(func(s *mixed) *string { return &s.Hidden }),
		log, odd,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, log, odd
}

var texts = rapid.SampledFrom([]string{"", "a", "b", `"\`, "é", "\xff", "a\xc3", "\ufffd", `\ufffd`, "<\u2028>"})

func drawInner(rt *rapid.T) inner {
	i := inner{Name: texts.Draw(rt, "name")}
	kinds := rapid.SliceOfN(rapid.Map(texts, func(s string) kind { return kind(s) }), 0, 2)
	if rapid.Bool().Draw(rt, "kinds") {
		i.Kinds = map[kind][]kind{}
		for _, k := range kinds.Draw(rt, "keys") {
			i.Kinds[k] = slices.Clone(kinds.Draw(rt, "list"))
		}
	}
	if rapid.Bool().Draw(rt, "flag") {
		i.Flag, i.Next = new(bool), &struct{ N float64 }{rapid.Float64().Draw(rt, "n")}
	}
	return i
}

func drawLoose(rt *rapid.T) loose {
	l := loose{Gone: 1, Any: rapid.SampledFrom([]any{nil, 1, "x", []int{1}}).Draw(rt, "any"), At: time.Now()}
	if rapid.Bool().Draw(rt, "list") {
		l.List, l.Twice = []string{}, new(*int)
	}
	return l
}

func drawMixed(rt *rapid.T) mixed {
	m := mixed{Text: texts.Draw(rt, "text"), Faith: drawInner(rt), Loose: drawLoose(rt), Hidden: "h"}
	if rapid.Bool().Draw(rt, "filled") {
		m.Texts = rapid.SliceOfN(texts, 0, 3).Draw(rt, "texts")
		m.Values = rapid.MapOfN(texts, texts, 0, 2).Draw(rt, "values")
		m.Turn = rapid.SliceOfN(rapid.Custom(drawInner), 0, 3).Draw(rt, "turn")
	}
	return m
}

// What is recalled of a record without reading it is what reading it gives, whatever is in it.
func TestFollow(t *testing.T) {
	s, log, odd := mixedSchema(t)
	followed := 0
	rapid.Check(t, func(rt *rapid.T) {
		var chain []Record
		var known recalled[mixed]
		state := new(mixed)
		for n := range 3 {
			next := drawMixed(rt)
			if rapid.Bool().Draw(rt, "only the text changes") {
				next = *state
				next.Text = texts.Draw(rt, "text")
			}
			next.Log, next.Odd = state.Log, state.Odd
			writes := Update[mixed]{log.Add(rapid.SliceOfN(rapid.Custom(drawInner), 0, 2).Draw(rt, "log")...)}
			switch rapid.IntRange(0, 9).Draw(rt, "rare") {
			case 0:
				writes = append(writes, odd.Add(drawLoose(rt)))
			case 1:
				writes = append(writes, log.Trim(1))
			}
			state = s.applied(&next, writes)
			r := Record{ID: string(rune('a' + n))}
			if err := s.encode(&r, state, writes); err != nil {
				rt.Skip("it cannot be stored")
			}
			chain = append(chain, r)
			read, err := s.decode(chain, recalled[mixed]{})
			if err != nil {
				rt.Fatal(err)
			}
			if next, ok := s.follow(known, r, state, writes); ok {
				followed++
				if !reflect.DeepEqual(next.state, read.state) || next.size() != read.size() ||
					next.records != read.records || next.last.ID != r.ID {
					rt.Fatalf("%s + %s\nis recalled as %+v, %d bytes\nand read as    %+v, %d bytes", r.Values,
						r.Appended, next.state, next.size(), read.state, read.size())
				}
				roomless(rt, next.state)
			}
			roomless(rt, read.state)
			if known, err = s.decode(chain, known); err != nil || !reflect.DeepEqual(known.state, read.state) {
				rt.Fatalf("read from what was known it is %+v, %v\nnot %+v", known.state, err, read.state)
			}
			roomless(rt, known.state)
		}
	})
	if followed == 0 {
		t.Error("nothing was ever recalled without reading it")
	}
}

// roomless fails where a slice has room, into which two nodes could append.
func roomless(rt *rapid.T, m *mixed) {
	if cap(m.Texts) > len(m.Texts) || cap(m.Turn) > len(m.Turn) || cap(m.Log) > len(m.Log) {
		rt.Fatalf("there is room in %d of %d, %d of %d or %d of %d", len(m.Texts), cap(m.Texts), len(m.Turn),
			cap(m.Turn), len(m.Log), cap(m.Log))
	}
}

// Which types JSON surely gives back; the others are read.
func TestFaithful(t *testing.T) {
	type self struct{ Next []self }
	type twice struct {
		A int
		B int `json:"a"`
	}
	for of, want := range map[reflect.Type]bool{
		reflect.TypeFor[string](): true, reflect.TypeFor[kind](): true, reflect.TypeFor[inner](): true,
		reflect.TypeFor[[]byte](): true, reflect.TypeFor[[2]bool](): true, reflect.TypeFor[map[kind]int](): true,
		reflect.TypeFor[*[]int](): false, reflect.TypeFor[**int](): false, reflect.TypeFor[any](): false,
		reflect.TypeFor[time.Time](): false, reflect.TypeFor[json.Number](): false, reflect.TypeFor[loose](): false,
		reflect.TypeFor[self](): false, reflect.TypeFor[twice](): false, reflect.TypeFor[struct{ a int }](): false,
		reflect.TypeFor[struct{ inner }](): false,
		reflect.TypeFor[map[int]int]():     false, reflect.TypeFor[struct {
			A int `json:",string"`
		}](): false,
	} {
		if got := faithful(of, nil); got != want {
			t.Errorf("faithful(%v) = %v", of, got)
		}
	}
}

// A short text that was cut out of a long one does not keep the long one in memory.
func TestRetainedTextsAreTheirOwn(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	word := large[:3]
	i := inner{Name: word, Kinds: map[kind][]kind{kind(word): {kind(word)}}}
	retainer[inner]()(&i)
	list, values, text := []string{word}, map[string]string{word: word}, word
	retainer[[]string]()(&list)
	retainer[map[string]string]()(&values)
	retainer[string]()(&text)
	found := []string{i.Name, list[0], text}
	for k, v := range i.Kinds {
		found = append(found, string(k), string(v[0]))
	}
	found = slices.AppendSeq(slices.AppendSeq(found, maps.Keys(values)), maps.Values(values))
	for n, got := range found {
		if got != word || unsafe.StringData(got) == unsafe.StringData(large) {
			t.Errorf("text %d is %q, a part of the large one", n, got)
		}
	}
}
