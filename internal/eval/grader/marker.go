package grader

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/marker"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

func newMarker(a *Args) runner.Grader {
	var wanted []string
	if n, ok := a.Node("value", "text or list of texts", "👉, 👇 or 💌; of a list, one of them", true); ok {
		wanted = readMarkers(n)
	}
	return textCheck("a marker "+strings.Join(wanted, " or "), func(text string) (bool, string) {
		found := slices.DeleteFunc(marker.All(), func(sign string) bool { return !strings.Contains(text, sign) })
		got := strings.Join(found, " ")
		if got == "" {
			got = "no marker"
		}
		return slices.ContainsFunc(wanted, func(m string) bool { return slices.Contains(found, m) }),
			got + " in " + quote(text)
	})
}

func readMarkers(n source.Node) []string {
	if n.Kind == source.List && len(n.Items) == 0 {
		n.Report("add one of "+strings.Join(marker.All(), ", "), "the list is empty")
	}
	var wanted []string
	read := func(n source.Node) {
		if m := strings.TrimSuffix(n.Text(), "\ufe0f"); slices.Contains(marker.All(), m) {
			wanted = append(wanted, m)
		} else if n.Kind == source.String {
			n.Report("use one of "+strings.Join(marker.All(), ", ")+"; for any other text write contains",
				"%q is no marker", n.Scalar)
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
