// Package e2e holds the pages in a real browser: `rehearse demo` fills them, Chromium opens each at two widths, in
// light and dark, and the rules of axe are held against all of them. It is a module of its own, so that whoever uses
// rehearse does not load a browser's protocol.
package e2e
