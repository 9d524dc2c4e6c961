package markdown_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/report/markdown"
)

func htmlOf(s string, marks []markdown.Mark) string {
	shown, _ := markdown.Markdown(s, marks)
	return string(shown)
}

// A piece that is markup is shown nowhere in the rendered text, and that is said.
func TestHiddenMarks(t *testing.T) {
	for _, tc := range []struct {
		in       string
		from, to int
		hidden   bool
	}{
		{"a **b** c", 2, 4, true},
		{"a **b** c", 2, 5, false},
		{"# b", 0, 2, true},
		{"[b](c)", 0, 1, true},
		{"[b](cb 'd')", 4, 6, false},
		{"[b](c 'd')", 7, 8, false},
		{"a * b", 2, 3, false},
		{"a b", 0, 3, false},
	} {
		if _, hidden := markdown.Markdown(tc.in, []markdown.Mark{{From: tc.from, To: tc.to}}); hidden != tc.hidden {
			t.Errorf("%q from %d to %d: hidden is %v", tc.in, tc.from, tc.to, hidden)
		}
	}
}

func TestMarkdown(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"a paragraph", "Hello\nthere", "<p>Hello<br>there</p>"},
		{"two paragraphs", "a\n\nb", "<p>a</p><p>b</p>"},
		{"emphasis", "a **b** *c* __d__ _e_ ~~f~~ snake_case_name 2 * 3 * 4", "<p>a <strong>b</strong> <em>c</em> " +
			"<strong>d</strong> <em>e</em> <del>f</del> snake_case_name 2 * 3 * 4</p>"},
		{"both", "***b***", "<p><em><strong>b</strong></em></p>"},
		{"escapes", `\*not\* <b>`, "<p>*not* &lt;b&gt;</p>"},
		{"code", "use `a*b*c` and ``x`y``", "<p>use <code>a*b*c</code> and <code>x`y</code></p>"},
		{"a heading", "# One #\n## Two", "<h3>One</h3><h3>Two</h3>"},
		{"no heading", "#hashtag\n", "<p>#hashtag</p>"},
		{"a list", "- a\n- b\n  - c\n- d", "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>"},
		{"a numbered list", "3. a\n4. b", `<ol start="3"><li>a</li><li>b</li></ol>`},
		{"a loose list", "1. a\n\n2. b\n\nend", "<ol><li>a</li><li>b</li></ol><p>end</p>"},
		{"a list after words", "Steps:\n- a\n- b\nmore", "<p>Steps:</p><ul><li>a</li><li>b<br>more</li></ul>"},
		{"a quotation", "> a\n> b\n\nc", "<blockquote><p>a<br>b</p></blockquote><p>c</p>"},
		{
			"fenced code", "```go\na *b*\n<x>\n```\nend",
			"<pre><em>go</em>\n<code>a *b*\n&lt;x&gt;</code></pre><p>end</p>",
		},
		{"an open fence", "```\na", "<pre><code>a</code></pre>"},
		{
			"a table", "| a | b |\n|---|:-:|\n| 1 | *2* | 3 |\n| 4 |",
			"<table><thead><tr><th>a</th><th>b</th></tr></thead><tr><td>1</td><td><em>2</em> | " +
				"3</td></tr><tr><td>4</td><td></td></tr></table>",
		},
		{"a rule", "a\n\n---\nb", "<p>a</p><hr><p>b</p>"},
		{
			"a link", "see [our *page*](https://evil.example/?q=1 \"t\")",
			"<p>see our <em>page</em> (https://evil.example/?q=1 &#34;t&#34;)</p>",
		},
		{"a picture", "![cat](http://evil.example/cat.png)", "<p>cat (http://evil.example/cat.png)</p>"},
		{
			"an address", "<https://evil.example> javascript:alert(1)",
			"<p>&lt;https://evil.example&gt; javascript:alert(1)</p>",
		},
		{
			"a script", "<script>alert(1)</script>\n<img src=x onerror=alert(1)>",
			"<p>&lt;script&gt;alert(1)&lt;/script&gt;<br>&lt;img src=x onerror=alert(1)&gt;</p>",
		},
		{"what reorders", "a\u202eb\x1b[2J\x00", `<p>a\u202eb\x1b[2J\x00</p>`},
		{"an address as words", "[http://a.example](http://a.example) []()", "<p>http://a.example </p>"},
		{"no definition", "[a]: /b\n\n[a]", "<p>[a]: /b</p><p>[a]</p>"},
		{"no character references", "&lt;b&gt; &#x202e;", "<p>&amp;lt;b&amp;gt; &amp;#x202e;</p>"},
		{"indented code", "a\n\n\tb\n\n      c\n\nd", "<p>a</p><pre><code>b\n\n  c</code></pre><p>d</p>"},
		{
			"depth", strings.Repeat("> ", 60) + "a",
			strings.Repeat("<blockquote>", 24) + "a" + strings.Repeat("</blockquote>", 24),
		},
		{"too deep", strings.Repeat("> ", 101) + "*a*", strings.Repeat("&gt; ", 101) + "*a*"},
		{"too many signs", strings.Repeat("*a ", 2_001), strings.Repeat("*a ", 2_001)},
		{
			"too wide", strings.Repeat("a|", 51) + "\n" + strings.Repeat("-|", 51),
			"<p>" + strings.Repeat("a|", 51) + "<br>" + strings.Repeat("-|", 51) + "</p>",
		},
		{"nothing", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := htmlOf(tc.in, nil); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestMarks(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		marks    []markdown.Mark
		markdown string
		plain    string
	}{
		{
			"a piece", "say hello now",
			[]markdown.Mark{{From: 4, To: 9, Grader: "contains"}},
			`<p>say <mark data-evidence data-grader="contains">hello</mark> now</p>`,
			`say <mark data-evidence data-grader="contains">hello</mark> now`,
		},
		{
			"across emphasis, beyond the text", "ä **b c** d",
			[]markdown.Mark{{From: 4, To: 99, Grader: `"><b>`}},
			`<p>ä <strong><mark data-evidence data-grader="&#34;&gt;&lt;b&gt;">b c</mark></strong><mark data-evidence data-grader="&#34;&gt;&lt;b&gt;"> d</mark></p>`,
			`ä **<mark data-evidence data-grader="&#34;&gt;&lt;b&gt;">b c** d</mark>`,
		},
		{
			"two graders", "abcd",
			[]markdown.Mark{{From: 0, To: 3, Grader: "x"}, {From: 1, To: 2, Grader: "y"}},
			`<p><mark data-evidence data-grader="x">a</mark><mark data-evidence data-grader="x"><mark data-evidence data-grader="y">b</mark></mark><mark data-evidence data-grader="x">c</mark>d</p>`,
			`<mark data-evidence data-grader="x">a</mark><mark data-evidence data-grader="x"><mark data-evidence data-grader="y">b</mark></mark><mark data-evidence data-grader="x">c</mark>d`,
		},
		{
			"an address", "[b](http://c 't')",
			[]markdown.Mark{{From: 11, To: 99, Grader: "x"}},
			`<p>b (http://<mark data-evidence data-grader="x">c</mark> &#34;<mark data-evidence data-grader="x">t</mark>&#34;)</p>`,
			`[b](http://<mark data-evidence data-grader="x">c &#39;t&#39;)</mark>`,
		},
		{
			"none", "abc", []markdown.Mark{{From: 2, To: 2, Grader: "x"}, {From: -5, To: 0, Grader: "y"}}, "<p>abc</p>",
			"abc",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := htmlOf(tc.in, tc.marks); got != tc.markdown {
				t.Errorf("got  %s\nwant %s", got, tc.markdown)
			}
			if got := string(markdown.Plain(tc.in, tc.marks)); got != tc.plain {
				t.Errorf("got  %s\nwant %s", got, tc.plain)
			}
		})
	}
}

