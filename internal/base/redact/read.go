package redact

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Read learns what a document names: the variables of keys that end in _env, those of ${{ NAME }} and ${NAME}, the
// passwords of addresses, and the query values of what is an address as a whole or stands under a key such as url.
func (r *Redactor) Read(v source.Value) {
	r.learn(func(l *learned) bool { return l.read(v, "") })
}

// read learns what a value names that stands under a key.
func (l *learned) read(v source.Value, key string) (changed bool) {
	if v.Kind == source.String {
		if strings.HasSuffix(key, "_env") && key != "public_env" {
			changed = add(l.named, []string{v.Scalar})
		}
		if strings.Contains(v.Scalar, "${") {
			for _, found := range shown().FindAllStringSubmatch(v.Scalar, -1) {
				changed = add(l.shown, []string{cmp.Or(found[1], found[2])}) || changed
			}
		}
		return l.address(v.Scalar, "", isAddressKey(key)) || changed
	}
	for i := range v.Items {
		changed = l.read(v.Items[i], key) || changed
	}
	for i := range v.Fields {
		changed = l.read(v.Fields[i].Value, v.Fields[i].Name) || changed
	}
	return l.literal(key, v.Fields) || changed
}

// isAddressKey reports whether addresses stand under a key. What people say stands under others, and may have links in
// it.
func isAddressKey(key string) bool {
	key = strings.ToLower(key)
	return slices.Contains([]string{
		"url", "store", "sites", "target", "targets", "model", "endpoint", "address",
	}, key) || strings.HasSuffix(key, "_url")
}

// Environ returns the entries of the environment that hold no secret, and those of the variables that a program's own
// configuration names: under a key that ends in _env, or by having their value in it.
func (r *Redactor) Environ(config source.Value) []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := learned{
		values: r.learned.values, named: map[string]bool{}, shown: map[string]bool{}, parts: map[string]string{},
		basic: map[string]string{},
	}
	of.read(config, "")
	texts := textsOf(config, nil)
	return slices.DeleteFunc(slices.Clone(r.learned.environ), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		inside := func(text string) bool { return len(value) >= leastNamed && strings.Contains(text, value) }
		return !of.named[name] && !of.shown[name] && !slices.ContainsFunc(texts, inside) &&
			r.learned.holdsSecret(name, value)
	})
}

// textsOf appends the texts of a value.
func textsOf(v source.Value, texts []string) []string {
	if v.Kind == source.String {
		return append(texts, v.Scalar)
	}
	for i := range v.Items {
		texts = textsOf(v.Items[i], texts)
	}
	for i := range v.Fields {
		texts = textsOf(v.Fields[i].Value, texts)
	}
	return texts
}

// holdsSecret reports whether a variable is secret, or has a credential inside of its value.
func (l *learned) holdsSecret(name, value string) bool {
	if _, ok := l.secret(name); ok {
		return true
	}
	inside := func(secret string) bool {
		return secret == value || len(secret) >= leastGuessed && strings.Contains(value, secret)
	}
	for part := range l.parts {
		if inside(part) {
			return true
		}
	}
	own := learned{parts: map[string]string{}, basic: map[string]string{}}
	if own.address(value, name, true) {
		return true
	}
	for other := range maps.Keys(l.values) {
		least, ok := l.secret(other)
		if credential := ok && (l.named[other] || !l.shown[other]); credential && len(l.values[other]) >= least &&
			inside(l.values[other]) {
			return true
		}
	}
	return false
}
