package lead

import (
	"encoding/json"
	"slices"
)

// appendText appends a text as JSON, as encoding/json writes it: ids are hashes of that.
func appendText(to []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			escaped, _ := json.Marshal(text) // a text never fails
			return append(to, escaped...)
		}
	}
	return append(append(append(to, '"'), text...), '"')
}

// appendTexts appends a mapping as JSON, in the order of its keys; {} for none.
func appendTexts(to []byte, texts map[string]string) []byte {
	var few [8]string // most have no more keys
	keys := few[:0]
	for key := range texts {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	to = append(to, '{')
	for i, key := range keys {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendText(to, key), ':')
		to = appendText(to, texts[key])
	}
	return append(to, '}')
}

// appendList appends a list as JSON; [] for none.
func appendList(to []byte, texts []string) []byte {
	to = append(to, '[')
	for i, text := range texts {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendText(to, text)
	}
	return append(to, ']')
}
