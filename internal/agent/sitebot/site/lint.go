package site

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// lint warns of what a reader of the file would not expect. It runs on a site without faults.
func (r *reader) lint(n source.Node) {
	r.lintOrder()
	r.lintQuestions(n)
	r.lintSignals(n)
	if language := r.site.Language; !slices.Contains(Languages(), language) {
		r.warn(n.Field("language"), "built-in texts exist in "+strings.Join(Languages(), ", "),
			"there are no built-in texts in %q: visitors read fixed messages in English", language)
	}
	if s := r.site; s.ContentGating.Enabled && s.ContentGating.Asset == "" {
		r.warn(n.Field("content_gating"), "add `asset:` with what visitors get for their e-mail address",
			"nothing is offered for an e-mail address")
	}
	if folder := r.site.KnowledgeBase.Folder; folder != "" {
		if info, err := r.from.Stat(folder); err != nil || !info.IsDir() {
			r.warn(n.Field("knowledge_base"), "make the folder, or correct the path; it starts from this file",
				"there is no folder %s, so answers know nothing", folder)
		}
	}
}

// lintOrder warns where questions may be asked in another order than they stand. A history is rebuilt by matching the
// first question to the first field, the second to the second, and so on, which fails when required fields are asked
// first although others stand above them.
func (r *reader) lintOrder() {
	optional := ""
	for _, f := range r.site.Fields() {
		switch {
		case !f.Required && optional == "":
			optional = f.ID
		case f.Required && optional != "":
			r.warn(r.fields[f.ID],
				"move required fields up, so that questions are asked and rebuilt in the order of the file",
				"the required field %q stands below %q, which is not required", f.ID, optional)
		}
	}
	for _, f := range r.site.Booking.PostConversion {
		if at, asked := r.fields[f.ID]; asked {
			r.warn(at, "keep it in one place, so that no question is asked twice",
				"%q is one of booking.post_conversion_fields too", f.ID)
		}
	}
}

// lintQuestions warns of questions that cannot be told apart, and of forms without any.
func (r *reader) lintQuestions(n source.Node) {
	first := map[string]string{}
	for _, f := range r.site.Fields() {
		question := strings.ToLower(strings.Join(strings.Fields(f.Question), " "))
		if other, taken := first[question]; taken {
			r.warn(r.fields[f.ID], "ask for each in words of its own", "%q asks the same question as %q", f.ID, other)
			continue
		}
		first[question] = f.ID
	}
	forms := n.Field("qualification").Field("profiling").Field("forms")
	for i, form := range r.site.Qualification.Profiling.Forms {
		if !slices.ContainsFunc(form.Groups, func(g FieldGroup) bool { return len(g.Fields) > 0 }) {
			r.warn(forms.With(forms.Items[i]), "add field_groups with fields, or remove the form",
				"the form asks nothing")
		}
	}
}

// lintSignals warns of signals that count for nothing and of a threshold out of reach.
func (r *reader) lintSignals(n source.Node) {
	interest := r.site.Qualification.InterestSignals
	at := n.Field("qualification").Field("interest_signals")
	reach := 0
	for i, signal := range interest.Signals {
		reach += max(0, signal.Weight)
		if signal.Weight == 0 {
			r.warn(at.Field("signals").With(at.Field("signals").Items[i]), "give it a weight, or remove it",
				"the signal %q weighs nothing", signal.ID)
		}
	}
	if _, on := r.site.Threshold(); on && at.Kind == source.Map && reach < interest.Threshold {
		r.warn(at, "lower the threshold, add signals, or write threshold: 0 to propose a demo only when asked for",
			"all signals together weigh %d, so the threshold of %d is never reached", reach, interest.Threshold)
	}
}
