package report

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// codeFilters are the choices of report.html that show the tests with one failure code.
func codeFilters(run result.Run) (filters []document.Filter) {
	for _, code := range result.Codes {
		if n := run.Totals.Failures[code]; n > 0 {
			filters = append(filters, document.Filter{ID: string(code), Label: string(code), Count: n})
		}
	}
	return filters
}

// filterStyle hides, while a code is chosen, the tests that do not have it: the page has no script.
func filterStyle() string {
	var style strings.Builder
	style.WriteString("#show-quarantine:checked ~ .filters .quarantine { background: var(--ink); border-color: " +
		"var(--ink); color: var(--page); }\n" +
		"#show-quarantine:checked ~ .filters .quarantine b { color: var(--page); }\n" +
		"#show-quarantine:focus-visible ~ .filters .quarantine { outline: 2px solid var(--accent); outline-offset: " +
		"2px; }\n" +
		"#show-quarantine:checked ~ .list :is(.test, .row):not([data-quarantined]) { display: none; }\n" +
		// What is in quarantine counts with no other choice.
		":is(#show-pass, #show-fail, #show-error):checked ~ .list [data-quarantined] { display: none; }\n")
	for _, code := range result.Codes {
		chosen := "#show-" + string(code) + ":checked ~ "
		fmt.Fprintf(&style,
			"%s.filters .%s { background: var(--ink); border-color: var(--ink); color: var(--page); }\n", chosen, code)
		fmt.Fprintf(&style, "%s.filters .%s b { color: var(--page); }\n", chosen, code)
		fmt.Fprintf(&style,
			"#show-%s:focus-visible ~ .filters .%s { outline: 2px solid var(--accent); outline-offset: 2px; }\n",
			code, code)
		fmt.Fprintf(&style,
			"%s.list :is(.test, .row):is(:not([data-codes~=\"%s\"]), [data-quarantined]) { display: none; }\n",
			chosen, code)
	}
	return style.String()
}

// codeWords writes codes with blanks between them.
func codeWords(codes []result.Code) string {
	words := make([]string, len(codes))
	for i, code := range codes {
		words[i] = string(code)
	}
	return strings.Join(words, " ")
}
