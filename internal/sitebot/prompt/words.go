package prompt

import "strings"

// inWords writes an id as words.
func inWords(id string) string { return separators.Replace(id) }

var separators = strings.NewReplacer("_", " ", "-", " ")

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// languageName returns a language as models know it.
func languageName(primary string) string {
	if name, ok := languageNames[primary]; ok {
		return name
	}
	return "the language with the code " + primary
}

var languageNames = map[string]string{
	"en": "English", "fr": "French", "es": "Spanish", "de": "German", "it": "Italian", "pt": "Portuguese", "nl": "Dutch",
}
