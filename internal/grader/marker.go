package grader

import (
	"slices"
	"strings"

	"rehearse/internal/runner"
	"rehearse/internal/source"
)

// markers are the signs by which a reply tells the program around the model what to do (S0.58).
func markers() []string { return []string{"👉", "👇", "💌"} }

func newMarker(a *Args) runner.Grader {
	var wanted []string
	if n, ok := a.Node("value", "text or list of texts", "👉, 👇 or 💌; of a list, one of them", true); ok {
		wanted = readMarkers(n)
	}
	return textCheck("a marker "+strings.Join(wanted, " or "), func(text string) (bool, string) {
		found := slices.DeleteFunc(markers(), func(m string) bool { return !strings.Contains(text, m) })
		got := strings.Join(found, " ")
		if got == "" {
			got = "no marker"
		}
		return slices.ContainsFunc(wanted, func(m string) bool { return slices.Contains(found, m) }), got + " in " + quote(text)
	})
}

func readMarkers(n source.Node) []string {
	if n.Kind == source.List && len(n.Items) == 0 {
		n.Report("add one of "+strings.Join(markers(), ", "), "the list is empty")
	}
	var wanted []string
	read := func(n source.Node) {
		if m := strings.TrimSuffix(n.Text(), "\ufe0f"); slices.Contains(markers(), m) {
			wanted = append(wanted, m)
		} else if n.Kind == source.String {
			n.Report("use one of "+strings.Join(markers(), ", ")+"; for any other text write contains", "%q is no marker", n.Scalar)
		}
	}
	if n.Kind != source.List {
		read(n)
		return wanted
	}
	for _, item := range n.List() {
		read(item)
	}
	return wanted
}
