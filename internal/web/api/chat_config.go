package api

import (
	"fmt"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// ChatSites are the sites whose chats have a page.
type ChatSites interface {
	// Find returns the site with a name or alias.
	Find(name string) (*site.Site, error)
}

// chatConfig is how a site's chat looks and what it says, in one language.
type chatConfig struct {
	Site     string            `json:"site"`
	Language string            `json:"language"`
	Title    string            `json:"title"`
	Color    string            `json:"color"`
	Logo     string            `json:"logo"`
	Greeting string            `json:"greeting"`
	Starters []string          `json:"starters"`
	Position string            `json:"position"`
	Texts    map[string]string `json:"texts"`
}

// ownColor is the colour of a chat whose site names none.
const ownColor = "#3355a8"

// chatConfigOf returns a site's configuration for a visitor who asks for a language, or for none.
func chatConfigOf(s *site.Site, requested string) (chatConfig, error) {
	texts, err := chatTexts()
	if err != nil {
		return chatConfig{}, err
	}
	language := s.Spoken(requested)
	return chatConfig{
		Site: s.Name, Language: language, Title: s.Heading(), Color: colorOf(s), Logo: s.Widget.Logo,
		Greeting: s.Widget.Greeting, Starters: append([]string{}, s.Widget.Starters...), Position: s.Widget.Position,
		Texts: texts[language],
	}, nil
}

func colorOf(s *site.Site) string {
	if s.Widget.Color != "" {
		return s.Widget.Color
	}
	return ownColor
}

// chatSite returns the site that a request names, or answers that there is none.
func (s *Chats) chatSite(w http.ResponseWriter, r *http.Request) (*site.Site, bool) {
	name := r.PathValue("site_name")
	if s.Sites != nil {
		if found, err := s.Sites.Find(name); err == nil {
			return found, true
		}
	}
	writeProblem(w, newProblem(http.StatusNotFound, "unknown_site",
		fmt.Sprintf("there is no chat for the site %q", clean(name)), "check the address"))
	return nil, false
}

// config is GET /chat/{site_name}/config.json. Scripts of any page may read it: it holds what every visitor sees.
func (s *Chats) config(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	found, ok := s.chatSite(w, r)
	if !ok {
		return
	}
	c, err := chatConfigOf(found, r.URL.Query().Get("language"))
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	data, err := encode(c)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	serveContent(w, r, "application/json", data)
}
