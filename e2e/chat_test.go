package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// kestrel is the page of a chatbot of the demonstration.
const kestrel = "/chat/kestrel-rota.example"

// write types a message into the chat and sends it.
func (b *tab) write(message string) {
	b.t.Helper()
	b.do(chromedp.WaitVisible(chromedp.CSS("textarea")), chromedp.SendKeys(chromedp.CSS("textarea"), message+"\r"))
}

// answers waits until the chat has a number of whole answers with what belongs below them.
func (b *tab) answers(n string) {
	b.t.Helper()
	b.wait(`document.querySelectorAll(".bot .thumbs").length == ` + n + ` && document.getElementById("stop").hidden`)
}

// chatbot serves a site with a scripted model, and returns where.
func chatbot(t *testing.T, siteFile, model string, args ...string) (base string) {
	t.Helper()
	dir := t.TempDir()
	writeTo(t, filepath.Join(dir, "sites", "site.yaml"), siteFile)
	writeTo(t, filepath.Join(dir, "model.yaml"), model)
	args = append([]string{
		"serve", "--sites", filepath.Join(dir, "sites"), "--model", "scripted:" + filepath.Join(dir, "model.yaml"),
		"--addr", "127.0.0.1:0", "--log", "off", "--data", filepath.Join(dir, "data"),
	}, args...)
	bot, base, err := serve(site.program, args...)
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

// TestChat talks with a chatbot of the demonstration on its page: greeting and starters first, then an answer with a
// table, then suggestions.
func TestChat(t *testing.T) {
	for _, l := range looks {
		t.Run(l.String(), func(t *testing.T) {
			b := open(t, l)
			b.to(kestrel)
			b.wait(`document.title == "Kestrel Rota" && document.querySelectorAll("#suggestions button").length == 3`)
			b.fits()
			b.accessible()
			b.keep("chat-begin-"+l.String(), false)
			b.do(chromedp.Click(chromedp.CSS(`#suggestions button:nth-of-type(2)`)))
			b.answers("1")
			b.wait(`document.querySelector(".bot table th[scope=col]") && document.querySelector(".bot ul li em").textContent == "30 days"`)
			b.write("What does it cost for 40 people?")
			b.wait(`document.body.innerText.includes("How many people are on your rota?") && document.querySelectorAll("#suggestions button").length == 2`)
			b.fits()
			b.accessible()
			b.keep("chat-"+l.String(), false)
			b.do(chromedp.Click(chromedp.CSS(".bot:last-child .down")))
			b.wait(`document.querySelector(".why input") !== null`)
			b.accessible()
		})
	}
}

// TestChatSpeaks holds that a French site has a French page before any script has run, and German where it is asked
// for.
func TestChatSpeaks(t *testing.T) {
	b := open(t, look{width: 400})
	b.to("/chat/verdanne.example")
	b.wait(`document.documentElement.lang == "fr" && document.title == "Verdanne vous répond" && document.querySelector("textarea").placeholder == "Écrivez un message"`)
	b.accessible()
	b.keep("chat-french", false)
	b.to("/chat/verdanne.example?language=de")
	b.wait(`document.documentElement.lang == "de" && document.getElementById("send").textContent.trim() == "Senden"`)
	b.write("Combien coûte l'installation ?")
	b.answers("1")
	if asked := b.asked("/api/v1/chat"); len(asked) != 1 || !strings.Contains(asked[0], `"language":"de"`) {
		t.Errorf("the message was %v", asked)
	}
	answer, err := http.Get(site.base + "/chat/none.example")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNotFound {
		t.Errorf("a site that there is not: %s", answer.Status)
	}
}

// TestChatCallsToAction comes to the proposal of a demo, and holds that its button leads to the site with what was
// said.
func TestChatCallsToAction(t *testing.T) {
	b := open(t, look{width: 400})
	b.to(kestrel)
	for i, message := range []string{
		"We run a restaurant.", "40 people. What does it cost?", "A restaurant, and we open a second one on 1 May.",
	} {
		b.write(message)
		b.answers(string(rune('1' + i)))
	}
	for range 2 { // as it comes, and after the page was loaded anew
		b.wait(`document.querySelector(".bot:last-child .call")?.textContent == "Book your demo"`)
		call := value[map[string]string](b,
			`(({href, target, rel}) => ({href, target, rel}))(document.querySelector(".call"))`)
		if call["href"] != "https://kestrel-rota.example/demo?industry=restaurant&size=40" ||
			call["target"] != "_blank" || call["rel"] != "noopener" {
			t.Errorf("the button leads to %v", call)
		}
		for _, l := range looks {
			b.as(l)
			b.accessible()
			b.keep("chat-call-"+l.String(), false)
		}
		b.do(chromedp.Reload())
	}
}

// TestChatTellsOfALostSession erases the session behind the page's back: it says so in words, and what stood above is
// no part of the new one.
func TestChatTellsOfALostSession(t *testing.T) {
	b := open(t, looks[0])
	b.to(kestrel)
	b.write("What does Kestrel Rota do?")
	b.answers("1")
	session := value[string](b, `JSON.parse(sessionStorage.getItem("rehearse-chat:kestrel-rota.example")).session`)
	erase, err := http.NewRequest(http.MethodDelete, site.base+"/api/v1/chat/kestrel-rota.example/"+session, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(erase)
	if err != nil || answer.StatusCode != http.StatusNoContent {
		t.Fatal(answer, err)
	}
	b.write("How long does a demo take?")
	b.wait(`document.querySelector("#log > .lost + .user") && document.querySelectorAll(".thumbs").length == 1`)
	b.accessible()
	b.keep("chat-lost", false)
	b.do(chromedp.Reload())
	b.wait(`document.querySelector("#log > .lost + .user") && document.querySelectorAll(".thumbs").length == 1`)
	b.do(chromedp.Click(chromedp.CSS("#renew")))
	b.wait(`document.querySelectorAll("#log > li").length == 0 && document.querySelectorAll("#suggestions button").length == 3 && document.getElementById("renew").hidden`)
	if again := value[string](b,
		`JSON.parse(sessionStorage.getItem("rehearse-chat:kestrel-rota.example")).session`); again == session ||
		len(again) != 22 {
		t.Errorf("the new conversation is %q, the old one was %q", again, session)
	}
}

// TestChatOffline takes the connection away: the page says so, keeps what was written, and sends it when it is asked
// to.
func TestChatOffline(t *testing.T) {
	b := open(t, looks[2])
	b.to(kestrel)
	b.wait(`document.activeElement && document.querySelectorAll("#suggestions button").length == 3`)
	connection := func(away bool) {
		ask(b, network.OverrideNetworkState, network.OverrideNetworkStateParams{
			Offline: away, DownloadThroughput: -1, UploadThroughput: -1,
		})
		ask(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
			MatchedNetworkConditions: []*network.Conditions{{
				Offline: away, DownloadThroughput: -1, UploadThroughput: -1,
			}}})
	}
	connection(true)
	b.wait(`!document.getElementById("notice").hidden`)
	b.write("How long does a demo take?")
	b.wait(`document.querySelector(".failed .note button")?.textContent == "Try again"`)
	b.accessible()
	b.keep("chat-offline", false)
	connection(false)
	b.wait(`document.getElementById("notice").hidden`)
	b.do(chromedp.Click(chromedp.CSS(".failed .note button")))
	b.answers("1")
	if said := value[string](b, `document.getElementById("log").innerText`); strings.Count(said, "How long") != 1 ||
		!strings.Contains(said, "30 minutes") {
		t.Error(said)
	}
}

// slow is a chatbot whose suggestions take longer than anybody waits for.
const slow = `
name: slow
rules:
  - {when: {node: suggester}, delay: 5s, json: {suggestions: [Never seen], answers: [Never seen]}}
  - {when: {node: 'writer|handler', user: second}, reply: The second answer.}
  - {when: {node: 'writer|handler'}, reply: The first answer.}
default: {json: {intent: LEARN, confidence: 0.9, signals: [], skills: [], fields: {}}}
`

// TestChatSendsEarly sends the next message while suggestions are being made: nobody waits for them, and they are not
// shown.
func TestChatSendsEarly(t *testing.T) {
	base := chatbot(t, "site: slow.example\n", slow)
	b := open(t, looks[0])
	b.to(base + "/chat/slow.example")
	b.write("the first message")
	b.wait(`document.querySelector(".bot .text").innerText == "The first answer." && document.getElementById("stop").hidden && !document.querySelector(".thumbs")`)
	b.write("the second message")
	b.wait(`document.querySelectorAll(".user").length == 2 && document.querySelectorAll(".bot").length == 2`)
	b.wait(`document.querySelectorAll(".bot")[1].innerText.includes("The second answer.")`)
	if early := value[bool](b, `document.querySelectorAll("#suggestions button").length == 0 && document.querySelectorAll(".bot").length == 2`); !early {
		t.Error("suggestions of the first answer stand below the second")
	}
	order := value[[]string](b, `[...document.querySelectorAll("#log .text")].map((text) => text.innerText)`)
	if got := strings.Join(order, "|"); got !=
		"the first message|The first answer.|the second message|The second answer." {
		t.Error(got)
	}
}

// wicked is a chatbot whose answers try to become more than text.
const wicked = `
name: wicked
rules:
  - when: {node: 'writer|handler'}
    reply: |
      <script>window.taken = 1</script><img src="http://outside.example/x.png" onerror="window.taken = 1"><svg onload="window.taken = 1"></svg>

      [press](javascript:window.taken=1) ![picture](http://outside.example/y.png) [data](data:text/html,x) [**bold**](https://good.example/a_(b)) [mail](mailto:a@b.example)

      | <b>a</b> | [x](vbscript:x) |
      |---|---|
      | <iframe src="http://outside.example/"></iframe> | ` + "`<i>`" + ` |

      1. <style>body { display: none }</style>
         - <base href="http://outside.example/">

      ` + "```html\n      <form action=\"http://outside.example/\"><button>Send</button></form>\n      ```" + `
  - {when: {node: suggester}, json: {suggestions: ["<img src=x onerror=window.taken=1>"], answers: []}}
default: {json: {intent: LEARN, confidence: 0.9, signals: [], skills: [], fields: {}}}
`

// TestChatHostile holds that nothing of an answer runs, loads or hides, and where its links lead.
func TestChatHostile(t *testing.T) {
	base := chatbot(t, "site: wicked.example\nwidget: {greeting: '<script>window.taken=1</script>', starters: "+
		"['<b onclick=window.taken=1>x</b>']}\n", wicked)
	for _, l := range []look{looks[0], looks[3]} {
		b := open(t, l)
		b.to(base + "/chat/wicked.example")
		b.write("<img src=x onerror=window.taken=1>")
		b.answers("1")
		b.wait(`document.querySelectorAll("#suggestions button").length == 1`)
		b.fits()
		b.accessible()
		b.keep("chat-hostile-"+l.String(), false)
		type found struct {
			Taken, Images, Odd int
			Links              []string
		}
		got := value[found](b, `({taken: window.taken || 0, images: document.querySelectorAll("img").length,
			odd: document.querySelectorAll("main :is(script, style, iframe, base, form, object, b, i:not(.dots i))").length,
			links: [...document.querySelectorAll("main a")].map((a) => [a.href, a.rel, a.target].join(" "))})`)
		want := []string{"http://outside.example/y.png", "https://good.example/a_(b)", "mailto:a@b.example"}
		if got.Taken != 0 || got.Images != 0 || got.Odd != 0 || len(got.Links) != len(want) {
			t.Fatalf("%+v", got)
		}
		for i, link := range got.Links {
			if link != want[i]+" noopener noreferrer nofollow _blank" {
				t.Errorf("a link is %s", link)
			}
		}
		if said := value[string](b, `document.querySelector(".bot .text").innerText`); !strings.Contains(said,
			"<script>") || !strings.Contains(said, "javascript:window.taken=1") {
			t.Error(said)
		}
	}
}

// TestChatMessages holds what a message carries: a session id that nobody guesses, and how many answers the page has
// seen.
func TestChatMessages(t *testing.T) {
	b := open(t, looks[0])
	b.to(kestrel)
	b.write("What does Kestrel Rota do?")
	b.answers("1")
	b.write("How long does a demo take?")
	b.answers("2")
	asked := b.asked("/api/v1/chat?")
	if len(asked) != 2 {
		t.Fatal(asked)
	}
	for i, body := range asked {
		var message struct {
			Site    string `json:"site_name"`
			Session string `json:"session_id"`
			Turns   int    `json:"turn_number"`
		}
		if err := json.Unmarshal([]byte(body), &message); err != nil || message.Site != "kestrel-rota.example" ||
			len(message.Session) != 22 || message.Turns != i {
			t.Errorf("%s: %v", body, err)
		}
	}
}
