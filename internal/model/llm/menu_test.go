package llm

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// triage is the menu of a support desk.
func triage() *Menu {
	m := NewMenu("option_id", []Option{
		{
			ID: "order", Label: "Order or delivery", When: "asks about an order or a parcel",
			Examples: []string{"Where is my parcel?", "Wo bleibt meine Bestellung?"},
		},
		{
			ID: "billing", Label: "Invoice or refund", When: "asks about a charge, an invoice or money",
			Examples: []string{"我想退款", "Je veux un remboursement"},
		},
		{ID: "tech", Label: "Technical problem", When: "something does not work"},
		{ID: "number", Label: "AC-000000"},
	}, "-1")
	m.Fixed = map[string]string{"current_node_id": "triage"}
	return m
}

func TestEachWord(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"Parcels, BOXES & queries!", "parcel box query"},
		{"glass bus this basis gas dresses dishes cars", "glass bus (this) basis gas dress dish car"},
		{"I don't want l'ordre", "(i) (don) (t) (want) (l) ordre"},
		{"Café cafe\u0301 ÜBER", "café café über"},
		{"order AC-104729 of 7 items for 99", "order ac 000000 (of) 7 item (for) 99"},
		{"我想退款 ok 退", "我想 想退 退款 ok 退"},
		{"ส้ม", "ส้ ้ม"},
		{"ที่abc", "ที ี่ abc"},
		{"नमस्ते दुनिया", "नमस्ते दुनिया"},
		{"x\u0000y\xffz_1", "(x) (y) (z) 1"},
	} {
		var words []string
		eachWord(tc.text, func(word []byte, function bool) {
			if function {
				words = append(words, "("+string(word)+")")
				return
			}
			words = append(words, string(word))
		})
		diff(t, tc.text, tc.want, strings.Join(words, " "))
	}
}

func TestRank(t *testing.T) {
	m := triage()
	for text, want := range map[string]string{
		"Where is my parcel?":           "order 1.00",
		"where are my PARCELS":          "order 0.9",
		"meine bestellung":              "order 0.7",
		"I was charged a lot of money":  "billing 0.2",
		"退款":                            "billing 0.",
		"my number is AC-104729, right": "number 0.6",
		"it isn't of the is a":          "", // function words alone find little
		"zebra":                         "order 0.00",
		"":                              "order 0.00",
	} {
		ranked := m.Rank(text)
		got := fmt.Sprintf("%s %.2f", ranked[0].ID, ranked[0].Score)
		if len(ranked) != 4 || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %v, want %s first", text, ranked, want)
		}
	}
	diff(t, "equals keep the menu's order", []Ranked{{"order", 0}, {"billing", 0}, {"tech", 0}, {"number", 0}},
		m.Rank("zebra"))
	diff(t, "no options", 0, len(NewMenu("x", nil, "").Rank("a")))
}

// The vectors by hand: N=3 texts (label, when and one example), alpha in two of them, beta in one.
func TestRankFormula(t *testing.T) {
	m := NewMenu("id", []Option{{ID: "x", Label: "alpha", When: "alpha beta", Examples: []string{"gamma"}}}, "")
	// the text "beta" against "alpha beta"
	alpha, beta := math.Log(4.0/3)+1, math.Log(4.0/2)+1
	want := beta / math.Hypot(alpha, beta)
	if got := m.Rank("beta")[0].Score; math.Abs(got-want) > 1e-9 {
		t.Errorf("got %v, want %v", got, want)
	}
	// and with a word that no text has, whose idf is ln(4/1)+1
	want *= beta / math.Hypot(beta, math.Log(4)+1)
	if got := m.Rank("beta zebra")[0].Score; math.Abs(got-want) > 1e-9 {
		t.Errorf("with an unknown word: got %v, want %v", got, want)
	}
}

// Neither what an author nor what a user may write at length is a problem, and many may ask at once.
func TestRankBounds(t *testing.T) {
	m := triage()
	long := strings.Repeat("parcel zebra é", 1<<20)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { m.Rank(long) })
	}
	wg.Wait()
	options := []Option{{ID: "a", Examples: []string{"x"}}}
	kept := NewMenu("id", options, "")
	options[0].ID = "changed"
	diff(t, "a menu keeps its options", "a", kept.Rank("x")[0].ID)
	diff(t, "argument", "id", kept.Argument())
	diff(t, "options", 1, len(kept.Options()))
	diff(t, "stay", "-1", m.Stay())
}

// What a request carries for the program alone changes neither what goes over the wire nor what a cassette holds.
func TestMenuStaysInside(t *testing.T) {
	with, without := step(triage(), "", "x"), step(nil, "", "x")
	a, err := requestKey("m", with)
	if err != nil {
		t.Fatal(err)
	}
	b, err := requestKey("m", without)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "key", a, b)
	var wire []string
	for _, r := range []Request{with, without} {
		for _, encode := range []func(config.Model, Request, bool) (any, error){
			func(m config.Model, r Request, streamed bool) (any, error) {
				return encodeChat(m, r, dialect{}, streamed)
			}, encodeResponses,
			encodeAnthropic, func(_ config.Model, r Request, _ bool) (any, error) { return encodeGoogle(r) },
		} {
			body, err := encode(config.Model{}, r, false)
			if err != nil {
				t.Fatal(err)
			}
			data, err := encodeJSON(body)
			if err != nil {
				t.Fatal(err)
			}
			wire = append(wire, string(data))
		}
	}
	diff(t, "wire", wire[:4], wire[4:])
}

func FuzzRank(f *testing.F) {
	f.Add("Where is my parcel?", "我想退款 AC-104729 cafe\u0301")
	f.Fuzz(func(t *testing.T, example, text string) {
		m := NewMenu("id", []Option{{ID: "a", Label: "parcel", Examples: []string{example}}, {ID: "b", When: text}},
			"-1")
		for _, r := range m.Rank(text) {
			if !(r.Score >= 0 && r.Score <= 1) {
				t.Errorf("%s scores %v", r.ID, r.Score)
			}
		}
	})
}
