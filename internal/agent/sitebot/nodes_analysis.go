package sitebot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/prompt"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// Bounds of what the analysis nodes keep.
const (
	classifierMessages = 6
	maxIntents         = 20
	maxInterest        = 100
)

var intents = []Intent{Learn, Context, Support, OffTopic, Other, Book, StopBooking, Hack}

// classify asks what the visitor wants.
func (b *Bot) classify(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	field := ""
	if s.Booking.Active {
		field = s.Booking.Field
	}
	var reply struct {
		Intent     Intent   `json:"intent"`
		Confidence *float64 `json:"confidence"`
	}
	messages := conversation(&s, classifierMessages)
	if err := b.ask(ctx, t.models.Fast, "intent_classifier", prompt.Vars{Field: field}, messages, &reply); err != nil {
		return nil, err
	}
	reply.Intent = Intent(strings.ToUpper(strings.TrimSpace(string(reply.Intent))))
	if !slices.Contains(intents, reply.Intent) {
		return nil, errors.New("the classifier named an unknown intent")
	}
	confidence := 1.0 // of a model that names an intent and says no more
	if reply.Confidence != nil {
		confidence = min(max(*reply.Confidence, 0), 1)
	}
	return update{intentsColumn.Set(nextIntent(&s, reply.Intent, confidence))}, nil
}

// assumeLearning stands in for a classifier that failed.
func assumeLearning(s State, _ error) update {
	return update{intentsColumn.Set(nextIntent(&s, Learn, 0))}
}

// nextIntent is what this message adds to the intents. Who says yes to a demo that was just proposed wants to book,
// whatever a classifier makes of the one word.
func nextIntent(s *State, intent Intent, confidence float64) Intents {
	if is(s.Dialog.DemoProposedLastTurn) && site.Accepts(s.Input) {
		intent, confidence = Book, 1
	}
	history := append(slices.Clone(s.Intents.History), intent)
	return Intents{Intent: intent, Confidence: confidence, History: history[max(0, len(history)-maxIntents):]}
}

// detect looks for signs of interest in the visitor's new message or, when the conversation is unseen, in all of it.
func (b *Bot) detect(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	signals := t.Qualification.InterestSignals.Signals
	if len(signals) == 0 {
		return update{interestColumn.Set(scored(&s, nil, nil))}, nil
	}
	var reply struct {
		Signals []string `json:"signals"`
	}
	messages := conversation(&s, 0)
	if s.Interest.unseen() {
		messages = conversation(&s, all).ofVisitor()
	}
	vars := prompt.Vars{Detected: s.Interest.Signals, Dialog: describeDialog(&s)}
	if err := b.ask(ctx, t.models.Default, "interest_signals_detector", vars, messages, &reply); err != nil {
		return nil, err
	}
	return update{interestColumn.Set(scored(&s, signals, reply.Signals))}, nil
}

// unseen reports whether no turn has scored the conversation: it was injected without its score.
func (i *Interest) unseen() bool { return !i.Seen && i.Cumulative == 0 && len(i.Signals) == 0 }

// scored adds the weights of signals that are new. A demo that was just proposed begins the score anew.
func scored(s *State, known []site.Signal, named []string) Interest {
	next := Interest{
		Cumulative: s.Interest.Cumulative, Signals: append([]string{}, s.Interest.Signals...), New: []string{},
		Seen: true,
	}
	if is(s.Dialog.DemoProposedLastTurn) {
		next.Cumulative = 0
	}
	for _, signal := range known {
		if slices.Contains(named, signal.ID) && !slices.Contains(next.Signals, signal.ID) {
			next.Cumulative += signal.Weight
			next.Signals = append(next.Signals, signal.ID)
			next.New = append(next.New, signal.ID)
		}
	}
	next.Cumulative = min(max(next.Cumulative, 0), maxInterest)
	return next
}

// selectSkills asks how the answer should end.
func (b *Bot) selectSkills(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	var reply struct {
		Skills  []Skill           `json:"skills"`
		Reasons map[Skill]*string `json:"reasons"`
	}
	vars := prompt.Vars{
		Turn: s.SkillTurn(), Detected: s.Interest.Signals, Dialog: describeDialog(&s), Collected: s.Profiling.Collected,
	}
	if err := b.ask(ctx, t.models.Default, "skill_selector", vars, conversation(&s, all), &reply); err != nil {
		return nil, err
	}
	proposed := proposals(reply.Skills)
	reasons := map[Skill]string{}
	for _, k := range proposed {
		if why := reply.Reasons[k]; why != nil {
			reasons[k] = *why
		}
	}
	return update{skillsColumn.Set(&Skills{Proposed: proposed, Reasons: reasons, Used: used(&s)})}, nil
}

// proposeNothing stands in for a selector that failed.
func proposeNothing(s State, _ error) update {
	return update{skillsColumn.Set(&Skills{Proposed: []Skill{}, Reasons: map[Skill]string{}, Used: used(&s)})}
}

