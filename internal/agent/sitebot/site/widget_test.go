package site_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

func TestLoadWidget(t *testing.T) {
	load := func(widget string) (*site.Site, error) {
		return site.Load("s.yaml", []byte("site: x.example\ncompany: {name: X}\nwidget: "+widget))
	}
	got, err := load(`{title: Ask us, color: "#FFee00", logo: "https://CDN.example/a.png", greeting: " Hi! ", starters: [One?, 2], position: left}`)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(site.Widget{
		Title: "Ask us", Color: "#ffee00", Logo: "https://CDN.example/a.png", Greeting: "Hi!",
		Starters: []string{"One?", "2"}, Position: site.Left,
	}, got.Widget); d != "" {
		t.Error(d)
	}
	if got.Heading() != "Ask us" || got.DemoLabel("nl-BE") != "Boek een demo" || got.Spoken("ja") != "en" {
		t.Errorf("%q %q %q", got.Heading(), got.DemoLabel("nl-BE"), got.Spoken("ja"))
	}
	if got, _ := load("{}"); got.Heading() != "X" || got.Widget.Position != site.Right {
		t.Errorf("%+v", got.Widget)
	}
}
