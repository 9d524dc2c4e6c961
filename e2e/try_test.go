package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// said types into the field of a message.
func (b *tab) said(message string) {
	b.t.Helper()
	b.do(chromedp.Focus(chromedp.CSS(`form[data-form="say"] textarea`)), chromedp.KeyEvent(message))
}

// TestTryByKeys holds a whole conversation without a mouse, and looks at it with the keys of a conversation.
func TestTryByKeys(t *testing.T) {
	b := open(t, looks[0])
	b.to("/try")
	b.said("How late are you open tonight?\t\r") // a tab leads to the button
	b.wait(`location.pathname.startsWith("/try/") && document.querySelectorAll('[data-turn]').length == 1`)
	b.said("Thanks, and tomorrow?\t\r")
	b.wait(`document.querySelectorAll('[data-turn]').length == 2`)
	b.press("]", `[data-turn="1"].at`)
	b.press("]", `[data-turn="2"].at`)
	b.press("r", `main[data-page="try"]`)
	b.wait(`location.search.includes("view=raw")`)
	b.press("u", `main[data-page="try"]:not([data-session])`)
}

// TestTryByMouse holds one with clicks, with script and without, from a turn of a recorded conversation.
func TestTryByMouse(t *testing.T) {
	for _, scripted := range []bool{true, false} {
		b := open(t, looks[0])
		ask(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripted})
		b.to(bookshop)
		b.follow(faulty)
		b.follow(`[data-action="try"]`)
		if from := value[string](b, `document.querySelector("main").dataset.turnFrom || ""`); from == "" {
			t.Fatalf("%s goes on from nowhere", b.path())
		}
		b.do(chromedp.Click(chromedp.CSS(`form[data-form="say"] button`)))
		b.wait(`location.pathname.startsWith("/try/") && document.querySelectorAll('[data-turn] [data-role="assistant"]').length == 1`)
		b.said("Are you sure?")
		b.do(chromedp.Click(chromedp.CSS(`form[data-form="say"] button`)))
		b.wait(`document.querySelector("main").dataset.turns == "2" || document.querySelector("[data-fault]")`)
		if href := value[string](b, `document.querySelector('[data-action="suite"]').pathname`); !strings.HasSuffix(href, "/suite.yaml") {
			t.Errorf("the talk is no suite: %s", href)
		}
		b.do(chromedp.Click(chromedp.CSS(`form[data-form="end"] button`)))
		b.wait(`location.pathname == "/try"`)
	}
}

// TestTryLooks holds the rules of the other pages for a talk that failed once.
func TestTryLooks(t *testing.T) {
	b := open(t, looks[0])
	b.to("/try")
	b.said("How late are you open tonight?\t\r")
	b.wait(`document.querySelectorAll('[data-turn]').length == 1`)
	for _, l := range looks {
		b.as(l)
		b.fits()
		b.accessible()
		b.keep("talk-"+l.String(), true)
	}
}
