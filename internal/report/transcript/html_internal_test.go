package transcript

import (
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
		page := string(checksHTML([]result.Assertion{{
			Text: hostile, Grader: hostile, Evidence: hostile,
			Voters: []result.Voter{{Model: hostile, Missing: hostile, Reasoning: hostile}},
		}}))
		for _, as := range []Messages{Rendered, Raw, Both} {
			page += string(messageHTML(MessageOf(hostile, chat.Content{Text: hostile}, nil, as)))
			page += string(messageHTML(MessageOf("user", chat.Content{Blocks: []chat.Block{
				{Type: "image", Value: hostile}, {Type: "image", Value: "data:image/png;base64," + hostile},
			}}, nil, as)))
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
