package site

import (
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func readCTA(n source.Node, to *CTA) {
	n.Read(map[string]func(source.Node){
		"min_turn": func(n source.Node) { to.MinTurn = n.Int(0) },
		"url":      func(n source.Node) { to.URL = webAddress(n) },
		"label":    func(n source.Node) { to.Label = shortText(n, maxTitle) },
		"form_fields": func(n source.Node) {
			for field, parameter := range n.Entries() {
				to.FormFields = append(to.FormFields, FormField{field, formParameter(parameter, to.FormFields)})
				if !identifiers.MatchString(field) {
					parameter.Report("use a letter first, then letters, digits, _ . and -", "%q is not an id", clip(field))
				}
			}
		},
	})
}

// formParameter returns the parameter of an address; two values cannot share one.
func formParameter(n source.Node, taken []FormField) string {
	name := nonBlank(n)
	for _, other := range taken {
		if other.Parameter == name && name != "" {
			n.Report("give each value a parameter of its own", "the parameter %q already carries %s", clip(name), other.Field)
		}
	}
	return name
}

// webAddress returns an address of the web. Addresses that carry a password would give it away.
func webAddress(n source.Node) string {
	text := nonBlank(n)
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		n.Report("write it whole, such as https://acme.example/demo", "%q is not an http or https address", clip(text))
	case u.User != nil:
		n.Report("remove what stands before the @; secrets belong in the environment", "the address holds a user name or password")
	}
	return text
}

func readBooking(n source.Node, to *Booking) {
	n.Read(map[string]func(source.Node){
		"fields":                 func(n source.Node) { to.Fields = readBookingFields(n) },
		"post_conversion_fields": func(n source.Node) { to.PostConversion = readBookingFields(n) },
	})
	if len(to.Fields) == 0 {
		n.Field("fields").Report("name at least one, such as [email]", "a booking needs a field")
	}
}

func readBookingFields(n source.Node) []BookingField {
	fields := []BookingField{}
	seen := map[string]source.Node{}
	for _, item := range n.List() {
		field := readBookingField(item)
		unique(item, "booking field", field.ID, seen)
		fields = append(fields, field)
	}
	return fields
}

// readBookingField reads a name, or {id, type}. Without a type, the name says what is asked for.
func readBookingField(n source.Node) BookingField {
	if n.Kind == source.String {
		id := identifier(n)
		return BookingField{ID: id, Type: typeOf(id)}
	}
	var f BookingField
	n.Read(map[string]func(source.Node){
		"id": func(n source.Node) { f.ID = identifier(n) },
		"type": func(n source.Node) {
			f.Type = FieldType(n.OneOf(string(Email), string(Phone), string(Date), string(Text)))
		},
	})
	needID(n, "booking field")
	if f.Type == "" {
		f.Type = typeOf(f.ID)
	}
	return f
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

func readGating(n source.Node, to *ContentGating) {
	n.Read(map[string]func(source.Node){
		"enabled": func(n source.Node) { to.Enabled = n.Bool() },
		"asset":   func(n source.Node) { to.Asset = nonBlank(n) },
	})
	if !n.Has("enabled") {
		to.Enabled = to.Asset != ""
	}
}

func readSuggestions(n source.Node, to *Suggestions) {
	n.Read(map[string]func(source.Node){
		"follow_ups": func(n source.Node) { to.FollowUps = n.Bool() },
		"answers":    func(n source.Node) { to.Answers = n.Bool() },
	})
}
