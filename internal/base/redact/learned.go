package redact

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

const (
	// leastNamed is the least length of a value whose variable is named. Shorter values would match ordinary words.
	leastNamed = 4
	// leastGuessed is that of query values, and of variables whose names only look like those of secrets.
	leastGuessed = 8
)

// Names in masks of secrets that no variable holds.
const (
	passwordName = "URL_PASSWORD"
	queryName    = "URL_QUERY"
)

// own are the variables with keys of the program's own.
var own = []string{"OPENAI_API_KEY", "REHEARSE_TOKEN", "REHEARSE_TARGET_KEY"}

const secretWord = `(?:KEY|TOKEN|SECRET|PASS|PASSWORD|PASSWD|PAT|AUTH|CREDENTIAL|DSN)S?`

var (
	// secretName matches the name of a variable that looks like a secret: by a part between underscores, or by its end.
	secretName = text.Regexp(`(?i)(?:^|_)` + secretWord + `_|` + secretWord + `$`)
	// shown finds ${{ NAME }} in suites and configuration, and ${NAME} in flows.
	shown = text.Regexp(`\$\{(?:\{\s*([A-Za-z_]\w*)\s*(?::-[^}]*)?\}\}|([A-Za-z_]\w*)\})`)
	// authority finds the user info of addresses, httpAddress whole addresses with a query.
	authority   = text.Regexp(`[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#"'<>]*)@`)
	httpAddress = text.Regexp(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>?]*\?([^\s"'<>#]+)`)
)

// placeholder matches what is no value yet: a placeholder, or a variable, whose value is learned with its name.
var placeholder = text.Regexp(`^\$?\{\{[^{}]*\}\}$`)

// isSecretName reports whether the name of a variable looks like that of a secret.
func isSecretName(name string) bool { return secretName().MatchString(name) }

// secret is a value and the name in its mask.
type secret struct {
	value, name string
	// encoded is true of what is secret in base64 only.
	encoded bool
}

// learned is what a Redactor knows of its environment and of what was read.
type learned struct {
	environ []string
	values  map[string]string
	// named are variables that a key such as api_key_env names, shown those of ${{ NAME }}, public those that may be
	// shown.
	named, shown, public map[string]bool
	// parts are secrets inside of addresses, by value with the name in the mask.
	parts map[string]string
	// basic are users with their passwords as HTTP sends them, in base64: USER:PASSWORD, with the name in the mask.
	basic map[string]string
}

func newLearned(environ []string) learned {
	l := learned{
		environ: slices.Clone(environ), values: map[string]string{}, named: map[string]bool{}, shown: map[string]bool{},
		public: map[string]bool{}, parts: map[string]string{}, basic: map[string]string{},
	}
	for _, name := range own {
		l.named[name] = true
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		l.values[name] = value
		l.address(value, name, true)
	}
	return l
}

// secret reports whether the value of a variable is secret, and how long it is at least to be masked.
func (l *learned) secret(name string) (least int, ok bool) {
	switch {
	case l.named[name]:
		return leastNamed, true
	case l.public[name]:
		return 0, false
	case l.shown[name]:
		return leastNamed, true
	}
	return leastGuessed, isSecretName(name)
}

// secrets returns everything that is to be masked, in a fixed order.
func (l *learned) secrets() []secret {
	var all []secret
	for name, value := range l.values {
		value = strings.TrimSpace(value)
		if least, ok := l.secret(name); ok && len(value) >= least {
			all = append(all, secret{value: value, name: name})
		}
	}
	for value, name := range l.parts {
		all = append(all, secret{value: value, name: name})
	}
	for value, name := range l.basic {
		all = append(all, secret{value, name, true})
	}
	slices.SortFunc(all, func(a, b secret) int {
		return cmp.Or(strings.Compare(a.value, b.value), strings.Compare(a.name, b.name))
	})
	return all
}

// address learns the passwords of the addresses in a text and, if asked, the values of their queries. name is that of
// the variable with the text, or empty.
func (l *learned) address(text, name string, queries bool) (changed bool) {
	if !strings.Contains(text, "://") {
		return false
	}
	learn := func(value, fallback string, least int) {
		if _, known := l.parts[value]; !known && len(value) >= least && !placeholder().MatchString(value) {
			l.parts[value], changed = cmp.Or(name, fallback), true
		}
	}
	for _, found := range authority().FindAllStringSubmatch(text, -1) {
		user, password, _ := strings.Cut(found[1], ":")
		user, password = unescaped(user, url.PathUnescape), unescaped(password, url.PathUnescape)
		learn(password, passwordName, leastNamed)
		if !strings.HasPrefix(strings.ToLower(found[0]), "http") {
			continue
		}
		if password == "" || isToken(user) {
			learn(user, passwordName, leastGuessed)
		}
		pair := user + ":" + password
		if _, known := l.basic[pair]; !known && (password != "" || len(user) >= leastGuessed) {
			l.basic[pair], changed = cmp.Or(name, passwordName), true
		}
	}
	for _, found := range httpAddress().FindAllStringSubmatch(text, -1) {
		isHTTP := strings.HasPrefix(strings.ToLower(found[0]), "http")
		for pair := range strings.FieldsFuncSeq(found[1], func(r rune) bool { return r == '&' || r == ';' }) {
			key, value, _ := strings.Cut(pair, "=")
			switch {
			case !isHTTP && isSecretName(key): // a database takes its password there, too
				learn(unescaped(value, url.QueryUnescape), passwordName, leastNamed)
			case isHTTP && queries:
				learn(unescaped(value, url.QueryUnescape), queryName, leastGuessed)
			}
		}
	}
	return changed
}

// leastToken is the least length of a token. The name of a person or an account is rarely as long and has rarely
// digits.
const leastToken = 16

// isToken reports whether the user of an address looks like a token, as some services have it beside a password that
// says nothing.
func isToken(user string) bool {
	return len(user) >= leastToken && strings.ContainsAny(user, "0123456789") &&
		strings.ContainsFunc(user, unicode.IsLetter)
}

func unescaped(text string, by func(string) (string, error)) string {
	if plain, err := by(text); err == nil {
		return plain
	}
	return text
}

// Named learns variables that configuration or the command line names for a secret.
func (r *Redactor) Named(names ...string) {
	r.learn(func(l *learned) bool { return add(l.named, names) })
}

// Variables learns variables that are as good as those of the environment, in the form of os.Environ.
func (r *Redactor) Variables(environ ...string) {
	r.learn(func(l *learned) bool {
		for _, entry := range environ {
			name, value, _ := strings.Cut(entry, "=")
			l.environ, l.values[name] = append(l.environ, entry), value
			l.address(value, name, true)
		}
		return len(environ) > 0
	})
}

// Shown learns variables whose values a text takes in with ${{ NAME }}.
func (r *Redactor) Shown(names ...string) {
	r.learn(func(l *learned) bool { return add(l.shown, names) })
}

// Public learns variables whose values may be shown, although a text takes them in or their names look like those of
// secrets.
func (r *Redactor) Public(names ...string) {
	r.learn(func(l *learned) bool { return add(l.public, names) })
}

// Address learns the passwords and the query values of the addresses in a text.
func (r *Redactor) Address(text string) {
	r.learn(func(l *learned) bool { return l.address(text, "", true) })
}

// Credential learns a secret that no variable holds, with the name for its mask.
func (r *Redactor) Credential(name, value string) {
	r.learn(func(l *learned) bool {
		_, known := l.parts[value]
		if known || len(value) < leastNamed {
			return false
		}
		l.parts[value] = name
		return true
	})
}

func add(to map[string]bool, names []string) (changed bool) {
	for _, name := range names {
		changed = changed || !to[name]
		to[name] = true
	}
	return changed
}
