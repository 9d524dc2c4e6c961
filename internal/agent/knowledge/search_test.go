package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

// fileTexts are the files of knowledge bases: their text by BASE/FILE.
type fileTexts map[string]string

// openLibrary makes knowledge bases of files. Ids begin with BASE/FILE.
type openLibrary func(t *testing.T, files fileTexts) flow.Knowledge

// runLibrary runs every conformance test on a way to have knowledge bases.
func runLibrary(t *testing.T, open openLibrary) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, openLibrary)
	}{
		{"the best passage comes first", searchRanked},
		{"words are found however they are written", searchFolded},
		{"languages without blanks are found", searchUnspaced},
		{"only the bases asked for are searched", searchBases},
		{"top k is kept between 1 and 20", searchTopK},
		{"equal passages come by id", searchTies},
		{"an unknown base is an error with a suggestion", searchUnknown},
		{"hostile queries are words or nothing", searchHostile},
		{"a passage's own words find it", searchOwnWords},
		{"many search at once", searchAtOnce},
		{"a cancelled context ends a search", searchCancelled},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open) })
	}
}

// shop is what most tests search.
var shop = fileTexts{
	"returns/policy.md": "# Returns\n\nYou may return an item within 30 days.\n\n" +
		"## Broken items\n\nA broken lamp is replaced at once.\n\n## Refunds\n\n" +
		"Money comes back to the card within a week.\n",
	"returns/facts.jsonl": `{"id":"r-1","text":"Gift cards cannot go back.","title":"Gift cards"}` + "\n" +
		`{"id":"r-2","text":"Größere Möbel holt die Spedition ab. Café Zürich."}` + "\n",
	"shipping/times.txt": "Parcels take three days.\n\nA lamp ships in a box.\n",
	"world/asia.txt":     "退货政策：三十天内可以退货。\n\n返品は三十日以内に可能です。\n\nคุณสามารถคืนสินค้าได้ภายในสามสิบวัน\n",
	"world/other.txt":    "Возврат товара возможен в течение тридцати дней. आप तीस दिनों के भीतर लौटा सकते हैं।\n",
}

func search(t *testing.T, k flow.Knowledge, text string, topK int, bases ...string) []flow.Passage {
	t.Helper()
	found, err := k.Search(context.Background(), flow.Query{Text: text, Bases: bases, TopK: topK})
	if err != nil {
		t.Fatalf("Search(%.100q): %v", text, err)
	}
	return found
}

func ids(passages []flow.Passage) []string {
	var ids []string
	for _, p := range passages {
		ids = append(ids, p.ID)
	}
	return ids
}

func wantFirst(t *testing.T, k flow.Knowledge, text, base, want string) {
	t.Helper()
	if found := search(t, k, text, 5, base); len(found) == 0 || found[0].ID != want {
		t.Errorf("Search(%q) in %s found %v, want %s first", text, base, ids(found), want)
	}
}

func searchRanked(t *testing.T, open openLibrary) {
	k := open(t, shop)
	found := search(t, k, "is a broken lamp replaced?", 5, "returns", "shipping")
	if len(found) < 2 {
		t.Fatalf("found %v, want two passages or more", found)
	}
	best := flow.Passage{
		Base: "returns", ID: "returns/policy.md#broken-items", Score: found[0].Score,
		Text: "Returns > Broken items\n\nA broken lamp is replaced at once.",
	}
	if d := cmp.Diff(best, found[0]); d != "" {
		t.Errorf("best passage (-want +got):\n%s", d)
	}
	for i, p := range found {
		if p.Score <= 0 || i > 0 && p.Score > found[i-1].Score {
			t.Errorf("scores do not fall from positive ones: %v", found)
		}
	}
	wantFirst(t, k, "gift", "returns", "r-1")
	wantFirst(t, k, "within 30 days", "returns", "returns/policy.md#returns")
}

func searchFolded(t *testing.T, open openLibrary) {
	k := open(t, shop)
	for _, text := range []string{"möbel", "MÖBEL", "mobel", "mo\u0308bel", "größere", "ZURICH", "cafe", "Cafe\u0301"} {
		wantFirst(t, k, text, "returns", "r-2")
	}
	wantFirst(t, k, "ТОВАРА", "world", "world/other.txt#1")
	wantFirst(t, k, "लौटा", "world", "world/other.txt#1")
	if found := search(t, k, "moebel ship", 5, "returns"); len(found) > 0 {
		t.Errorf("other words found %v", found)
	}
}

