package site

import (
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// ctaKeys are the keys of a call to action.
type ctaKeys struct {
	*CTA
	FormFields source.Node `key:"form_fields" schema:"form_fields" doc:"query parameters by the fields that fill them"`
}

// DecodeNode reads a call to action.
func (c *CTA) DecodeNode(n source.Node) {
	keys := ctaKeys{CTA: c}
	source.Decode(n, &keys)
	c.URL, c.Label = webAddress(n.Field("url")), shortText(n.Field("label"), maxTitle)
	for field, parameter := range keys.FormFields.Entries() {
		c.FormFields = append(c.FormFields, FormField{field, formParameter(parameter, c.FormFields)})
		if !identifiers().MatchString(field) {
			parameter.Report("use a letter first, then letters, digits, _ . and -", "%q is not an id", clip(field))
		}
	}
}

// formParameter returns the parameter of an address; two values cannot share one.
func formParameter(n source.Node, taken []FormField) string {
	name := nonBlank(n)
	for _, other := range taken {
		if other.Parameter == name && name != "" {
			n.Report("give each value a parameter of its own", "the parameter %q already carries %s", clip(name),
				other.Field)
		}
	}
	return name
}

// webAddress returns an address of the web. Addresses that carry a password would give it away.
func webAddress(n source.Node) string {
	text, _ := scalar(n)
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		n.Report("write it whole, such as https://acme.example/demo", "%q is not an http or https address", clip(text))
	case u.User != nil:
		n.Report("remove what stands before the @; secrets belong in the environment",
			"the address holds a user name or password")
	}
	return text
}

// DecodeNode reads a name, or {id, type}. Without a type, the name decides the type.
func (f *BookingField) DecodeNode(n source.Node) {
	if n.Kind == source.String {
		f.ID = identifier(n)
	} else {
		source.Decode(n, f)
		f.ID = identifier(n.Field("id"))
	}
	if f.Type == "" {
		f.Type = typeOf(f.ID)
	}
}

// typeWords are the parts of a name that tell its type.
var typeWords = map[FieldType][]string{
	Email: {"email", "mail", "courriel", "correo"},
	Phone: {"phone", "telephone", "tel", "mobile", "telefon", "telefono", "portable"},
	Date:  {"date", "day", "datum", "fecha", "data"},
}

func typeOf(id string) FieldType {
	parts := strings.FieldsFunc(strings.ToLower(id), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	for _, kind := range []FieldType{Email, Phone, Date} {
		if slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(typeWords[kind], part) }) {
			return kind
		}
	}
	return Text
}
