package redact

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// headerName is the mask of a credential that a configuration writes out in a header.
const headerName = "HEADER"

// credentialName matches the names of headers and of parameters whose values are credentials.
var credentialName = text.Regexp(
	`(?i)^(proxy-)?authorization$|^cookie$|(^|[-_])(key|token|secret|password|apikey)$`)

// literal learns the credentials that headers and query parameters of a configuration write out. What variables or
// placeholders stand in is none: their values are learned with their names.
func (l *learned) literal(mapping string, fields []source.Field) (changed bool) {
	mask := headerName
	switch strings.ToLower(mapping) {
	case "headers":
	case "query":
		mask = queryName
	default:
		return false
	}
	learn := func(value string) {
		if _, known := l.parts[value]; !known && len(value) >= leastGuessed && !strings.Contains(value, "{{") &&
			!strings.Contains(value, "${") {
			l.parts[value], changed = mask, true
		}
	}
	for _, f := range fields {
		value := strings.TrimSpace(f.Value.Scalar)
		switch {
		case f.Value.Kind != source.String || !credentialName().MatchString(f.Name):
		case strings.EqualFold(f.Name, "cookie"):
			for pair := range strings.SplitSeq(value, ";") {
				_, held, _ := strings.Cut(strings.TrimSpace(pair), "=")
				learn(held)
			}
		default:
			if _, token, ok := strings.Cut(value, " "); ok { // behind its scheme
				value = strings.TrimSpace(token)
			}
			learn(value)
		}
	}
	return changed
}