// harmless are the elements that a rendered message may hold, with the attributes that they may have.
var harmless = map[string]string{
	"p": "", "br": "", "hr": "", "strong": "", "em": "", "del": "", "code": "", "pre": "", "h3": "", "ul": "",
	"ol": "start", "li": "", "blockquote": "", "table": "", "thead": "", "tbody": "", "tr": "", "th": "", "td": "",
	"mark": "data-evidence data-grader",
}

// Whatever is written, the page gets well-formed elements that do nothing, and no word of the text is lost.
func TestHarmless(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"*", "**", "_", "__", "`", "```", "~~~", "\n", "\n\n", "    ", "- ", "1. ", "> ", "# ", "|", "|---|", "---",
		"[", "](", ")", "![", "\\", "<script>", "&amp;", "\"", "'", "W", "ä\u202e", "\x00", "~~", "\t", "\r\n", " ",
		"javascript:", "{{", "\xff",
	})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(pieces, 0, 60).Draw(t, "pieces"), "")
		marks := []markdown.Mark{
			{From: rapid.IntRange(-2, 40).Draw(t, "from"), To: rapid.IntRange(0, 80).Draw(t, "to"), Grader: "x"},
			{From: 3, To: 9, Grader: "y"},
		}
		for _, out := range []string{htmlOf(in, marks), string(markdown.Plain(in, marks))} {
			decoder := xml.NewDecoder(strings.NewReader("<x>" + out + "</x>"))
			decoder.Strict, decoder.AutoClose = false, []string{"br", "hr"}
			words, depth := 0, 0
			for {
				token, err := decoder.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%q became %s: %v", in, out, err)
				}
				switch e := token.(type) {
				case xml.StartElement:
					depth++
					allowed, ok := harmless[e.Name.Local]
					if !ok && depth > 1 {
						t.Fatalf("%q became %s: <%s>", in, out, e.Name.Local)
					}
					for _, a := range e.Attr {
						if !strings.Contains(allowed, a.Name.Local) {
							t.Fatalf("%q became %s: %s", in, out, a.Name.Local)
						}
					}
				case xml.EndElement:
					depth--
				case xml.CharData:
					words += strings.Count(string(e), "W")
				}
			}
			if depth != 0 || words != strings.Count(in, "W") {
				t.Fatalf("%q became %s: %d words", in, out, words)
			}
		}
	})
}

func TestNoLongTime(t *testing.T) {
	for _, piece := range []string{
		"*a ", "_a ", "**a", "`", "``` ", "[", "![a](", "> ", "- ", "|a", "~~a ", "\\", "[a](b", "1. a\n", "a\n|",
		"*a_ ", "[](", "+ - * ", "a|b\n-|-\n", "a|",
	} {
		in := strings.Repeat(piece, 20_000/len(piece))
		if len(htmlOf(in, nil)) == 0 {
			t.Errorf("nothing of %q", piece)
		}
	}
	wide := strings.Repeat("|", 49) + "\n" + strings.Repeat("|-", 49) + "\n" + strings.Repeat("|\n", 10_000)
	if n := len(htmlOf(wide, nil)); n > 1<<20 { // each short row would have the width of the header
		t.Errorf("a table of %d bytes has %d bytes of HTML", len(wide), n)
	}
}
