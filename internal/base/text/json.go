package text

import "strings"

// JSONIn returns the JSON object inside a model's words, which may have sentences or a fence around it: all from the
// first { to the last }, within the first fenced block where that holds an object and the words do not begin with one.
// ok is false where there is none. The object need not be valid JSON: the caller decodes it.
func JSONIn(words string) (object []byte, ok bool) {
	words = strings.TrimSpace(words)
	if !strings.HasPrefix(words, "{") {
		if object, ok = braces(fenced(words)); ok {
			return object, true
		}
	}
	return braces(words)
}

// fenced returns the inside of the first fenced block, which ends with the words if nothing else ends it. A fence
// begins a line, so that one inside a JSON string is none.
func fenced(words string) string {
	const fence = "```"
	_, inside, found := strings.Cut("\n"+words, "\n"+fence)
	if !found {
		return ""
	}
	inside, _, _ = strings.Cut(inside, fence)
	return inside
}

func braces(s string) (object []byte, ok bool) {
	first, last := strings.IndexByte(s, '{'), strings.LastIndexByte(s, '}')
	if first < 0 || last < first {
		return nil, false
	}
	return []byte(s[first : last+1]), true
}
