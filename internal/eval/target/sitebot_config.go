package target

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// SiteConfig is the chatbot of a website as a target.
type SiteConfig struct {
	// Dir is a folder of sites or the file of one. Name chooses a site; it may be empty when there is only one.
	Dir, Name string
	// Model replaces the model that the site names; empty keeps the site's.
	Model string
	// Prompts is the folder of the prompts that the sites name.
	Prompts  string
	Language string
	// Retries is how often a turn is tried again that took too long, Timeout bounds a turn; nil and 0 leave them to the
	// test.
	Retries *int          `json:"-"`
	Timeout time.Duration `json:"-"`
}

func sitebotKind() Kind {
	return Kind{
		Name: "sitebot", Doc: "the chatbot of a website", Short: "site:PLACE[#NAME]", read: readSitebot, prefix: "site",
		short: shortSitebot,
	}
}

func shortSitebot(path, name string) config.Target { return OfSite(SiteConfig{Dir: path, Name: name}) }

// OfSite returns the target that is a site's chatbot.
func OfSite(c SiteConfig) config.Target { return config.Target{Kind: "sitebot", Options: c} }

func readSitebot(n source.Node, at config.Location) config.Target {
	var k sitebotKeys
	source.Decode(n, &k)
	c := k.config(at)
	c.Retries, c.Timeout, c.Language = k.Retries, k.Timeout, k.Language
	needsSites(n, "sitebot")
	return OfSite(c)
}

// siteKeys are the keys that name a chatbot.
type siteKeys struct {
	Kind    any         `key:"kind"`
	Sites   string      `key:"sites"`
	Site    string      `key:"site"`
	Model   source.Node `key:"model" schema:"text"`
	Prompts string      `key:"prompts"`
}

// config returns the chatbot; paths begin at the configuration's folder.
func (k siteKeys) config(at config.Location) SiteConfig {
	c := SiteConfig{Dir: at.Path(k.Sites), Name: k.Site, Prompts: at.Path(k.Prompts)}
	if k.Model.Kind != source.Null {
		c.Model = at.ModelName(k.Model)
	}
	return c
}

// sitebotKeys are the keys of a target of the kind sitebot.
type sitebotKeys struct {
	siteKeys
	Language string        `key:"language"`
	Retries  *int          `key:"retries" minimum:"0" doc:"how often a turn is tried again that took too long (2)"`
	Timeout  time.Duration `key:"timeout"`
}

func needsSites(n source.Node, kind string) {
	if !n.Has("sites") {
		n.Report("add `sites:` with a folder of sites, or the file of one", "a %s target needs its site", kind)
	}
}

func (c SiteConfig) open(_ config.Model, p Parts) (runner.Target, error) {
	bot, site, err := p.Site(c)
	if err != nil {
		return nil, err
	}
	return &Sitebot{Bot: bot, Site: site, Language: c.Language, Turns: turnsOf(p, c.Retries, c.Timeout)}, nil
}

func (c SiteConfig) asks(ctx context.Context, _ config.Model, p Parts) (Dependencies, error) {
	return p.SiteDependencies(ctx, c)
}

func (SiteConfig) complete() bool { return false }

// chatbot is implemented by the settings of targets that are a site's chatbot or a part of one.
type chatbot interface {
	// place returns the chatbot; on returns the same settings for that one.
	place() SiteConfig
	on(c SiteConfig) Options
}

func (c SiteConfig) place() SiteConfig     { return c }
func (SiteConfig) on(c SiteConfig) Options { return c }

// SiteOf returns the chatbot that a target is, or a part of which it is. ok is false of other targets.
func SiteOf(t config.Target) (c SiteConfig, ok bool) {
	o, ok := t.Options.(chatbot)
	if !ok {
		return SiteConfig{}, false
	}
	return o.place(), true
}

// Spelled returns a target whose sites and prompts are named so that nobody takes a folder of here for a word.
func Spelled(t config.Target) config.Target {
	c, ok := SiteOf(t)
	if !ok {
		return t
	}
	return OnSite(t, c.Spelled())
}

// Spelled returns the same place, whose folders are named by paths, such as ./sites for sites.
func (c SiteConfig) Spelled() SiteConfig {
	for _, folder := range []*string{&c.Dir, &c.Prompts} {
		if *folder != "" && filepath.IsLocal(*folder) && !strings.ContainsRune(*folder, '/') {
			*folder = "./" + *folder
		}
	}
	return c
}

// OnSite returns a target for which SiteOf is ok, on another site. It keeps its language.
func OnSite(t config.Target, c SiteConfig) config.Target {
	if o, ok := t.Options.(chatbot); ok {
		c.Language = o.place().Language
		t.Options = o.on(c)
	}
	return t
}
