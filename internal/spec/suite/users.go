package suite

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// namedUser is one of a test's users with what it adds to the id of the test.
type namedUser struct {
	name string
	user *User
}

// maxUsers bounds the tests that the users of one test make.
const maxUsers = 10_000

// namedUserKeys are the keys of one of several users.
type namedUserKeys struct {
	userKeys
	Name string `key:"name" notblank:"true" doc:"added to the id of the test (u1, u2, …)"`
}

// readUsers reads a list of users, or personas and goals of which each persona is combined with each goal.
func (l *loader) readUsers(n source.Node, written int, vars source.Value) []namedUser {
	var users []namedUser
	switch {
	case n.Kind == source.Map:
		users = l.combined(n, written, vars)
	case n.Kind == source.List && len(n.Items) == 0:
		n.Report("add a user: `- goal: …`", "the list of users is empty")
	default:
		for i, item := range n.List() {
			users = append(users, l.namedUser(item, fmt.Sprintf("u%d", i+1), written, vars))
		}
	}
	return users
}

func (l *loader) namedUser(n source.Node, name string, written int, vars source.Value) namedUser {
	var keys namedUserKeys
	source.Decode(n, &keys)
	named := namedUser{cmp.Or(keys.Name, name), l.user(keys.userKeys, vars)}
	checkUser(n, n, named.user, written)
	return named
}

// usersKeys are the keys of users whose personas and goals are combined.
type usersKeys struct {
	userKeys
	Personas source.Node `key:"personas" schema:"user_parts"`
	Goals    source.Node `key:"goals" schema:"user_parts"`
}

// combined reads {personas, goals, …}: a user for each persona with each goal, who share the other keys. One of the two
// lists may be missing.
func (l *loader) combined(n source.Node, written int, vars source.Value) []namedUser {
	var keys usersKeys
	source.Decode(n, &keys)
	shared := l.user(keys.userKeys, vars)
	var personas, goals []part
	if n.Has("personas") {
		personas = readParts(keys.Personas, "p")
	}
	if n.Has("goals") {
		goals = readParts(keys.Goals, "g")
	}
	for _, key := range []string{"persona", "goal"} {
		if n.Has(key) && n.Has(key+"s") {
			n.Field(key).Report("keep one of the two", "%s stands beside %ss", key, key)
		}
	}
	if !n.Has("personas") && !n.Has("goals") {
		n.Report("add `personas:` or `goals:` with a list, or write a list of users; a single one is `user:`",
			"users needs personas or goals")
		return nil
	}
	if len(personas)*len(goals) > maxUsers {
		n.Report("shorten one of the lists", "%d personas with %d goals make more than %d tests", len(personas),
			len(goals), maxUsers)
		return nil
	}
	if personas == nil {
		personas = []part{{text: shared.Persona}}
	}
	if goals == nil {
		goals = []part{{text: shared.Goal}}
	}
	checkUser(n, n, &User{Goal: "any", MaxTurns: shared.MaxTurns}, written)
	var users []namedUser
	for _, p := range personas {
		for _, g := range goals {
			u := *shared
			u.Persona, u.Goal = p.text, g.text
			name := p.name + "-" + g.name
			if p.name == "" || g.name == "" {
				name = p.name + g.name
			}
			users = append(users, namedUser{name, &u})
		}
	}
	return users
}

// part is a persona or a goal.
type part struct{ name, text string }

// partKeys are the keys of a persona or a goal.
type partKeys struct {
	Name string `key:"name" notblank:"true"`
	Text string `key:"text" required:"there is no text" notblank:"true"`
}

// readParts reads texts and {name, text}; those without a name are numbered behind the letter.
func readParts(n source.Node, letter string) []part {
	if n.Kind == source.List && len(n.Items) == 0 {
		n.Report("add a text, or {name, text}", "the list is empty")
	}
	parts := []part{}
	for i, item := range n.List() {
		p := part{name: fmt.Sprintf("%s%d", letter, i+1)}
		if item.Kind == source.Map {
			var keys partKeys
			source.Decode(item, &keys)
			p.name, p.text = cmp.Or(keys.Name, p.name), keys.Text
		} else {
			p.text = textOf(item, "write the text")
		}
		parts = append(parts, p)
	}
	return parts
}

// entry reads the tests that one entry of a suite makes: one, or one for each of its users, who are then one cluster.
func (l *loader) entry(n source.Node, s *Suite) []*Test {
	t := l.test(n, s)
	users := t.users
	t.Cluster = cmp.Or(t.Cluster, l.rowsOf(n.File()))
	if len(users) > 0 {
		t.Cluster = cmp.Or(t.Cluster, t.ID)
	}
	t.users = nil
	if len(users) == 0 {
		return []*Test{t}
	}
	tests := make([]*Test, 0, len(users))
	for _, u := range users {
		one := *t
		one.ID, one.User = t.ID+"/"+u.name, u.user
		tests = append(tests, &one)
	}
	return tests
}

// distinct reports users of one test that have the same name, and returns the others.
func distinct(n source.Node, users []namedUser) []namedUser {
	seen := map[string]bool{}
	return slices.DeleteFunc(users, func(u namedUser) bool {
		if seen[u.name] {
			n.Report("give each a name of its own", "two users are called %q", u.name)
			return true
		}
		seen[u.name] = true
		return false
	})
}
