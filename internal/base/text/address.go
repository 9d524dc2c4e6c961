package text

import "strings"

// Address returns an address without user info, query and fragment, where credentials may stand. A text that is no
// address with a scheme and // stays as it is.
func Address(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s
	}
	if cut := strings.IndexAny(rest, "?#"); cut >= 0 {
		rest = rest[:cut]
	}
	host, path, slash := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if slash {
		path = "/" + path
	}
	return scheme + "://" + host + path
}
