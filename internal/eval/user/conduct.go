package user

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// The English sentences of an agent, and of a farewell. Texts are matched as plain returns them.
var (
	agentWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(before + `(?:how (?:can|may|could|might) i ` +
			`(?:help|assist|be of (?:help|service|assistance))(?: you)?(?: out)?` +
			`(?: (?:today|further|now|this (?:morning|afternoon|evening)|with (?:that|this|your [^?.!]{1,40})))?` +
			`|what can i (?:do for|help|assist) you(?: with)?(?: today)?` +
			`|(?:is there )?anything else (?:that )?i can (?:help|assist|do for) (?:you)?[^?.!]{0,20}` +
			`|(?:i'd|i would|i'm|i am) (?:be )?(?:happy|glad|delighted|here) to (?:help|assist)(?: you)?` +
			`(?: (?:today|further|out|with [^?.!]{1,40}))?` +
			`|(?:thank you|thanks) for (?:contacting|calling|reaching out to) (?:us|our)[^?.!]{0,40})\s*(?:[?.!,]|$)`)
	})
	farewell = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:good ?bye|good-bye|bye|farewell)(?:$|[^\pL\pN'])|` + before +
			`(?:good ?bye|good-bye|bye(?:[- ]bye)?|farewell|see you(?: later| soon| then)?|` +
			`take care|talk to you later|have a (?:very )?(?:nice|good|great|lovely|wonderful) ` +
			`(?:day|evening|night|weekend|one))` +
			`(?: (?:for )?now| then| and (?:thank you|thanks)[^.!]{0,30})?[^\pL\pN]*$`)
	})
	// aside matches a text in stars or brackets at the beginning of a line or behind a sentence, in parentheses at the
	// beginning alone; its groups are what stands within.
	aside = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[.!?…]["”']?)\s*(?:\*([^*\n]{1,80})\*|_([^_\n]{1,80})_|` +
			`\[([^\]\n]{1,80})\](?:$|[^(]))|^\s*\(([^()\n]{1,80})\)`)
	})
	// verb matches what a direction begins with.
	verb    = regexp.MustCompile(`^(?:\p{Ll}+ly )?(\p{Ll}{2,}(?:s|ing))(?:$|[^\pL'])`)
	command = regexp.MustCompile(`^[/!]\pL[\pL\pN_-]*(?:$|\s)`)
	tagged  = regexp.MustCompile(`(?s)^<[a-zA-Z_][\w:-]*(?:\s[^<>]*)?>.*</[a-zA-Z_][\w:-]*>$`)
)

// notVerbs are words that end as verbs of a direction do.
var notVerbs = strings.Fields(`
	this is was has as its his hers ours yours theirs yes us thus always perhaps sometimes nothing something anything
	everything during according including thanks does besides unless across plus minus towards afterwards less various
	previous serious bus address status business days hours weeks years minutes
`)

// direction returns a stage direction of a message: brackets with nothing beside them, or words such as *nods*.
func direction(said string) string {
	if s := strings.TrimSpace(said); strings.HasPrefix(s, "[") && strings.Index(s, "]") == len(s)-1 {
		return s
	}
	for _, m := range aside().FindAllStringSubmatch(said, 20) {
		within := strings.TrimSpace(strings.Join(m[1:], ""))
		v := verb.FindStringSubmatch(within)
		if v != nil && !slices.Contains(notVerbs, v[1]) && len(strings.Fields(within)) <= 8 {
			return strings.TrimSpace(m[0])
		}
	}
	return ""
}

// machineText returns the beginning of a message that is written for a program: an object or a list of JSON, a command
// with a slash, or an element of XML.
func machineText(said string) string {
	text := strings.TrimSpace(said)
	if rest, ok := strings.CutPrefix(text, "```"); ok {
		_, rest, _ = strings.Cut(rest, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
	}
	switch {
	case strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}"),
		strings.HasPrefix(text, "[") && json.Valid([]byte(text)), tagged.MatchString(text):
		return text
	}
	return strings.TrimSpace(command.FindString(text))
}

// leaves reports whether a message takes leave.
func leaves(said string) bool { return farewell().MatchString(plain(said)) }

// lastSaid returns the last message of the user; empty before its first message.
func lastSaid(talk []chat.Message) string {
	for _, m := range slices.Backward(talk) {
		if m.Role == chat.User {
			return m.Content.String()
		}
	}
	return ""
}
