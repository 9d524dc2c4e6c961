package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// opened makes closed shadow roots open, so that the rules of axe and the tests see into them.
const opened = `{ const attach = Element.prototype.attachShadow; Element.prototype.attachShadow = function (how) { return window.shadow = attach.call(this, {...how, mode: "open"}); }; }`

// around serves a page of a website that shows the chat. Its policy may refuse the frame.
func around(t *testing.T, policy string) *httptest.Server {
	t.Helper()
	var script string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if script = r.URL.Query().Get("chat"); script == "" {
			http.NotFound(w, r)
			return
		}
		if policy != "" {
			w.Header().Set("Content-Security-Policy", policy)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width"><title>A website</title><link rel="icon" href="data:,">
<style>body{font:18px/1.6 Georgia,serif;margin:40px} button{color:red!important} iframe{display:none!important}</style></head>
<body><main><h1>A website</h1><p>It has a chat.</p></main><script src="%s/chat.js" data-site="kestrel-rota.example" %s></script></body></html>`,
			script, r.URL.Query().Get("more"))
	}))
	t.Cleanup(web.Close)
	return web
}

// onWebsite opens a page of a website with the chat, and notes what the chat tells it.
func onWebsite(t *testing.T, l look, web *httptest.Server, base, more string) *tab {
	t.Helper()
	b := open(t, l)
	ask(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: opened})
	b.to(web.URL + "/?chat=" + base + "&more=" + strings.ReplaceAll(more, " ", "+"))
	b.do(chromedp.Evaluate[chromedp.Void](
		`window.told = []; for (const event of ["ready", "open", "close", "message", "answer", "cta", "error"])
		rehearseChat.on(event, (detail) => told.push({event, ...detail})); undefined`))
	b.wait(`told.some(({event}) => event == "ready")`)
	return b
}

// events are the events that the chat has told, in their order.
func (b *tab) events() string { return value[string](b, `told.map(({event}) => event).join(" ")`) }

// website serves the chatbots of the demonstration for a website.
func website(t *testing.T, web *httptest.Server) (base string) {
	t.Helper()
	bot, base, err := serve(site.program, "serve", "--sites", "../examples/sites",
		"--model", "scripted:../examples/sites/bot.yaml", "--addr", "127.0.0.1:0", "--log", "off",
		"--data", t.TempDir(), "--origin", web.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bot.end(); err != nil {
			t.Error(err)
		}
	})
	return base
}

// TestWidget opens the chat on a page of another origin, talks in it, and closes it with the keys.
func TestWidget(t *testing.T) {
	web := around(t, "")
	base := website(t, web)
	for _, l := range looks {
		t.Run(l.String(), func(t *testing.T) {
			b := onWebsite(t, l, web, base, "data-person='p-7'")
			b.accessible()
			b.keep("widget-closed-"+l.String(), false)
			b.do(chromedp.Evaluate[chromedp.Void](`shadow.querySelector("button.open").focus(); undefined`),
				chromedp.KeyEvent("\r"))
			b.wait(`shadow.querySelector("dialog").open && shadow.querySelector(".veil").hidden && document.activeElement == shadow.host && shadow.activeElement.tagName == "IFRAME"`)
			type box struct{ Left, Top, Width, Height, Right float64 }
			panel := value[box](b, `(({left, top, width, height, right}) => ({left, top, width, height, right}))(shadow.querySelector("dialog").getBoundingClientRect())`)
			if full := panel.Left == 0 && panel.Top == 0 && panel.Width == float64(l.width) &&
				panel.Height == 900; full != (l.width <= 640) {
				t.Errorf("in a window of %d the panel is %+v", l.width, panel)
			}
			b.do(chromedp.KeyEvent("How long does a demo take?\r"))
			b.wait(`told.some(({event, text}) => event == "answer" && text == "A demo takes 30 minutes.")`)
			b.accessible()
			b.keep("widget-"+l.String(), false)
			b.do(chromedp.Evaluate[chromedp.Void](`rehearseChat.identify("p-8"); undefined`),
				chromedp.KeyEvent("What does Kestrel Rota do?\r"))
			b.wait(`told.filter(({event}) => event == "answer").length == 2`)
			b.do(chromedp.KeyEvent("\u001b"))
			b.wait(`!shadow.querySelector("dialog").open && shadow.activeElement == shadow.querySelector("button.open") && document.documentElement.style.overflow == ""`)
			if got := b.events(); got != "ready open message answer message answer close" {
				t.Errorf("the page was told %s", got)
			}
			b.do(chromedp.Evaluate[chromedp.Void](`rehearseChat.open(); undefined`))
			b.wait(`shadow.querySelector("dialog").open`)
			b.do(chromedp.Evaluate[chromedp.Void](`rehearseChat.close(); undefined`))
			b.wait(`!shadow.querySelector("dialog").open && told.at(-1).event == "close"`)
			asked := b.asked("/api/v1/chat?")
			if len(asked) != 2 || !strings.Contains(asked[0], `"person_id":"p-7"`) ||
				!strings.Contains(asked[1], `"person_id":"p-8"`) {
				t.Errorf("the messages were %v", asked)
			}
		})
	}
}

// TestWidgetRefused holds that a frame that is not shown is told in words, with a way to the chat: by the server's
// origins, and by the website's policy.
func TestWidgetRefused(t *testing.T) {
	for name, c := range map[string]struct{ policy, says string }{
		"origin": {"", "frame-ancestors"},
		"policy": {"default-src 'self' 'unsafe-inline' data:; script-src * 'unsafe-inline' 'unsafe-eval'; " +
			"connect-src *; frame-src 'none'", "frame-src"},
		"all": {
			"default-src 'self' 'unsafe-inline' data:; script-src * 'unsafe-inline' 'unsafe-eval'",
			"violates the following",
		},
	} {
		t.Run(name, func(t *testing.T) {
			web := around(t, c.policy)
			for _, l := range []look{looks[0], looks[3]} {
				b := open(t, l)
				b.forgives = "Content Security Policy"
				ask(b, page.AddScriptToEvaluateOnNewDocument,
					page.AddScriptToEvaluateOnNewDocumentParams{Source: opened})
				b.to(web.URL + "/?chat=" + site.base + "&more=data-language='fr'+data-position='left'")
				b.do(chromedp.Evaluate[chromedp.Void](`window.told = []; rehearseChat.on("error", (detail) => told.push(detail)); rehearseChat.open(); undefined`))
				b.wait(`told[0]?.code == "frame_refused" && told[0].message == "La discussion ne peut pas s'afficher sur cette page."`)
				b.wait(`!shadow.querySelector(".veil").hidden && shadow.querySelector(".veil a").href == "` +
					site.base + kestrel + `?language=fr" && shadow.activeElement.tagName == "A"`)
				b.accessible()
				b.keep("widget-refused-"+name+"-"+l.String(), false)
			}
		})
	}
}
