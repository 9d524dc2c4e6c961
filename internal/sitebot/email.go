package sitebot

import (
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Bounds of the two parts of an address, in bytes (RFC 5321, 4.5.3.1).
const (
	maxLocal  = 64
	maxDomain = 253
	maxLabel  = 63
)

var (
	// apart are the characters that stand between words and addresses.
	apart = regexp.MustCompile(`[\s<>()\[\]{},;:"'=|“”„‟«»‹›‘’‚‛` + "`" + `]+`)
	// localEnd matches what may stand before the @, as far as it reaches back.
	localEnd = regexp.MustCompile(`[A-Za-z0-9.!#$%&*+/?^_{}~-]+$`)
	// domainBegin matches what may stand behind it: letters of any script, figures, hyphens and dots.
	domainBegin = regexp.MustCompile(`^[\p{L}\p{M}\p{N}.-]+`)
	// lastLabel matches the last part of a domain.
	lastLabel = regexp.MustCompile(`^([a-z]{2,}|xn--[a-z0-9-]+)$`)
)

// reach is how many words behind a negation an address may come that is taken away by it.
const reach = 3

// negations are words, or several, of the seven languages that take away the next address.
var negations = [][]string{
	{"not"}, {"don't"}, {"isn't"}, {"never"}, {"no"}, {"instead", "of"}, {"rather", "than"},
	{"pas"}, {"plus"}, {"jamais"}, {"au", "lieu", "de"}, {"à", "la", "place", "de"},
	{"nunca"}, {"en", "lugar", "de"}, {"en", "vez", "de"},
	{"nicht"}, {"kein"}, {"keine"}, {"statt"}, {"anstatt"}, {"anstelle"},
	{"non"}, {"invece", "di"}, {"al", "posto", "di"},
	{"não"}, {"nao"}, {"em", "vez", "de"}, {"ao", "invés", "de"}, {"em", "lugar", "de"},
	{"niet"}, {"geen"}, {"in", "plaats", "van"},
}

// findEmail returns the address that a message gives, its domain in lower-case ASCII, or nothing: the last one that no negation takes away
// (sitebot.md 2.15).
func findEmail(text string) string {
	found, denied := "", 0 // denied words are still in the reach of a negation
	words := strings.Fields(text)
	for i := range words {
		for _, candidate := range apart.Split(words[i], -1) {
			address := addressIn(candidate)
			switch {
			case address == "":
			case denied > 0:
				denied = 0
			default:
				found = address
			}
		}
		if denied > 0 {
			denied--
		}
		if strings.ContainsAny(words[i][len(words[i])-1:], ",.;!?") {
			denied = 0 // another clause
		} else if negates(words[:i+1]) {
			denied = reach
		}
	}
	return found
}

// negates reports whether words end with a negation.
func negates(words []string) bool {
	return slices.ContainsFunc(negations, func(negation []string) bool {
		from := len(words) - len(negation)
		return from >= 0 && slices.EqualFunc(words[from:], negation, func(word, part string) bool {
			return strings.Trim(strings.ReplaceAll(strings.ToLower(word), "’", "'"), `:"“”«»()`) == part
		})
	})
}

// addressIn returns the address that a text without blanks holds, or nothing.
func addressIn(text string) string {
	before, behind, _ := strings.Cut(text, "@")
	if strings.Contains(behind, "@") {
		return ""
	}
	local, domain := localEnd.FindString(before), strings.TrimRight(domainBegin.FindString(behind), ".")
	if local == "" || domain == "" || len(local) > maxLocal {
		return ""
	}
	domain, err := idna.Lookup.ToASCII(domain)
	if err != nil {
		return ""
	}
	domain = strings.ToLower(domain)
	labels := strings.Split(domain, ".")
	whole := func(label string) bool {
		return label != "" && len(label) <= maxLabel && label[0] != '-' && label[len(label)-1] != '-'
	}
	if len(domain) > maxDomain || len(labels) < 2 || slices.ContainsFunc(labels, func(l string) bool { return !whole(l) }) ||
		!lastLabel.MatchString(labels[len(labels)-1]) {
		return ""
	}
	address := local + "@" + domain
	if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address {
		return ""
	}
	return address
}
