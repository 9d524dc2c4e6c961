package site_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

func TestLanguage(t *testing.T) {
	s := &site.Site{Language: "fr"}
	for requested, want := range map[string]string{
		"": "fr", "de": "de", "pt-BR": "pt", "EN_us": "en", "ja": "ja", "klingon": "fr", "-": "fr", "1": "fr",
	} {
		if got := s.LanguageFor(requested); got != want {
			t.Errorf("LanguageFor(%q) = %q, want %q", requested, got, want)
		}
	}
}

func TestBlocked(t *testing.T) {
	const french = "Je ne peux pas poursuivre cette conversation. Veuillez démarrer une nouvelle session."
	const english = "I'm unable to continue this conversation. Please start a new session."
	for _, language := range site.Languages() {
		for _, reason := range []string{"hack", "spam", "length"} {
			if text := site.Blocked(reason, language+"-XX"); text == "" ||
				language != "en" && text == site.Blocked(reason, "en") {
				t.Errorf("Blocked(%s, %s) = %q", reason, language, text)
			}
		}
	}
	s := &site.Site{Language: "fr"}
	for _, tc := range []struct{ got, want string }{
		{site.Blocked("hack", "en"), english},
		{site.Blocked("hack", "fr-CA"), french},
		{site.Blocked("hack", "ja"), english},
		{site.Blocked("hack", ""), english},
		{site.Blocked("other", "en"), ""},
		{s.Blocked("hack", ""), french},
		{s.Blocked("hack", "ja"), french},
		{s.Blocked("hack", "en-GB"), english},
		{(&site.Site{Language: "ja"}).Blocked("hack", ""), english},
		{site.Blocked("length", "fr"), "Votre message est trop long. Veuillez le limiter à 15 000 caractères."},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}

func TestAccepts(t *testing.T) {
	for message, want := range map[string]bool{
		"yes": true, "Yes!": true, "YES, please.": true, "ok sure 👍": true, "Sounds good": true, "let’s do it": true,
		"Oui, avec plaisir": true, "D’accord": true, "¡Claro que sí!": true, "SÍ": true, "Ja, gerne": true,
		"va bene": true, "claro": true, "ja graag": true, "oké": true, "": false, "👍": false, "no": false,
		"yes but what does it cost": false, "ok no": false, "not sure": false, "nein": false,
		"why": false, "please tell me the price": false, strings.Repeat("yes ", 13): false, "oui ja": false,
	} {
		if got := site.Accepts(message); got != want {
			t.Errorf("Accepts(%q) = %t", message, got)
		}
	}
}

func TestDeclines(t *testing.T) {
	for message, want := range map[string]bool{
		"": true, " \n": true, "skip": true, "Skip!": true, "I’d rather not say.": true, "je passe": true,
		"Non, merci": true, "paso": true, "Keine Angabe": true, "nein, danke": true, "preferisco non dirlo": true,
		"prefiro não dizer": true, "overslaan": true, "no thanks": true, "no": false, "seed": false,
		"pass the ball": false, "nein": false, "we skip onboarding": false,
	} {
		if got := site.Declines(message); got != want {
			t.Errorf("Declines(%q) = %t", message, got)
		}
	}
}

// Words are found only when they are written as messages are compared.
func TestWordsArePlain(t *testing.T) {
	for _, word := range site.YesWords() {
		if !site.Accepts(word) {
			t.Errorf("Accepts(%q) = false", word)
		}
	}
	for _, word := range site.RefusalWords() {
		if !site.Declines(word) {
			t.Errorf("Declines(%q) = false", word)
		}
		if site.Accepts(word) {
			t.Errorf("%q accepts and declines", word)
		}
	}
}
