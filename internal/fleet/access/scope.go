// Package access says who may do what on a server: tokens with their scopes, who a request is from, and how many
// requests it may make. It knows nothing of HTTP.
package access

import (
	"fmt"
	"slices"
	"strings"
)

// Scope is a kind of request that a token opens.
type Scope string

// The scopes. Run opens what Read opens, too, and Admin opens everything.
const (
	Read  Scope = "read"
	Run   Scope = "run"
	Test  Scope = "test"
	Admin Scope = "admin"
)

// all are the scopes in the order in which they are shown.
var all = [...]Scope{Read, Run, Test, Admin}

// Scopes are those of a token. The zero value opens nothing. It is not changed once made.
type Scopes []Scope

// Open reports whether one of the scopes opens what needs a scope. An unknown scope is opened by Admin only.
func (s Scopes) Open(needed Scope) bool {
	return slices.Contains(s, Admin) || needed != "" && slices.Contains(s, needed) ||
		needed == Read && slices.Contains(s, Run)
}

// ParseScopes reads the names of scopes and returns each once, in their own order. It refuses an unknown name, and a
// list without one.
func ParseScopes(names []string) (Scopes, error) {
	var found Scopes
	for _, scope := range all {
		if slices.Contains(names, string(scope)) {
			found = append(found, scope)
		}
	}
	for _, name := range names {
		if !slices.Contains(all[:], Scope(name)) {
			return nil, fmt.Errorf("there is no scope %q: use %s", shortened(name), Scopes(all[:]))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("a token needs a scope: use %s", Scopes(all[:]))
	}
	return found, nil
}

// String lists the scopes.
func (s Scopes) String() string { return strings.Join(s.names(), ", ") }

func (s Scopes) names() []string {
	names := make([]string, len(s))
	for i, scope := range s {
		names[i] = string(scope)
	}
	return names
}

// shortened returns the beginning of a text that an error quotes.
func shortened(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