func searchUnspaced(t *testing.T, open openLibrary) {
	k := open(t, fileTexts{
		"w/zh.txt": "退货政策：三十天内可以退货。", "w/ja.txt": "返品は三十日以内に可能です。コーヒーもあります。",
		"w/th.txt": "คุณสามารถคืนสินค้าได้ภายในสามสิบวัน", "w/mix.txt": "用iPhone付款很方便",
	})
	for text, want := range map[string]string{
		"退货": "w/zh.txt#1", "请问退货政策是什么？": "w/zh.txt#1", "返品したい": "w/ja.txt#1", "コーヒー": "w/ja.txt#1",
		"คืนสินค้า": "w/th.txt#1", "iphone": "w/mix.txt#1", "付款": "w/mix.txt#1",
	} {
		wantFirst(t, k, text, "w", want)
	}
	if found := search(t, k, "货退", 5, "w"); len(found) > 0 {
		t.Errorf("characters in another order found %v", found)
	}
}

func searchBases(t *testing.T, open openLibrary) {
	k := open(t, shop)
	for _, tc := range []struct {
		bases, want []string
	}{
		{[]string{"shipping"}, []string{"shipping/times.txt#1"}},
		{[]string{"world"}, nil},
		{nil, nil},
		{
			[]string{"shipping", "returns", "shipping"},
			[]string{"shipping/times.txt#1", "returns/policy.md#broken-items"},
		},
	} {
		found := ids(search(t, k, "lamp", 5, tc.bases...))
		if d := cmp.Diff(tc.want, found, cmpopts.SortSlices(strings.Compare), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("lamp in %v (-want +got):\n%s", tc.bases, d)
		}
	}
}

func searchTopK(t *testing.T, open openLibrary) {
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, `{"id":"p%d","text":"same words"}`+"\n", i)
	}
	k := open(t, fileTexts{"b/many.jsonl": lines.String()})
	for topK, want := range map[int]int{-1: 1, 0: 1, 1: 1, 7: 7, 20: 20, 21: 20, 1 << 40: 20} {
		if found := search(t, k, "words", topK, "b"); len(found) != want {
			t.Errorf("top k of %d found %d, want %d", topK, len(found), want)
		}
	}
}

func searchTies(t *testing.T, open openLibrary) {
	k := open(t, fileTexts{
		"a/x.jsonl": `{"id":"9","text":"alpha beta"}` + "\n" + `{"id":"1","text":"alpha beta"}` + "\n" +
			`{"id":"5","text":"alpha gamma"}` + "\n",
		"b/y.jsonl": `{"id":"3","text":"alpha beta"}` + "\n" + `{"id":"1","text":"alpha beta"}` + "\n",
	})
	for topK := range 5 {
		want := []string{"1", "1", "3", "5", "9"}[:topK+1]
		if d := cmp.Diff(want, ids(search(t, k, "alpha", topK+1, "b", "a"))); d != "" {
			t.Errorf("top %d (-want +got):\n%s", topK+1, d)
		}
	}
	if found := search(t, k, "alpha", 2, "b", "a"); found[0].Base != "a" || found[1].Base != "b" {
		t.Errorf("the same id in two bases comes as %v, want a before b", found)
	}
}

func searchUnknown(t *testing.T, open openLibrary) {
	k := open(t, shop)
	long := 1 << 18
	if race.Enabled {
		long = 1 << 12
	}
	for name, want := range map[string]string{
		"retruns": `"retruns": did you mean "returns"? known: returns, shipping, world`,
		"":        `"": known: returns, shipping, world`, "zzzzzz": "known: returns", "a\xffb": "known: ",
		"x' OR 1=1 --": "known: returns", strings.Repeat("long", long): "longlong…",
	} {
		_, err := k.Search(context.Background(), flow.Query{Text: "lamp", Bases: []string{"returns", name}, TopK: 5})
		if _, ok := errors.AsType[*knowledge.UnknownBaseError](err); !ok || !strings.Contains(err.Error(), want) ||
			len(err.Error()) > 500 {
			t.Errorf("base %.40q: error %.600v, want one with %s", name, err, want)
		}
	}
}

func searchAtOnce(t *testing.T, open openLibrary) {
	k := open(t, shop)
	want := search(t, k, "broken lamp within days", 5, "returns", "shipping")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				q := flow.Query{Text: "broken lamp within days", Bases: []string{"returns", "shipping"}, TopK: 5}
				found, err := k.Search(context.Background(), q)
				if d := cmp.Diff(want, found); d != "" || err != nil {
					t.Errorf("Search: %v, (-want +got):\n%s", err, d)
					return
				}
			}
		})
	}
	wg.Wait()
}

func searchCancelled(t *testing.T, open openLibrary) {
	k := open(t, shop)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := k.Search(ctx, flow.Query{
		Text: "lamp", Bases: []string{"returns"}, TopK: 5,
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("Search with a cancelled context: %v", err)
	}
	// Cancelling one search must not cost the next one its data.
	wantFirst(t, k, "lamp", "shipping", "shipping/times.txt#1")
}
