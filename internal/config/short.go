package config

import (
	"path/filepath"
	"strings"
)

// ShortTarget reads "flow:FILE" or "flow:FILE#ID", a flow with the lexical model, and "site:PLACE" or "site:PLACE#NAME", a chatbot of a
// folder or file of sites. ok is false for any other text. A relative path starts at dir.
func ShortTarget(short, dir string) (t Target, ok bool) {
	kind, place, _ := strings.Cut(short, ":")
	place, name, _ := strings.Cut(place, "#")
	if place == "" {
		return Target{}, false
	}
	if !filepath.IsAbs(place) {
		place = filepath.Join(dir, place)
	}
	switch kind {
	case "flow":
		return Target{Kind: FlowTarget, Model: Model{Provider: Lexical, Name: "default"}, Flow: Flow{Path: place, ID: name}}, true
	case "site":
		return Target{Kind: SiteTarget, Site: Site{Dir: place, Name: name}}, true
	}
	return Target{}, false
}

// LocalName returns the short form of a target or model with its file path resolved against the folder of the file from. Names without a
// file stay unchanged.
func LocalName(name, from string) string {
	provider, file, ok := strings.Cut(name, ":")
	if !ok || provider != "scripted" && provider != "cassette" && provider != "flow" && provider != "site" || filepath.IsAbs(file) {
		return name
	}
	return provider + ":" + filepath.Join(filepath.Dir(from), file)
}
