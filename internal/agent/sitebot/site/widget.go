package site

// Widget is how the chat looks to visitors, and what it says first.
type Widget struct {
	// Title is the heading of the chat; without one the company's name stands there.
	Title string `key:"title" notblank:"true" doc:"the chat's title (default: the company's name)"`
	// Color is the site's own, as #rrggbb in lower case; empty means the program's.
	Color string `key:"color" notblank:"true" schema:"color" doc:"the chat's color: #rrggbb in quotes"`
	// Logo is the https address of a picture.
	Logo string `key:"logo" notblank:"true" schema:"https_url" doc:"the https address of a picture"`
	// Greeting stands before the first message, with Starters to begin with by a click.
	Greeting string `key:"greeting" notblank:"true" doc:"the chat's first message"`
	Starters []string
	// Position is the side of the window on which the button is: Right or Left.
	Position string `key:"position" enum:"right,left" doc:"the side of the window that has the button"`
}

// The sides on which the button may be.
const (
	Right = "right"
	Left  = "left"
)

// Heading returns what the chat is called: its own title, else the company's name, else the site's.
func (s *Site) Heading() string {
	if s.Widget.Title != "" {
		return s.Widget.Title
	}
	return s.Company.Name
}

// Spoken returns the language of built-in texts for a visitor: the one asked for if there are texts in it, else the
// site's, else English.
func (s *Site) Spoken(requested string) string { return s.spoken(requested) }

// demoTexts are what the button below a proposed demo says where a site has no words of its own.
//

var demoTexts = map[string]string{
	English: "Book a demo",
	"fr":    "Réserver une démo",
	"es":    "Reservar una demo",
	"de":    "Demo buchen",
	"it":    "Prenota una demo",
	"pt":    "Agendar uma demonstração",
	"nl":    "Boek een demo",
}

// DemoLabel returns what the button below a proposed demo says to a visitor: the site's words, else those of the
// visitor's language.
func (s *Site) DemoLabel(requested string) string {
	if s.CTA.Label != "" {
		return s.CTA.Label
	}
	return demoTexts[s.spoken(requested)]
}
