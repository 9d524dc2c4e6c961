package user

import (
	"regexp"
	"strings"
	"sync"
)

// Parts of the patterns. A text is matched as plain returns it.
const (
	// before matches what may precede a claim, behind what may follow it: not a word that changes its meaning, as in
	// "assistant manager".
	before = `(?:^|[^\p{L}\p{N}'])`
	behind = `(?:$|[^\p{L}\p{N}'\- ]| [^\p{L}\p{N}]| (?:and|but|so|here|that|who|which|designed|created|trained|built|made|developed|programmed|` +
		`helping|without|with|not|by|from|i)(?:$|[^\p{L}]))`
)

// claims are the English sentences with which a speaker claims to be a model. The group of each pattern is what it
// claims to be.
var claims = []string{
	before + `(?:i am|i'm|im)(?:,? (?:just|only|merely|actually|really|simply|in fact|sorry|afraid))*,? (?:an? |the |your |one )?` + `(?:(?:ai|virtual|digital|helpful|automated|artificial|computer|online|personal|text|customer|support|ai-powered|ai-based)[ -])*` + `(ai|a\.i\.|artificial intelligence|(?:large )?language model|llm|assistant|chat ?bot|bot|ai (?:language )?model|ai system|` +
		`computer program|chatgpt|gpt[\d.-]*|simulated (?:user|customer|client|person|human)|simulation)` + behind,
	before + `as an? (?:(?:ai|virtual|large|digital)[ -])*` +
		`(ai|a\.i\.|artificial intelligence|language model|assistant|chatbot|model|simulated (?:user|customer))` +
		`(?: (?:developed|created|trained|made|built|designed) by [^,.!?]{1,40})?,? (?:i|my)(?:$|[^\p{L}])`,
	before + `(?:i am|i'm|im) (?:just |only )?(role-?playing|simulating|pretending to be|playing(?: the (?:role|part) of)?|acting as) ` +
		`(?:an? |the |your )?(?:\p{L}+ )?(?:user|customer|client|persona|human)` + behind,
	before + `my (?:role|job|task|purpose) (?:here )?is to (simulate|play|act as) (?:an? |the )?(?:\p{L}+ )?` +
		`(?:user|customer|client|persona|human)` + behind,
}

var claimPatterns = sync.OnceValue(func() []*regexp.Regexp {
	patterns := make([]*regexp.Regexp, len(claims))
	for i, c := range claims {
		patterns[i] = regexp.MustCompile(c)
	}
	return patterns
})

// brokenCharacter returns the words with which a message claims to come from a model; nothing when it does not. What
// the persona itself is called makes no such claim: an assistant to a manager may say so.
func brokenCharacter(said string, persona []word) string {
	said = plain(said)
	for _, p := range claimPatterns() {
		for _, m := range p.FindAllStringSubmatch(said, 20) {
			if !contains(persona, words(m[1], false)) {
				return strings.Trim(m[0], " .,;:!?")
			}
		}
	}
	return ""
}
