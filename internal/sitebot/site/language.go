package site

import (
	"regexp"
	"strings"

	"rehearse/internal/source"
)

// English is the language of last resort.
const English = "en"

// Languages are those for which there are built-in texts.
func Languages() []string { return []string{English, "fr", "es", "de", "it", "pt", "nl"} }

var primarySubtag = regexp.MustCompile(`^[a-z]{2,3}$`)

// Primary returns the primary subtag of a language tag (BCP 47): "pt" of "pt-BR". It is empty when the tag has none.
func Primary(tag string) string {
	primary, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tag)), "_", "-"), "-")
	if !primarySubtag.MatchString(primary) {
		return ""
	}
	return primary
}

// LanguageFor returns the language to speak with a visitor who asked for one: that, else the site's. Only the primary subtag counts.
func (s *Site) LanguageFor(requested string) string {
	if primary := Primary(requested); primary != "" {
		return primary
	}
	return s.Language
}

// Blocked is the function of that name for one of the site's visitors: in the visitor's language, else the site's, else English.
func (s *Site) Blocked(reason, requested string) string {
	for _, language := range []string{Primary(requested), s.Language} {
		if text := gateTexts[language][reason]; text != "" {
			return text
		}
	}
	return Blocked(reason, English)
}

func readLanguage(n source.Node) string {
	primary := Primary(n.Text())
	if primary == "" && n.Kind != source.List && n.Kind != source.Map {
		n.Report("write a language tag such as en or fr-CA", "%q is not a language", clip(n.Scalar))
	}
	return primary
}
