package user

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// The faults of a simulated user. A message with one of them does not reach the agent, but for the last two.
const (
	LeaksInstructions = "leaks_instructions"
	SpeaksForAgent    = "speaks_for_agent"
	BreaksCharacter   = "breaks_character"
	Empty             = "empty"
	// ContradictsFact is a value of the same shape in place of a fact's, InventsIdentifier one that nothing gave.
	ContradictsFact   = "contradicts_fact"
	InventsIdentifier = "invents_identifier"
	SwapsRoles        = "swaps_roles"
	StageDirections   = "stage_directions"
	MachineText       = "machine_text"
	// GoodbyeWithoutEnd is a second farewell in a row.
	GoodbyeWithoutEnd = "goodbye_without_end"
	Repeats           = "repeats"
	StopsEarly        = "stops_early"
)

// leak is how many words in a row of the instructions are a leak.
const leak = 8

// rules is what a user must not say.
type rules struct {
	secret []secretText
	// persona is who the user may say that it is.
	persona []word
	// part has the texts of the test.
	part known
}

// secretText is a part of the instructions that the agent must not hear.
type secretText struct {
	name  string
	words []word
}

func rulesOf(u *suite.User) rules {
	r := rules{persona: words(u.Persona, false), part: known{facts: u.Facts}}
	r.part.texts = append([]string{u.Persona, u.Goal, u.Style, u.Opening}, u.Stop...)
	for _, f := range u.Facts {
		r.part.texts = append(r.part.texts, f.Value)
	}
	secret := func(name, text string) { r.secret = append(r.secret, secretText{name, words(text, false)}) }
	for _, rule := range append([]string{roleRule, factsRule, closeRules, stopRule}, u.Stop...) {
		secret("its rules", rule)
	}
	secret("its persona", u.Persona)
	secret("its style", u.Style)
	return r
}

// broken returns the first fault, in the order of the table, for which a message must not reach the agent, and why; an
// empty code for none.
func (r rules) broken(said string, end bool, talk []chat.Message) (code, why string) {
	if said == "" {
		if end {
			return "", ""
		}
		return Empty, "says nothing"
	}
	spoken := words(said, false)
	for _, secret := range r.secret {
		if weight, run := longestRun(spoken, secret.words); weight >= leak {
			return LeaksInstructions, fmt.Sprintf("says %q of %s", excerpt(joined(run)), secret.name)
		}
	}
	if label := speaker(said); label != "" {
		return SpeaksForAgent, fmt.Sprintf("begins a line with the label %q", excerpt(label))
	}
	if claim := brokenCharacter(said, r.persona); claim != "" {
		return BreaksCharacter, fmt.Sprintf("says %q", excerpt(claim))
	}
	may := known{r.part.facts, slices.Clip(r.part.texts)}
	for _, m := range talk {
		may.texts = append(may.texts, m.Content.String())
	}
	if text := machineText(said); text != "" &&
		!slices.ContainsFunc(may.texts, func(s string) bool { return strings.Contains(s, text) }) {
		return MachineText, fmt.Sprintf("writes %q", excerpt(text))
	}
	if why := may.contradiction(said); why != "" {
		return ContradictsFact, why
	}
	if why := may.invented(said); why != "" {
		return InventsIdentifier, why
	}
	if words := agentWords().FindString(plain(said)); words != "" {
		return SwapsRoles, fmt.Sprintf("offers help: %q", excerpt(strings.TrimSpace(words)))
	}
	if text := direction(said); text != "" {
		return StageDirections, fmt.Sprintf("writes %q", excerpt(text))
	}
	if !end && leaves(said) && leaves(lastSaid(talk)) {
		return GoodbyeWithoutEnd, fmt.Sprintf("takes leave again with %q", excerpt(said))
	}
	return "", ""
}

// repeated reports whether the user has said the message before, case and punctuation aside.
func repeated(said string, talk []chat.Message) bool {
	key := repeatKey(said)
	for _, m := range talk {
		if m.Role == chat.User && repeatKey(m.Content.String()) == key {
			return true
		}
	}
	return false
}

// repeatKey is equal for messages that differ in case and punctuation only. A message of punctuation alone is itself.
func repeatKey(said string) string {
	if key := joined(words(said, true)); key != "" {
		return key
	}
	return "\x00" + plain(said)
}
