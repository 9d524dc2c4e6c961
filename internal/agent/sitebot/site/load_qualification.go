package site

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func (r *reader) qualification(n source.Node) {
	to := &r.site.Qualification
	n.Read(map[string]func(source.Node){
		"profiling":        func(n source.Node) { r.profiling(n, &to.Profiling) },
		"interest_signals": func(n source.Node) { readSignals(n, &to.InterestSignals) },
	})
}

func (r *reader) profiling(n source.Node, to *Profiling) {
	n.Read(map[string]func(source.Node){
		"forms": func(n source.Node) {
			seen := map[string]source.Node{}
			for _, item := range n.List() {
				form := r.form(item)
				unique(item, "form", form.ID, seen)
				to.Forms = append(to.Forms, form)
			}
		},
	})
}

func (r *reader) form(n source.Node) Form {
	var f Form
	n.Read(map[string]func(source.Node){
		"id":       func(n source.Node) { f.ID = identifier(n) },
		"optional": func(n source.Node) { f.Optional = n.Bool() },
		"field_groups": func(n source.Node) {
			seen := map[string]source.Node{}
			for _, item := range n.List() {
				group := r.group(item)
				unique(item, "field group", group.ID, seen)
				f.Groups = append(f.Groups, group)
			}
		},
	})
	if f.Optional {
		for _, group := range f.Groups {
			for i := range group.Fields {
				group.Fields[i].Required = false
			}
		}
	}
	return f
}

func (r *reader) group(n source.Node) FieldGroup {
	var g FieldGroup
	n.Read(map[string]func(source.Node){
		"id": func(n source.Node) { g.ID = identifier(n) },
		"fields": func(n source.Node) {
			for _, item := range n.List() {
				field := readField(item)
				unique(item, "field", field.ID, r.fields)
				g.Fields = append(g.Fields, field)
			}
		},
	})
	return g
}

func readField(n source.Node) Field {
	var f Field
	n.Read(map[string]func(source.Node){
		"id":       func(n source.Node) { f.ID = identifier(n) },
		"question": func(n source.Node) { f.Question = nonBlank(n) },
		"required": func(n source.Node) { f.Required = n.Bool() },
		"choices":  func(n source.Node) { f.Choices = readChoices(n) },
	})
	needID(n, "field")
	if f.Question == "" {
		f.Question = "What is your " + inWords(f.ID) + "?"
	}
	return f
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

func readSignals(n source.Node, to *InterestSignals) {
	n.Read(map[string]func(source.Node){
		"threshold": func(n source.Node) { to.Threshold = n.Int(-maxScore) },
		"signals": func(n source.Node) {
			seen := map[string]source.Node{}
			for _, item := range n.List() {
				signal := readSignal(item)
				unique(item, "signal", signal.ID, seen)
				to.Signals = append(to.Signals, signal)
			}
		},
	})
	if to.Threshold > maxScore {
		n.Field("threshold").Report("use 100 or less; 0 switches it off", "no score can reach %d", to.Threshold)
	}
}

// maxScore is where a cumulative score ends.
const maxScore = 100

func readSignal(n source.Node) Signal {
	var s Signal
	n.Read(map[string]func(source.Node){
		"id": func(n source.Node) { s.ID = identifier(n) },
		"weight": func(n source.Node) {
			if s.Weight = n.Int(-maxScore); s.Weight > maxScore {
				n.Report("use a whole number from -100 to 100", "%s is too large", n.Scalar)
			}
		},
		"when": func(n source.Node) { s.When = nonBlank(n) },
	})
	needID(n, "signal")
	if n.Kind == source.Map && !n.Has("weight") {
		n.Report("add `weight:`, a whole number", "the signal has no weight")
	}
	if s.When == "" {
		s.When = "talks about " + inWords(s.ID)
	}
	return s
}

var identifiers = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// identifier returns a name that models repeat and addresses carry.
func identifier(n source.Node) string {
	id := strings.TrimSpace(n.Text())
	if n.Kind != source.List && n.Kind != source.Map && !identifiers.MatchString(id) {
		n.Report("use a letter first, then letters, digits, _ . and -; 64 at most", "%q is not an id", clip(id))
	}
	return id
}

func needID(n source.Node, what string) {
	if n.Kind == source.Map && !n.Has("id") {
		n.Report("add `id:`", "the %s has no id", what)
	}
}

// unique notes the place of an id and reports one that is taken. Things without an id do not collide.
func unique(n source.Node, what, id string, seen map[string]source.Node) {
	if id == "" {
		return
	}
	at := n
	if n.Has("id") {
		at = n.Field("id")
	}
	if first, taken := seen[id]; taken {
		at.Report("give each "+what+" an id of its own", "the %s %q stands here and in line %d", what, id, first.Line)
		return
	}
	seen[id] = at
}
