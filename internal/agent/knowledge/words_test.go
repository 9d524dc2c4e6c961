package knowledge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// searchHostile asks what would break a query that is put together carelessly.
func searchHostile(t *testing.T, open openLibrary) {
	k := open(t, shop)
	for _, text := range []string{
		"", " ", `"`, `""`, `"""`, `'`, "*", "^", "-", "+", ":", "(", "()", "{}", "😀🎉", "\x00", "\xff\xfe", "\u0301",
		"\u200b", "NEAR(", "NEAR(lampshade zebra, 5)", "zebra AND", "OR OR", "NOT", "text:zebra", "{text} : zebra",
		`" OR 1=1 --`, "'; DROP TABLE knowledge_passages; --", "zebra*", "^zebra", `zebra" OR "quagga`,
		"rank MATCH 'bm25()'", "zebra\x00quagga", strings.Repeat("(", 1<<20), strings.Repeat("zebra", 1<<18),
		strings.Repeat("\"", 1<<20), strings.Repeat("😀", 1<<18), strings.Repeat("é", 1<<19),
	} {
		if found := search(t, k, text, 20, "returns", "world"); len(found) > 0 {
			t.Errorf("Search(%.40q) found %v, want nothing", text, ids(found))
		}
	}
	// Operators are words, and what stands between them is found.
	for _, text := range []string{
		`gift" OR "`, "NOT gift", "gift AND zebra", "gift*", "text:gift", "NEAR(gift", "\xffgift\x00", "^gift -gift",
	} {
		wantFirst(t, k, text, "returns", "r-1")
	}
	var words strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&words, "word%d ", i)
	}
	wantFirst(t, k, "gift "+words.String(), "returns", "r-1")
	if found := search(t, k, words.String()+"gift", 5, "returns"); len(found) > 0 {
		t.Errorf("a word after too many others found %v", found)
	}
}

// searchOwnWords draws words of passages in many scripts. There are no more passages than a search may return.
func searchOwnWords(t *testing.T, open openLibrary) {
	texts := []string{
		"The quick brown fox jumps over the lazy dog", "Portez ce vieux whisky au juge blond qui fume",
		"Größe straße ÄÖÜ naïve façade", "Příliš žluťoučký kůň úpěl ďábelské ódy",
		"Съешь же ещё этих мягких французских булок", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
		"صِف خَلقَ خَودِ كَمِثلِ الشَمسِ", "דג סקרן שט בים מאוכזב", "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा",
		"İstanbul'da ığdır çiğ", "天地玄黃宇宙洪荒", "いろはにほへとちりぬるを", "เป็นมนุษย์สุดประเสริฐ", "키스의 고유조건은 입술끼리",
		"Tiếng Việt đặc biệt", "x1 42 3.14 0xDEADBEEF " + strings.Repeat("long", 100), "ﬁnancial ½ Ⅷ １２３", "ǅ ẞ K ſ",
	}
	files := fileTexts{}
	for i, text := range texts {
		files[fmt.Sprintf("b/%02d.txt", i)] = text
	}
	k := open(t, files)
	rapid.Check(t, func(r *rapid.T) {
		i := rapid.IntRange(0, len(texts)-1).Draw(r, "passage")
		words := strings.Fields(texts[i])
		var query []string
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, len(words)-1), 1, 5).Draw(r, "words") {
			query = append(query, words[n])
		}
		text := strings.Join(query, rapid.SampledFrom([]string{
			" ", ", ", "\" OR \"", "\n", " - ", "*(",
		}).Draw(r, "between"))
		if want := fmt.Sprintf("b/%02d.txt#1", i); !slices.Contains(ids(search(t, k, text, 20, "b")), want) {
			r.Fatalf("Search(%q) does not find %s: %s", text, want, texts[i])
		}
	})
}
