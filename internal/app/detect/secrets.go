package detect

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target/curl"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Variable is a variable of the environment that takes the place of a credential.
type Variable struct {
	Name string `json:"name"`
	// Of says whose value it is, such as Authorization.
	Of string `json:"of"`
}

// credential is a secret of what was pasted, and the variable that is written for it.
type credential struct {
	Variable
	value string
}

// address returns the field with an address. Its passwords and keys are credentials.
func (p *probing) address(address string) source.Field {
	p.setup.Secrets().Address(address)
	if request, err := curl.Parse("curl '" + strings.ReplaceAll(address, "'", "%27") + "'"); err == nil {
		p.learn(request)
	}
	return field("url", address)
}

// notName matches what cannot stand in the name of a variable.
var notName = text.Regexp(`[^A-Z0-9]+`)

// learn gives each credential of a request a variable: AGENT_TOKEN, and by their names those that follow.
func (p *probing) learn(r curl.Request) {
	secrets := slices.Clone(r.Secrets)
	if parsed, err := url.Parse(r.URL); err == nil && parsed.User != nil {
		if password, ok := parsed.User.Password(); ok {
			secrets = append(secrets, curl.Pair{Name: "curl password", Value: password})
		}
	}
	for _, s := range secrets {
		of, name := strings.TrimPrefix(s.Name, "curl "), "AGENT_TOKEN"
		if len(p.credentials) > 0 {
			name = "AGENT_" + strings.Trim(notName().ReplaceAllString(strings.ToUpper(of), "_"), "_")
		}
		taken := func(name string) bool {
			return slices.ContainsFunc(p.credentials, func(c credential) bool { return c.Name == name })
		}
		for i, base := 2, name; taken(name); i++ {
			name = fmt.Sprintf("%s_%d", base, i)
		}
		if !slices.ContainsFunc(p.credentials, func(c credential) bool { return c.value == s.Value }) {
			if plain, err := base64.StdEncoding.DecodeString(s.Value); err == nil &&
				strings.EqualFold(of, "Authorization") && bytes.ContainsRune(plain, ':') {
				of += ", which is USER:PASSWORD in base64"
			}
			p.credentials = append(p.credentials, credential{Variable{name, of}, s.Value})
		}
	}
}

// masked returns the found target with variables in place of credentials, and notes which are needed.
func (p *probing) masked(f *Found) source.Value {
	ordered := slices.Clone(p.credentials)
	slices.SortStableFunc(ordered, func(a, b credential) int { return cmp.Compare(len(b.value), len(a.value)) })
	used := map[string]bool{}
	v := masked(f.Target, "", ordered, used)
	for _, c := range p.credentials {
		if used[c.Name] {
			f.Variables = append(f.Variables, c.Variable)
		}
		if len(c.value) >= leastSecret {
			f.secrets = append(f.secrets, c.value)
		}
	}
	return v
}

// leastSecret is how long a text is that is taken for a credential wherever it stands. A shorter one is, where it is
// the whole value of a field.
const leastSecret = 6

func masked(v source.Value, name string, credentials []credential, used map[string]bool) source.Value {
	if v.Kind == source.String {
		for _, c := range credentials {
			for _, form := range []string{c.value, url.QueryEscape(c.value), url.PathEscape(c.value)} {
				if len(form) < leastSecret && v.Scalar != form && !strings.EqualFold(name, "Authorization") &&
					!strings.EqualFold(name, "Cookie") {
					continue
				}
				if strings.Contains(v.Scalar, form) {
					v.Scalar = strings.ReplaceAll(v.Scalar, form, "${{ "+c.Name+" }}")
					used[c.Name] = true
				}
			}
		}
		return v
	}
	v.Fields, v.Items = slices.Clone(v.Fields), slices.Clone(v.Items)
	for i, f := range v.Fields {
		v.Fields[i].Value = masked(f.Value, f.Name, credentials, used)
	}
	for i := range v.Items {
		v.Items[i] = masked(v.Items[i], name, credentials, used)
	}
	return v
}
