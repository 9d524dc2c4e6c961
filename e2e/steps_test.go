package e2e

import (
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
)

// follow goes from link to link: selectors with " => " between them. Links are taken by their addresses, so that it
// does not matter where they stand.
func (b *tab) follow(links string) {
	b.t.Helper()
	if links == "" {
		return
	}
	for _, selector := range strings.Split(links, " => ") {
		to := value[string](b, fmt.Sprintf(`(document.querySelector(%q) || {}).href || ""`, selector))
		if to == "" {
			b.t.Fatalf("%s has no link %s", b.path(), selector)
		}
		b.do(chromedp.Navigate(to))
	}
}

// page returns the name of the page.
func (b *tab) page() string {
	b.t.Helper()
	return value[string](b, `document.querySelector("main").dataset.page || ""`)
}
