package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
	"github.com/rehearse-dev/rehearse/internal/web/api"
)

// TestReference holds docs/reference/api.md to the routes: UPDATE_GOLDEN=1 writes it.
func TestReference(t *testing.T) {
	d, err := api.FullDocument("")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# HTTP API\n\nWritten from the routes of `rehearse serve`; do not edit. " +
		"A running server gives out the whole OpenAPI 3.1 document at `/openapi.json`, and shows\n" +
		"it at `/docs`. A token goes in `Authorization: Bearer TOKEN`; errors are problem documents (RFC 9457) " +
		"with a `code`.\n\n" +
		"| route | scope | what it does | parameters | answers |\n|---|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			route := d.Paths[path][method]
			var parameters []string
			for _, p := range route.Parameters {
				if p.In != "path" {
					parameters = append(parameters, "`"+p.Name+"`")
				}
			}
			scope := route.Scope
			if scope != "" {
				scope = "`" + scope + "`"
			}
			fmt.Fprintf(&b, "| `%s %s` | %s | %s | %s | %s |\n", strings.ToUpper(method),
				path, scope, cell.Replace(route.Summary), strings.Join(parameters, ", "),
				strings.Join(slices.Sorted(maps.Keys(route.Responses)), ", "))
		}
	}
	golden.Compare(t, "../../../../docs/reference/api.md", b.String())
}