func used(s *State) map[Skill]int {
	kept := map[Skill]int{}
	if s.Skills != nil {
		maps.Copy(kept, s.Skills.Used)
	}
	return kept
}

// describeDialog says in words what the conversation has been through.
func describeDialog(s *State) string {
	d := s.Dialog
	var said []string
	note := func(when bool, words string) {
		if when {
			said = append(said, words)
		}
	}
	note(is(d.DemoProposedLastTurn), "a demo was proposed in the turn before")
	note(d.DemoProposedEver && !is(d.DemoProposedLastTurn), "a demo was proposed earlier")
	note(d.DemoDeclined, "the visitor declined a demo")
	note(is(d.EmailRequestedLastTurn), "an e-mail address was asked for in the turn before")
	note(d.RequestCount > 0, fmt.Sprintf("an e-mail address was asked for %d times", d.RequestCount))
	note(d.CapturedEmail != nil, "the visitor gave an e-mail address")
	note(s.Booking.Active, "a booking is under way")
	return strings.Join(said, "; ")
}

// Limits of the abuse gate.
const (
	maxHacks   = 2
	maxRepeats = 3
	// MaxInput is how many characters a message may have.
	MaxInput = 15_000
)

// Block is why a message is not answered.
type Block string

// The blocks, in their order.
const (
	NotBlocked Block = ""
	BlockHack  Block = "hack"   // for the rest of the session
	BlockSpam  Block = "spam"   // until another message comes
	BlockLong  Block = "length" // this message
)

// repeats returns how often in a row the visitor has now sent the same message after its first time.
func repeats(s *State, input string) int {
	if s.LastInput == fingerprint(input) {
		return s.SpamCount + 1
	}
	return 0
}

// fingerprint is what is kept of a message to know it again: a hash, and not the message.
func fingerprint(input string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(input))))
	return hex.EncodeToString(sum[:])
}

// gate says whether a message is blocked before any model is asked.
func gate(s *State, input string, spam int) Block {
	switch {
	case s.HackCount >= maxHacks:
		return BlockHack
	case spam >= maxRepeats:
		return BlockSpam
	case utf8.RuneCountInString(input) > MaxInput:
		return BlockLong
	}
	return NotBlocked
}

// extract takes the visitor's message as the answer to the question of the turn before.
func (b *Bot) extract(ctx context.Context, s State) (update, error) {
	t := turnOf(ctx)
	if !t.extracts(&s) {
		return nil, nil
	}
	field, _ := t.nextField(&s)
	collected, extracted := map[string]string{field.ID: site.Declined}, true
	if !site.Declines(s.Input) {
		var reply struct {
			Value  *looseText           `json:"value"`
			Values map[string]looseText `json:"values"`
		}
		vars := prompt.Vars{Field: field.ID, Collected: s.Profiling.Collected}
		if err := b.ask(ctx, t.models.Default, "early_profile_extractor", vars,
			conversation(&s, 1), &reply); err != nil {
			return nil, err
		}
		collected = t.further(&s, field.ID, reply.Values)
		if extracted = reply.Value != nil || refuses(s.Input); extracted { // else the message was about something else
			collected[field.ID] = answerOf(reply.Value)
		}
	}
	return update{profilingColumn.Set(Profiling{Collected: collected}), extractedColumn.Set(extracted)}, nil
}

// further returns the answers that a message gives to questions that were not asked yet. What is collected is left to
// corrections.
func (t *turn) further(s *State, asked string, said map[string]looseText) map[string]string {
	values := map[string]string{}
	for _, f := range t.fields {
		if answer := string(said[f.ID]); f.ID != asked && strings.TrimSpace(s.Profiling.Collected[f.ID]) == "" &&
			!site.Declines(answer) {
			values[f.ID] = strings.TrimSpace(answer)
		}
	}
	return values
}

// answerOf returns what a field holds after an answer; one that is blank, or a way not to answer, is declined.
func answerOf(said *looseText) string {
	if said == nil || site.Declines(string(*said)) {
		return site.Declined
	}
	return strings.TrimSpace(string(*said))
}

// maxRefusalWords is how long a message may be that is taken for a refusal because of a phrase in it.
const maxRefusalWords = 6

// refuses reports whether a short message begins or ends with a way not to answer a question, such as "skip this one
// please", and asks nothing.
func refuses(message string) bool {
	words := wordsOf(message)
	if question(message) || len(words) > maxRefusalWords {
		return false
	}
	text := strings.Join(words, " ")
	return slices.ContainsFunc(site.RefusalWords(), func(phrase string) bool {
		return strings.HasPrefix(text, phrase+" ") || strings.HasSuffix(text, " "+phrase)
	})
}

// wordsOf returns the words of a text in lower case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '-'
	})
}
