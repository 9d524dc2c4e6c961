package suite

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// User is a user whose messages a model writes. At least one of Persona and Goal is set.
type User struct {
	Persona string
	Goal    string
	// Facts are what the user knows and says only when it matters, in the author's order.
	Facts []Fact
	// Opening is the first message, said word for word; empty lets the model begin.
	Opening string
	Style   string
	// Stop are the ends of the talk that the model looks out for, StopWhen those that code finds in a reply.
	Stop     []string
	StopWhen []Assertion
	// MaxTurns is how many messages the user says at most, those of Test.Turns and the opening included.
	MaxTurns int
	// Model names who plays the user; empty leaves it to the command line and the configuration.
	Model string
	// Seed and Temperature are sent to the model; nil leaves them to its configuration.
	Seed        *int
	Temperature *float64
}

// Fact is something that a user knows. Name is empty for a fact that is a text of its own.
type Fact struct{ Name, Value string }

// DefaultUserTurns and MostUserTurns are what User.MaxTurns is when nobody says otherwise, and at most.
const (
	DefaultUserTurns = 10
	MostUserTurns    = 100
)

// MostTurns returns how many turns the test can have: those that are written, or those that its user may say.
func (t *Test) MostTurns() int {
	if t.User != nil {
		return max(len(t.Turns), t.User.MaxTurns)
	}
	return len(t.Turns)
}

// userKeys are the keys of a user.
type userKeys struct {
	Persona     string      `key:"persona" notblank:"true" doc:"who the user is"`
	Goal        string      `key:"goal" notblank:"true" doc:"what the user wants"`
	Facts       facts       `key:"facts" schema:"user_facts" doc:"what the user knows"`
	Opening     string      `key:"opening" notblank:"true" doc:"the user's first message"`
	Style       string      `key:"style" notblank:"true" doc:"how the user writes"`
	Stop        source.Node `key:"stop" schema:"user_stop"`
	MaxTurns    int         `key:"max_turns" minimum:"1" maximum:"100" doc:"messages of the user (10)"`
	Model       string      `key:"model" notblank:"true" doc:"PROVIDER:MODEL, or a name from rehearse.yaml"`
	Seed        *int        `key:"seed"`
	Temperature *float64    `key:"temperature" minimum:"0" maximum:"2"`
}

// user returns the user with these keys.
func (l *loader) user(k userKeys, vars source.Value) *User {
	u := &User{
		Persona: k.Persona, Goal: k.Goal, Facts: k.Facts, Opening: k.Opening, Style: k.Style, MaxTurns: k.MaxTurns,
		Model: k.Model, Seed: k.Seed, Temperature: k.Temperature,
	}
	if u.MaxTurns == 0 {
		u.MaxTurns = DefaultUserTurns
	}
	if k.Stop.Kind != source.Null {
		l.readStop(k.Stop, u, vars)
	}
	return u
}

// simulated reads who says what comes after the turns.
func (l *loader) simulated(n source.Node, t *Test, vars source.Value) {
	switch {
	case n.Has("user"):
		t.User = l.readUser(n.Field("user"), len(t.Turns), vars)
	case n.Has("users"):
		t.users = distinct(n.Field("users"), l.readUsers(n.Field("users"), len(t.Turns), vars))
	default:
		return
	}
	t.Conversation = t.Conversation || !n.Has("mode")
}

// readUser reads one user; written is how many turns the test has before it.
func (l *loader) readUser(n source.Node, written int, vars source.Value) *User {
	var keys userKeys
	source.Decode(n, &keys)
	u := l.user(keys, vars)
	checkUser(n, n, u, written)
	return u
}

// checkUser reports what a user lacks at n, and too few turns at max_turns of the keys.
func checkUser(n, keys source.Node, u *User, written int) {
	if n.Kind != source.Map && n.Kind != source.String {
		return
	}
	if u.Goal == "" && u.Persona == "" && !keys.Has("goal") && !keys.Has("persona") {
		n.Report("add `goal:` with what the user wants, or `persona:` with who it is",
			"a user needs a goal or a persona")
	}
	if most := u.MaxTurns; written > most {
		at := keys
		if keys.Has("max_turns") {
			at = keys.Field("max_turns")
		}
		at.Report("raise max_turns, or remove turns", "the test has %d turns, and its user may say %d messages in all",
			written, most)
	}
}

// textOf reads a text that must not be blank.
func textOf(n source.Node, hint string) string {
	text := n.Text()
	if (n.Kind == source.String || n.Kind == source.Number || n.Kind == source.Bool) && blank(text) {
		n.Report(hint+", or leave the key out", "the text is empty")
	}
	return text
}

// facts are what a user knows.
type facts []Fact

// DecodeNode reads `name: value` pairs, a list of texts, or one text.
func (f *facts) DecodeNode(n source.Node) {
	if n.Kind != source.Map {
		for item := range n.Each() {
			*f = append(*f, Fact{Value: textOf(item, "write what the user knows")})
		}
		return
	}
	for name, value := range n.Entries() {
		*f = append(*f, Fact{name, textOf(value, "write what the user knows")})
	}
}

// readStop reads texts, which the model looks out for, and assertions, which code holds against each reply.
func (l *loader) readStop(n source.Node, u *User, vars source.Value) {
	for item := range n.Each() {
		if item.Kind != source.Map {
			u.Stop = append(u.Stop, textOf(item, "say what ends the talk"))
			continue
		}
		a := readAssertion(item, l.dir)
		a.Vars = vars
		u.StopWhen = append(u.StopWhen, a)
		if kinds := l.options.Kinds; kinds != nil && a.Type != "" {
			item.Add(kinds.Validate(a))
			if kinds.Judged(a) {
				item.Report("write it as a text for the user's model, or use a type that needs no judge",
					"the assertion %s asks a judge, and stop is decided by code", a.Type)
			}
		}
	}
}

// everyTurn reads the assertions of every turn and adds them to those of the written ones.
func (l *loader) everyTurn(n source.Node, t *Test, vars source.Value) {
	every := l.readAssertions(n, vars)
	for i := range t.Turns {
		t.Turns[i].Assertions = slices.Concat(t.Turns[i].Assertions, every)
	}
	if t.User != nil || len(t.users) > 0 {
		t.EveryTurn = every
	}
}
