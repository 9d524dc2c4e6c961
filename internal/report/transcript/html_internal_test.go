package transcript

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// No text of an agent, a judge or a suite becomes markup.
func TestHostileTexts(t *testing.T) {
	for _, hostile := range []string{
		`"><script>alert(1)</script>`, `' onload='x`, "<img src=x onerror=x>", "</ul></details>", "&lt;b&gt;",
		"\x00<b>", `" autofocus onfocus="x`, "<!--", "javascript:x",
	} {
		failure := result.Failure{Code: result.Code(hostile), Source: hostile, Message: hostile}
		raw, _ := json.Marshal(hostile)
		state, _ := json.Marshal(map[string]any{hostile: hostile, "facts": []any{map[string]any{"key": hostile}}})
		record := &result.Test{
			TestID: hostile, Verdict: result.Verdict(hostile), Failures: []result.Failure{failure},
			Scores: []result.Score{{
				Name: "turn-1", Verdict: result.Verdict(hostile), Failures: []result.Failure{failure},
				Assertions: []result.Assertion{{
					Text: hostile, Grader: hostile, Evidence: hostile,
					Voters: []result.Voter{{Model: hostile, Missing: hostile, Reasoning: hostile}},
				}},
			}},
			Turns: []result.Turn{{
				Index: 1, Input: chat.Content{Text: hostile}, Output: hostile, Node: hostile, State: state,
				FinishReason: hostile, ToolCalls: []chat.ToolCall{{Name: hostile, Args: raw, Result: raw}},
			}, {Index: 2, Input: chat.Content{Blocks: []chat.Block{
				{Type: "image", Value: hostile}, {Type: "image", Value: "data:image/png;base64," + hostile},
			}}}},
		}
		page := ""
		for _, as := range []Messages{Rendered, Raw, Both} {
			shown := Of(record, hostile, as)
			for i := range shown.Turns {
				shown.Turns[i].Judge = []Exchange{{Prompt: hostile, Reply: hostile}}
				page += string(written(func(b *pageWriter) { b.exchange(&shown.Turns[i]) }))
			}
		}
		open := 0
		for z := html.NewTokenizer(strings.NewReader(page)); ; {
			kind := z.Next()
			if kind == html.ErrorToken {
				break
			}
			token := z.Token()
			switch {
			case kind == html.StartTagToken && token.Data != "img" && token.Data != "use":
				open++
			case kind == html.EndTagToken:
				open--
			case kind == html.CommentToken:
				t.Errorf("%q: a comment", hostile)
			}
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "autofocus" || a.Key == "src" {
					t.Errorf("%q: attribute %s of %s", hostile, a.Key, token.Data)
				}
			}
			if kind == html.StartTagToken && (token.Data == "script" || token.Data == "b" && len(token.Attr) > 0) {
				t.Errorf("%q: element %s", hostile, token.Data)
			}
		}
		if open != 0 {
			t.Errorf("%q: %d elements are left open:\n%s", hostile, open, page)
		}
	}
}
