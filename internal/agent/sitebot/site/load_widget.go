package site

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Bounds of what a site says first: it stands in a small window.
const (
	maxTitle    = 80
	maxGreeting = 1000
	maxStarters = 6
	maxStarter  = 200
)

// widgetKeys are the keys of a widget.
type widgetKeys struct {
	*Widget
	Starters source.Node `key:"starters" schema:"starters" doc:"messages to begin with"`
}

// DecodeNode reads how the chat looks.
func (w *Widget) DecodeNode(n source.Node) {
	keys := widgetKeys{Widget: w}
	source.Decode(n, &keys)
	w.Title, w.Greeting = shortText(n.Field("title"), maxTitle), shortText(n.Field("greeting"), maxGreeting)
	w.Color, w.Logo, w.Starters = readColor(n.Field("color")), readLogo(n.Field("logo")), readStarters(keys.Starters)
	if color, written := n.Get("color"); written && color.Kind == source.Null {
		n.Field("color").Report(`write it in quotes, such as "#3355a8": what follows a bare # is a comment`,
			"there is no colour")
	}
}

// shortText returns a text of bounded length.
func shortText(n source.Node, most int) string {
	text, _ := scalar(n)
	if utf8.RuneCountInString(text) > most {
		n.Report("shorten it", "the text is longer than %d characters", most)
	}
	return text
}

var colors = text.Regexp(`^#[0-9a-f]{6}$`)

func readColor(n source.Node) string {
	text, _ := scalar(n)
	text = strings.ToLower(text)
	if text != "" && !colors().MatchString(text) {
		n.Report(`write six hexadecimal digits behind a #, in quotes, such as "#3355a8"`, "%q is not a colour",
			clip(text))
		return ""
	}
	return text
}

func readStarters(n source.Node) []string {
	var starters []string
	seen := map[string]bool{}
	for i, item := range n.List() {
		text := nonBlank(item)
		shortText(item, maxStarter)
		switch {
		case i == maxStarters:
			item.Report("keep the best of them", "there are more than %d starters", maxStarters)
		case seen[text] && text != "":
			item.Report("keep one of the two", "the starter %q is written twice", clip(text))
		}
		seen[text] = true
		starters = append(starters, text)
	}
	return starters
}

// httpsHosts are hosts as they are written into the policy of a page.
var httpsHosts = text.Regexp(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?$`)

// readLogo reads the https address of a picture.
func readLogo(n source.Node) string {
	text, _ := scalar(n)
	u, err := url.Parse(text)
	switch {
	case text == "":
		return ""
	case !strings.Contains(text, ":"):
		n.Report("", "removed: use the https address of the picture, not a file")
		return ""
	case err != nil, u.Scheme != "https", !httpsHosts().MatchString(u.Host):
		n.Report("write it whole, such as https://acme.example/logo.png", "%q is not an https address", clip(text))
		return ""
	case u.User != nil:
		n.Report("remove what stands before the @; secrets belong in the environment",
			"the address holds a user name or password")
		return ""
	}
	return u.String()
}
