package shell

import "github.com/rehearse-dev/rehearse/internal/base/source"

// Command reads the program and its arguments: a list of texts, or a text that is split into its words. Problems go to
// n.
func Command(n source.Node) []string {
	const hint = "write the program and its arguments; [sh, -c, …] runs a shell"
	var words []string
	if n.Kind == source.List {
		words = n.Texts()
	} else {
		var err error
		if words, err = Words(n.Text()); err != nil {
			n.Report(hint, "the command cannot be read: %v", err)
			return nil
		}
	}
	if len(words) == 0 || words[0] == "" {
		n.Report(hint, "the command is empty")
	}
	return words
}
