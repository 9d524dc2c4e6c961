package api

import (
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

func TestChatPage(t *testing.T) {
	d := openChats(t, &fakeBot{}, func(c *ChatsConfig) { c.Origins = []string{"https://acme.example"} })
	for path, media := range map[string]string{
		"/chat/acme.example": "text/html", "/chat/WWW.acme.example": "text/html",
		"/chat/acme.example/theme.css": "text/css", "/chat/assets/page.js": "text/javascript",
		"/chat/assets/page/markers.js": "text/javascript", "/chat/assets/page.css": "text/css",
		"/chat.js": "text/javascript",
	} {
		response, body := d.do("GET", path, "")
		if response.StatusCode != 200 || response.Header.Get("Content-Type") != media+"; charset=utf-8" ||
			len(body) < 100 {
			t.Errorf("%s: %d %v", path, response.StatusCode, response.Header)
		}
		if again, body := d.do("GET", path, "", "If-None-Match: "+
			response.Header.Get("ETag")); again.StatusCode != 304 || body != "" {
			t.Errorf("%s again: %d", path, again.StatusCode)
		}
		if media != "text/html" {
			continue
		}
		policy := response.Header.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'") ||
			!strings.Contains(policy, "img-src 'self' data: https://cdn.example;") ||
			!strings.HasSuffix(policy, "frame-ancestors 'self' https://acme.example") {
			t.Errorf("policy %s", policy)
		}
		for _, inline := range []string{
			"<style", "style=", "onclick", "<script>", "http://", "<b>", "<i>", "</script><",
		} {
			if strings.Contains(body, inline) {
				t.Errorf("the page has %s", inline)
			}
		}
		for _, text := range []string{
			`<html lang="fr">`, "<title>Acme &lt;b&gt;&amp;&lt;/b&gt; Co</title>", "Bonjour &lt;/script&gt;&lt;b&gt;",
			"Quand &lt;i&gt;?", `placeholder="Écrivez un message"`, `src="https://cdn.example/acme.png"`,
			">Nouvelle conversation<",
		} {
			if !strings.Contains(body, text) {
				t.Errorf("the page lacks %s", text)
			}
		}
	}
	for _, path := range []string{
		"/chat/assets/page.html", "/chat/assets/widget.js", "/chat/assets/page/..%2fpage.js",
		"/chat/assets/page/nope.js", "/chat/assets/..%2f..%2fchats.go", "/chat/a/b",
		"/chat/none.example", "/chat/%3Cscript%3E", "/chat/none.example/config.json", "/chat/none.example/theme.css",
		"/chat/acme.example/logo",
	} {
		want[Problem](d, 404, "GET", path, "")
	}
}

// The page speaks the language that is asked for, else the site's, else English; and config.json is the same with the
// same keys.
func TestChatPageSpeaks(t *testing.T) {
	keys := []string{
		"placeholder", "send", "stop", "close", "open", "new_conversation", "try_again", "session_lost", "offline",
	}
	english, err := chatTexts()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, asked, language string }{
		{"fr", "", "fr"},
		{"fr", "de", "de"},
		{"fr", "pt-BR", "pt"},
		{"fr", "ja", "fr"},
		{"fr", "<b>", "fr"},
		{"ja", "", "en"},
		{"ja", "it", "it"},
		{"ja", "ja", "en"},
		{"en", "es", "es"},
		{"en", "nl", "nl"},
	} {
		d := openChats(t, &fakeBot{}, func(chats *ChatsConfig) {
			chats.Sites = acmeSites(t, "language: fr", "language: "+c.file)
		})
		query := ""
		if c.asked != "" {
			query = "?language=" + url.QueryEscape(c.asked)
		}
		response, data := d.do("GET", "/chat/www.acme.example/config.json"+query, "")
		if response.Header.Get("Content-Type") != "application/json" ||
			response.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%v", response.Header)
		}
		got := decoded[chatConfig](t, data)
		texts := got.Texts
		got.Texts = nil
		if diff := cmp.Diff(chatConfig{
			Site: "acme.example", Language: c.language, Title: "Acme <b>&</b> Co", Color: "#ffee00",
			Logo: "https://cdn.example/acme.png", Greeting: "Bonjour </script><b>",
			Starters: []string{"Combien ?", "Quand <i>?"}, Position: "left",
		}, got); diff != "" {
			t.Error(diff)
		}
		for _, key := range keys {
			if texts[key] == "" {
				t.Errorf("%s has no text %s", c.language, key)
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(english["en"])), slices.Sorted(maps.Keys(texts))); diff != "" {
			t.Errorf("%s (-en): %s", c.language, diff)
		}
		_, page := d.do("GET", "/chat/acme.example"+query, "")
		if !strings.Contains(page, `<html lang="`+c.language+`">`) ||
			!strings.Contains(page, template.HTMLEscapeString(texts["placeholder"])) {
			t.Errorf("asked for %q the page is not in %s", c.asked, c.language)
		}
	}
}

// A site that says nothing has a page all the same, and the keys of config.json are always there.
func TestChatConfigOfAPlainSite(t *testing.T) {
	d := openChats(t, &fakeBot{}, func(c *ChatsConfig) {
		one, err := site.Load("x.yaml", []byte("site: acme.example"))
		if err != nil {
			t.Fatal(err)
		}
		if c.Sites, err = site.NewLibrary(one); err != nil {
			t.Fatal(err)
		}
	})
	_, data := d.do("GET", "/chat/acme.example/config.json", "")
	if want := `{"site":"acme.example","language":"en","title":"acme.example","color":"#3355a8","logo":"","greeting":"","starters":[],"position":"right","texts":{`; !strings.HasPrefix(data, want) {
		t.Errorf("%.300s", data)
	}
	if _, page := d.do("GET", "/chat/acme.example", ""); !strings.Contains(page, "Ask anything.") ||
		strings.Contains(page, "<img") {
		t.Error(page)
	}
}

// Whatever colour a site has, text in it and on it can be read, in light and in dark.
func TestChatTheme(t *testing.T) {
	part := regexp.MustCompile(`--(brand|brand-ink|accent): (#[0-9a-f]{6})`)
	for r := 0; r < 256; r += 51 {
		for g := 0; g < 256; g += 51 {
			for b := 0; b < 256; b += 51 {
				color := fmt.Sprintf("#%02x%02x%02x", r, g, b)
				found := part.FindAllStringSubmatch(themeOf(color), -1)
				if len(found) != 4 || found[0][2] != color {
					t.Fatalf("%s: %s", color, themeOf(color))
				}
				brand, ink, light, dark := parseColor(color), parseColor(found[1][2]), parseColor(found[2][2]),
					parseColor(found[3][2])
				if contrast(brand, ink) < enoughContrast || !readableOn(light, lightSurfaces) ||
					!readableOn(dark, darkSurfaces) {
					t.Errorf("%s: %s", color, themeOf(color))
				}
			}
		}
	}
	css, err := chatAssets.ReadFile("assets/chat/page.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, surface := range append(lightSurfaces, darkSurfaces...) {
		if !strings.Contains(string(css), surface) {
			t.Errorf("page.css has no surface %s", surface)
		}
	}
	if themeOf(ownColor) != themeOf("#3355a8") || contrast(rgb{}, rgb{1, 1, 1}) != 21 {
		t.Error("the arithmetic is wrong")
	}
}
