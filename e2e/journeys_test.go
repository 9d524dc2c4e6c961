package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// faulty is a failing conversation of the demonstration.
const faulty = `[data-row="run"] a => [data-row="test"][data-test="return-policy"][data-target="hasty"] a`

// TestFromFailureToSentence holds that two keys lead from a run to the sentence that made a test fail.
func TestFromFailureToSentence(t *testing.T) {
	b := open(t, looks[0])
	b.to(bookshop)
	b.follow(`[data-row="run"] a`)
	b.press("n", `[data-row].at[data-verdict="fail"]`)
	b.press("\r", `main[data-page="conversation"] [data-failure]`)
	if verdict := value[string](b, `document.querySelector("main").dataset.verdict`); verdict != "fail" {
		t.Errorf("the keys n and Enter led to a conversation with the verdict %q", verdict)
	}
	b.to(bookshop)
	b.follow(faulty)
	if piece := value[string](b, `document.querySelector('[data-turn="1"] mark[data-evidence]').textContent`); piece !=
		"14 days" {
		t.Errorf("the marked piece is %q", piece)
	}
}

// TestKeys goes through the keys of ui.md, part 2.
func TestKeys(t *testing.T) {
	b := open(t, looks[0])
	b.to(bookshop)
	b.follow(faulty)
	conversation := b.path()
	b.press("]", `[data-turn="1"].at`)
	b.press("]", `[data-turn="2"].at`)
	b.press("[", `[data-turn="1"].at`)
	b.press("r", `main[data-page="conversation"]`)
	b.wait(`location.search.includes("view=raw")`)
	b.press("r", `main[data-page="conversation"]`)
	b.wait(`!location.search.includes("view=raw")`)
	b.press("t", `section[data-trial="3"]`)
	b.to(conversation)
	b.press("j", `main[data-page="conversation"]`)
	b.wait(`!location.pathname.includes("return-policy") || !location.search.includes("hasty")`)
	b.press("k", `main[data-page="conversation"]`)
	b.wait(`location.pathname.includes("return-policy") && location.search.includes("hasty")`)
	b.press("o", `form[data-form="override"]`)
	b.wait(`document.activeElement.tagName == "SELECT"`)
	b.press("u", `main[data-page="conversation"]`) // a field has the key: nothing moves
	b.to(conversation)
	b.press("u", `main[data-page="run"]`)
	b.press("f", `main[data-page="run"]`)
	b.wait(`[...document.querySelectorAll('[data-row="test"]')].every((row) => row.dataset.verdict == "fail")`)
	b.press("/", `[data-search]:focus`)
	b.press("j?", `[data-search]:focus`)
	// the protocol types a character even where its key was taken
	if typed := value[string](b, `document.querySelector("[data-search]").value + document.querySelectorAll("dialog[open], .at").length`); strings.TrimPrefix(typed, "/") != "j?0" {
		t.Errorf("what is typed into a field does something else, too: %q", typed)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	b.press("?", `dialog[open]`)
	b.press("ju", `dialog[open]`) // what lies behind the dialog is out of reach
	if moved := value[int](b, `document.querySelectorAll(".at").length`); moved > 0 {
		t.Error("a key moves what lies behind the dialog")
	}
	b.press("?", `dialog:not([open])`)
	// as Tab does
	value[bool](b, `(document.querySelectorAll('[data-row="test"]')[2].querySelector("a").focus(), true)`)
	b.press("j", `[data-row].at`)
	if at := value[int](b,
		`[...document.querySelectorAll('[data-row="test"]')].findIndex((row) => row.classList.contains("at"))`); at !=
		3 {
		t.Errorf("j leads from the third row to row %d", at+1)
	}
	b.to("/flows") // it has no field
	b.press("/", `main[data-page="search"]`)
}

// wait waits until an expression is true, whatever page the tab has come to by then.
func (b *tab) wait(expression string) {
	b.t.Helper()
	late := time.After(pageTime / 2)
	for {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		if err == nil && is {
			return
		}
		select {
		case <-late:
			b.keep("waited", false)
			b.t.Fatalf("%s never came true on %s: %v", expression, b.path(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestOverride sends a form as a person does: the machine's verdict stays beside the person's.
func TestOverride(t *testing.T) {
	b := open(t, looks[0])
	b.to(bookshop)
	b.follow(`[data-row="run"] a => [data-row="test"][data-test="late-delivery"][data-target="careful"] a`)
	b.press("o", `form[data-form="override"]`)
	b.do(
		chromedp.SetValue(chromedp.CSS(`form[data-form="override"] [name="verdict"]`), "pass"),
		chromedp.SendKeys(chromedp.CSS(`form[data-form="override"] [name="comment"]`), "Long, and still kind."),
		chromedp.SendKeys(chromedp.CSS(`form[data-form="override"] [name="author"]`), "ann"),
		chromedp.Click(chromedp.CSS(`form[data-form="override"] button`)),
	)
	b.wait(`document.body.textContent.includes("Long, and still kind.")`)
	if verdict := value[string](b, `document.querySelector("main").dataset.verdict`); verdict != "fail" {
		t.Errorf("the machine's verdict became %q", verdict)
	}
	b.accessible()
	b.press("u", `main[data-page="run"]`)
	if reviewed := value[string](b,
		`document.querySelector('[data-figure="reviewed"]').dataset.value`); reviewed != "1" {
		t.Errorf("%q tests are reviewed", reviewed)
	}
}

// TestGoesOn holds that the page of a run that died sees it go on, without being loaded anew.
func TestGoesOn(t *testing.T) {
	write(t, "resumed/agent.yaml", "rules:\n  - when: {user: .}\n    delay: 1s\n    reply: Hello there.\n")
	write(t, "resumed/suite.yaml", "tests:\n  - {id: one, input: a, assertions: [{type: contains, value: Hello}]}\n"+
		"  - {id: two, input: b, assertions: [{type: contains, value: Hello}]}\n"+
		"  - {id: three, input: c, assertions: [{type: contains, value: Hello}]}\n")
	c := exec.CommandContext(t.Context(), site.program, "run", "resumed/suite.yaml", "--target",
		"scripted:resumed/agent.yaml", "--workers", "1", "--quiet")
	c.Dir = site.dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	b := open(t, looks[0])
	for listed := 0; listed == 0; { // each step has the limit of the tab
		b.to("/runs?suite=resumed%2Fsuite.yaml")
		listed = value[int](b, `document.querySelectorAll('[data-row="run"]').length`)
	}
	b.follow(`[data-row="run"] a`)
	run := value[string](b, `document.querySelector("main").dataset.run`)
	if err := errors.Join(c.Process.Kill(), ignored(c.Wait())); err != nil {
		t.Fatal(err)
	}
	b.wait(`document.querySelector("main").dataset.state == "interrupted"`)
	value[int](b, `window.opened = 1`) // a page that is loaded anew forgets it
	rehearse(t, 0, "run", "--resume", filepath.Join(".rehearse", "runs", run), "--quiet")
	b.wait(`document.querySelector("main").dataset.state == "finished"`)
	b.wait(`document.querySelector('[data-figure="passed"]').dataset.value == "3"`)
	if opened := value[int](b, `window.opened`); opened != 1 {
		t.Error("the page was loaded anew")
	}
}

// ignored drops the error of a program that was killed.
func ignored(error) error { return nil }

// TestLive holds that the page of a run fills by itself while the run goes on.
func TestLive(t *testing.T) {
	write(t, "slow/agent.yaml", "rules:\n  - when: {user: Bye}\n    reply: Stay.\n  - when: {user: .}\n"+
		"    delay: 1s\n    reply: Hello there.\n")
	tests := "tests:\n"
	for _, id := range strings.Fields("one two three four five six seven eight nine ten") {
		tests += "  - {id: " + id + ", input: Hello, assertions: [{type: contains, value: Hello}]}\n"
	}
	write(t, "slow/suite.yaml", tests+"  - {id: last, input: Bye, assertions: [{type: contains, value: Hello}]}\n")
	c := exec.CommandContext(t.Context(), site.program, "run", "slow/suite.yaml", "--target",
		"scripted:slow/agent.yaml", "--workers", "1", "--quiet")
	c.Dir = site.dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	b := open(t, looks[0])
	for listed := 0; listed == 0; { // each step has the limit of the tab
		b.to("/runs?suite=slow%2Fsuite.yaml")
		listed = value[int](b, `document.querySelectorAll('[data-row="run"]').length`)
	}
	b.follow(`[data-row="run"] a`)
	value[int](b, `window.opened = 1`) // a page that is loaded anew forgets it
	b.wait(`document.querySelector('[data-row="test"]') !== null`)
	b.press("j", `[data-row].at a:focus`)
	row := value[string](b, `document.activeElement.href`)
	state := value[string](b, `document.querySelector("main").dataset.state`)
	b.wait(`document.querySelector('[data-figure="passed"]').dataset.value == "10"`)
	b.wait(`document.querySelector("main").dataset.state == "finished"`)
	// a part that was not there when the page was opened
	b.wait(`document.querySelector('[data-code="ASSISTANT_CONTENT"]').dataset.value == "1"`)
	if shown := value[int](b, `document.querySelectorAll('[data-row="test"]').length`); shown != 11 {
		t.Errorf("%d tests are listed", shown)
	}
	if value[int](b, `window.opened || 0`) != 1 {
		t.Error("the page was loaded anew")
	}
	if at := value[string](b,
		`document.activeElement.href + document.querySelectorAll("[data-row].at").length`); at != row+"1" {
		t.Errorf("who was at %s is at %s", row, at)
	}
	if state != "running" {
		t.Logf("the run was %s before the page was open: the machine is busy", state)
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != 1 {
		t.Error(err)
	}
}

// write writes a file into the folder of the demonstration.
func write(t *testing.T, name, text string) {
	t.Helper()
	writeTo(t, filepath.Join(site.dir, filepath.FromSlash(name)), text)
}

// writeTo writes a file anywhere.
func writeTo(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
