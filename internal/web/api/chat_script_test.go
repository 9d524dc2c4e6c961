package api

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
)

// What a chatbot says must never become HTML.
func TestChatScriptsWriteTextOnly(t *testing.T) {
	scripts := 0
	err := fs.WalkDir(chatAssets, "assets/chat", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".js" {
			return err
		}
		scripts++
		script, err := chatAssets.ReadFile(path)
		for _, danger := range []string{
			"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "setTimeout(\"",
			"DOMParser", "createContextualFragment", "setHTML",
		} {
			if strings.Contains(string(script), danger) {
				t.Errorf("%s uses %s", path, danger)
			}
		}
		return err
	})
	if err != nil || scripts < 15 {
		t.Errorf("%d scripts, %v", scripts, err)
	}
}

// stripped are texts with markers in every place and with every kind of modifier.
var stripped = []string{
	"", "plain", "👉 What stage?", "Now 👇🏿 the demo", "💌\ufe0f  twice", "👉👉 a", "end 👇", "👉🏽🏽 x",
	"👉\ufe0f\ufe0f x", "👇👉  x", "👉👇 x", "👉💌 👇 x",
	"☝ 👆 ✉️ 😀", "a👉b", "👉\nnext", "👉\tb", "👉\u00a0b", "👇👉🏽🏽", "👨‍👩‍👧 👉 famille",
	"<b>👉 x</b>", "👇\U0001F3FA x", "👉\U0001F3FB x", "\ufe0f👉",
}

// runPage runs a module of JavaScript beside those of the page, with node, and returns what it prints.
func runPage(t *testing.T, module string, input any) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil && os.Getenv("REHEARSE_TEST_COMPLETE") != "" {
		t.Fatal("node is not installed, and no test may be left out here")
	}
	if err != nil {
		t.Skip("node is not installed; ./test.sh installs it")
	}
	data, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{
		"package.json": `{"type": "module"}`, "test.mjs": "const input = " + string(data) + ";\n" + module,
	}
	for _, name := range pageModules() {
		text, err := chatAssets.ReadFile("assets/chat/page/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(node, filepath.Join(dir, "test.mjs")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// The page strips markers as marker.Strip does, wherever an answer is cut into tokens: what is shown only ever grows.
func TestChatPageStripsMarkers(t *testing.T) {
	got := decoded[[]string](t, runPage(t, `
import { strip, shown } from "./markers.js";
for (const text of input) for (let i = 0; i <= text.length; i++) { // cut between any two UTF-16 units
  if (!strip(text).startsWith(shown(text.slice(0, i)))) throw new Error(JSON.stringify([text, i, shown(text.slice(0, i))]));
}
console.log(JSON.stringify(input.map((text) => shown(text))));`, stripped))
	for i, text := range stripped {
		if want := marker.Strip(text); got[i] != want {
			t.Errorf("%q is shown as %q, want %q", text, got[i], want)
		}
	}
}

func TestChatPageReadsEvents(t *testing.T) {
	stream := ": ping\n\n" + `data: {"type":"token","content":"a\n\nb"}` + "\n\n: ping\r\n\r\n" +
		`data:{"type":"token"}` + "\r\n\r\n" + `data: {"type":` + "\n" + `data: "complete"}` + "\n\n" + `data: {"cut`
	got := runPage(t, `
import { EventReader } from "./stream.js";
const seen = new Set();
for (let i = 0; i <= input.length; i++) {
  const reader = new EventReader();
  seen.add(JSON.stringify([...reader.feed(input.slice(0, i)), ...reader.feed(input.slice(i))]));
}
console.log([...seen].join("\n"));`, stream)
	if want := `[{"type":"token","content":"a\n\nb"},{"type":"token"},{"type":"complete"}]` + "\n"; got != want {
		t.Errorf("got %s", got)
	}
}

// The markers of a text in Markdown become spans and blocks; HTML, pictures, and addresses that nobody may follow stay
// text.
func TestChatPageReadsMarkdown(t *testing.T) {
	texts := []string{
		"**b** *i* _j_ `c` ***x*** a_b_c 2 * 3 ~~s~~", "**open and *more", "a\\*b\\* \\q", "``a`b`` `open",
		"[a](https://x.example/a(b)) [m](mailto:a@b.example) <https://z.example> see https://q.example/a_b). " +
			"**http://w.example**",
		"[p](javascript:alert(1)) [d](data:text/html,x) [r](/chat) [u](https://a:b@c.example) [v](vbscript:x) " +
			"<javascript:x> [f](file:///etc) [s]( javascript:x)",
		"![i](http://o.example/y.png) [](https://e.example) [[a](https://b.example)](https://c.example)",
		"<script>alert(1)</script><img src=x onerror=y> &lt;b&gt;",
		"# H\ntext\nmore\n\n- a\n- b\n  - c\n    d\n\n1. x\n2. y\nz\n\nafter",
		"| a | b |\n|---|--:|\n| 1 | `x` |\n| 2 |\n| 3 | \\| | 4 |\nend", "```js\n<b>\n```\nx\n~~~\nopen",
		"> q\n> r\n\n---\nx", "3) c\n4) d\n\n-\n- x", "- a\n\n  b\n\n- c\n\nd", "a | b\nc | d", "\r\n\r\nx\r\n",
	}
	golden.Compare(t, "markdown.txt", runPage(t, `
import { parseBlocks } from "./blocks.js";
for (const text of input) console.log(text + "\n=> " + parseBlocks(text).map((block) => JSON.stringify(block)).join("\n   ") + "\n");`, texts))
}

// What is made of a text is bounded by its length, whatever was written to make the page work hard. A loop without end
// ends the test, too.
func TestChatPageReadsHostileMarkdown(t *testing.T) {
	pieces := []string{
		"[", "*", "*a", "`", "`a``", "> ", "- ", "- a\n", "- a\n\n", "|", "|a|\n|-|\n", "[a](", "http://a(", "<http://",
		"_a_", "\n", "![](", "\\", "#", "~~~\n", "[a]( ", "1. a\n - b\n", "**_~~",
	}
	got := runPage(t, `
import { parseBlocks } from "./blocks.js";
function size(value) { return typeof value === "string" ? value.length : Array.isArray(value) || typeof value === "object" && value ? Object.values(value).reduce((sum, one) => sum + size(one), 1) : 1; }
for (const piece of input) {
  const text = piece.repeat(40_000 / piece.length);
  const made = size(parseBlocks(text));
  if (made > 60 * text.length) console.log(JSON.stringify(piece), made);
}`, pieces)
	if got != "" {
		t.Errorf("too much is made of: %s", got)
	}
}

// A session's id has 128 bits, and the server takes each of them for one that was made at random.
func TestChatPageMakesSessions(t *testing.T) {
	ids := decoded[[]string](t, runPage(t, `
import { newSession } from "./memory.js";
console.log(JSON.stringify(Array.from({ length: input }, newSession)));`, 20_000))
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] || len(id) != 22 || !hardToGuess(id) {
			t.Fatalf("the id %q", id)
		}
		seen[id] = true
	}
}
