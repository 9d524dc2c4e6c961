package pages_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func TestClassify(t *testing.T) {
	s := newSite(t)
	if page := s.get(200, "/classify"); len(page.All("data-empty")) != 1 {
		t.Error("no word of what fills the page")
	}
	files := map[string]string{
		"intents/classification.json": `{"n":5,"accuracy":0.6,"accuracy_interval":[0.15,0.85],"macro_f1":0.4,"weighted_f1":0.45,"min_class_f1":0.1,"calibration":{"bins":[{"n":2,"confidence":0.8,"accuracy":0.5}]}}`,
		"intents/items.jsonl": `{"id":"1","expected":["book"],"predicted":["book"],"correct":1,"confidence":0.9}` +
			"\n" + `{"id":"2","expected":["book"],"predicted":["cancel"],"correct":0}` + "\n" +
			`{"id":"3","expected":["cancel"],"predicted":null,"correct":0}` + "\nno item\n" +
			`{"id":"<b>","expected":["cancel"],"predicted":["cancel"],"correct":1}` + "\n" +
			`{"id":"5","expected":["none"],"predicted":["none"],"correct":1}` + "\n",
		"greener/classification.json": `{"n":1,"accuracy":1}`,
		"greener/items.jsonl":         `{"id":"1","expected":["book"],"predicted":null,"correct":0}` + "\n",
		"cut/classification.json":     `{"n":2,"accuracy":1}`,
		"cut/items.jsonl":             `{"id":"1","expected":["book"],"predicted":["book"],"correct":1}` + "\n",
		"broken/classification.json":  "{",
	}
	for name, text := range files {
		path := filepath.Join(s.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page := s.get(200, "/classify")
	if got := rows(page, "classification", "data-classification"); got != "broken cut greener intents" ||
		len(page.All("data-warning")) != 1 {
		t.Errorf("%s", got)
	}
	page = s.get(200, page.One("data-classification=intents").One("<a>").Attr["href"])
	f := figures(page)
	for name, want := range map[string]string{
		"n": "5", "accuracy": "0.6", "macro_f1": "0.4", "weighted_f1": "0.45", "min_class_f1": "0.1",
	} {
		if f[name] != want {
			t.Errorf("%s is %q", name, f[name])
		}
	}
	var cells []string
	for _, td := range page.All("<td>", "data-true", "data-predicted", "data-count") {
		cells = append(cells, td.Attr["data-true"]+">"+td.Attr["data-predicted"]+"="+td.Attr["data-count"])
		if got := len(s.get(200, td.One("<a>").Attr["href"]).All("data-row=item")); got != 1 {
			t.Errorf("a cell leads to %d items", got)
		}
	}
	if got := strings.Join(cells, " "); got !=
		"book>book=1 book>cancel=1 cancel>__null__=1 cancel>cancel=1 none>none=1" {
		t.Errorf("%s", got)
	}
	if len(page.All("data-bin")) != 1 || len(page.All("data-warning")) != 1 {
		t.Error("no calibration, or no word of the line that is no item")
	}
	for folder, want := range map[string]string{
		"greener": "says that its accuracy is 100%, but 0 of its 1 items are right",
		"cut":     "counts 2 items, but 1 are here",
	} {
		if page := s.get(200, "/classify/"+folder); !warned(page, want) {
			t.Errorf("%s: %s", folder, page.One("data-warning").Words())
		}
	}
	for query, want := range map[string]string{
		"?correct=no": "2 3", "?correct=yes&true=cancel": "<b>", "?predicted=none": "5", "?predicted=__null__": "3",
		"?correct=maybe": "",
	} {
		page := s.get(200, "/classify/intents"+query)
		if got := rows(page, "item", "data-item"); got != want || (want == "") != (len(page.All("data-empty")) == 1) {
			t.Errorf("%s: %q", query, got)
		}
	}
	if links := s.get(200, "/classify/intents").One("data-item=<b>").All("<a>"); len(links) != 0 {
		t.Error("an item leads to a conversation that there is not")
	}
	s.put(result.Run{ID: "intents", Targets: []string{"t"}}, test("s", "<b>", "t", "cancel it", "cancel"))
	href := s.get(200, "/classify/intents").One("data-item=<b>").One("<a>").Attr["href"]
	if to := s.get(200, href).One("<main>").Attr; to["data-page"] != "conversation" || to["data-test"] != "<b>" {
		t.Errorf("an item leads to %s, which is %v", href, to)
	}
	s.get(404, "/classify/none")
	s.get(503, "/classify/broken")
}

// What judges were asked is folded beside what they found, as far as the run kept it.
func TestJudgeExchanges(t *testing.T) {
	s := newSite(t)
	x := test("s", "a", "t", "Hi", "yes")
	keep := func(turn *int, kind, said string) {
		sum := sha256.Sum256([]byte(said))
		hash := hex.EncodeToString(sum[:])
		dir := filepath.Join(s.root, "r", "artifacts")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, hash), []byte(said), 0o644); err != nil {
			t.Fatal(err)
		}
		x.Artifacts = append(x.Artifacts, result.Artifact{
			Turn: turn, Kind: kind, SHA256: hash, Bytes: int64(len(said)),
		})
	}
	keep(new(1), "judge_prompt", `{"ask":"polite?"}`)
	keep(new(1), "judge_reply", "<b>yes</b>")
	keep(new(1), "prompt", "not of a judge")
	keep(nil, "judge_prompt", "whole?")
	x.Artifacts = append(x.Artifacts, result.Artifact{Kind: "judge_reply", SHA256: "../../../run.json"})
	x.Scores = append(x.Scores, result.Score{Name: "assertions", Verdict: result.Pass, Score: 1})
	s.put(result.Run{ID: "r", Targets: []string{"t"}}, x)
	page := s.get(200, "/runs/r/tests/a")
	turn, whole := page.One("data-turn=1").All("data-judge"), page.One("id=assertions").All("data-judge")
	if len(turn) != 1 || turn[0].One("data-judge-prompt").Words() != `{ "ask": "polite?" }` ||
		turn[0].One("data-judge-reply").Words() != "<b>yes</b>" {
		t.Errorf("%d exchanges of the turn", len(turn))
	}
	if len(whole) != 1 || whole[0].One("data-judge-prompt").Words() != "whole?" ||
		len(whole[0].All("data-judge-reply")) != 0 {
		t.Errorf("%d exchanges of the conversation", len(whole))
	}
}
