package site

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// qualification checks what the keys of a qualification say together.
func (r *reader) qualification(n source.Node) {
	forms := n.Field("profiling").Field("forms")
	unique(forms, "form", map[string]source.Node{})
	for form := range forms.Each() {
		groups := form.Field("field_groups")
		unique(groups, "field group", map[string]source.Node{})
		for group := range groups.Each() {
			unique(group.Field("fields"), "field", r.fields)
		}
	}
	interest := n.Field("interest_signals")
	unique(interest.Field("signals"), "signal", map[string]source.Node{})
	if most := r.site.Qualification.InterestSignals.Threshold; most > maxScore {
		interest.Field("threshold").Report("use 100 or less; 0 switches it off", "no score can reach %d", most)
	}
}

// maxScore is where a cumulative score ends.
const maxScore = 100

// DecodeNode reads a form.
func (f *Form) DecodeNode(n source.Node) {
	source.Decode(n, f)
	f.ID = identifier(n.Field("id"))
	if f.Optional {
		for _, group := range f.Groups {
			for i := range group.Fields {
				group.Fields[i].Required = false
			}
		}
	}
}

// DecodeNode reads a group of fields.
func (g *FieldGroup) DecodeNode(n source.Node) {
	source.Decode(n, g)
	g.ID = identifier(n.Field("id"))
}

// fieldKeys are the keys of a field.
type fieldKeys struct {
	*Field
	Choices source.Node `key:"choices" schema:"choices" doc:"the possible answers"`
}

// DecodeNode reads a field.
func (f *Field) DecodeNode(n source.Node) {
	keys := fieldKeys{Field: f}
	source.Decode(n, &keys)
	f.ID, f.Question, f.Choices = identifier(n.Field("id")), strings.TrimSpace(f.Question), readChoices(keys.Choices)
	if f.Question == "" {
		f.Question = "What is your " + inWords(f.ID) + "?"
	}
}

// inWords writes an id such as company_stage as words.
func inWords(id string) string { return strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(id) }

func readChoices(n source.Node) []string {
	var choices []string
	for _, item := range n.List() {
		choice := nonBlank(item)
		if slices.Contains(choices, choice) {
			item.Report("keep one of the two", "the choice %q is written twice", clip(choice))
			continue
		}
		choices = append(choices, choice)
	}
	if n.Kind == source.List && len(choices) == 0 {
		n.Report("name the choices, or remove the key to take any answer", "there is nothing to choose from")
	}
	return choices
}

// DecodeNode reads a signal.
func (s *Signal) DecodeNode(n source.Node) {
	source.Decode(n, s)
	s.ID, s.When = identifier(n.Field("id")), strings.TrimSpace(s.When)
	if s.When == "" {
		s.When = "talks about " + inWords(s.ID)
	}
}

var identifiers = text.Regexp(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// identifier returns a name that models repeat and addresses carry.
func identifier(n source.Node) string {
	id, given := scalar(n)
	if given && !identifiers().MatchString(id) {
		n.Report("use a letter first, then letters, digits, _ . and -; 64 at most", "%q is not an id", clip(id))
	}
	return id
}

// unique notes the places of the ids of a list and reports those that are taken. Things without an id do not collide.
func unique(n source.Node, what string, seen map[string]source.Node) {
	for at := range n.Each() {
		if at.Has("id") {
			at = at.Field("id")
		}
		id, _ := scalar(at)
		first, taken := seen[id]
		switch {
		case id == "":
		case taken:
			at.Report("give each "+what+" an id of its own", "the %s %q stands here and in line %d", what, id,
				first.Line)
		default:
			seen[id] = at
		}
	}
}
