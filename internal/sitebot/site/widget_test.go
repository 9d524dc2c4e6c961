package site_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rehearse/internal/sitebot/site"
)

// picture is the smallest beginning of a picture in a format.
var pictures = map[string]string{
	"a.png": "\x89PNG\x0D\x0A\x1A\x0A", "b.JPG": "\xFF\xD8\xFF", "c.gif": "GIF89a", "d.webp": "RIFF\x00\x00\x00\x00WEBPVP8 ", "e.svg": "<?xml version=\"1.0\"?>\n<svg/>",
}

func TestLoadWidget(t *testing.T) {
	dir := t.TempDir()
	for name, data := range pictures {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func(widget string) (*site.Site, error) {
		return site.Load(filepath.Join(dir, "s.yaml"), []byte("site: x.example\ncompany: {name: X}\nwidget: "+widget))
	}
	for name, data := range pictures {
		got, err := load("{logo: " + name + "}")
		if err != nil || got.Widget.Picture == nil || string(got.Widget.Picture.Data) != data || got.Widget.Logo != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	got, err := load(`{title: Ask us, color: "#FFee00", logo: "https://CDN.example/a.png", greeting: " Hi! ", starters: [One?, 2], position: left}`)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(site.Widget{
		Title: "Ask us", Color: "#ffee00", Logo: "https://CDN.example/a.png", Greeting: "Hi!", Starters: []string{"One?", "2"}, Position: site.Left,
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

// A file that is no picture, whatever its name says, is not served; nor is one that is too large, a folder, or anything but a file.
func TestWidgetPictures(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"page.png": []byte("<html><script>"), "text.svg": []byte("secret"), "other.png": []byte(pictures["c.gif"]), "empty.gif": nil,
		"large.png": append([]byte(pictures["a.png"]), bytes.Repeat([]byte{0}, 256<<10)...),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.png"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"page.png": "holds no picture of the type image/png", "text.svg": "image/svg+xml", "other.png": "holds no picture", "empty.gif": "holds no picture",
		"large.png": "larger than 256 KB", "folder.png": "there is no picture",
	} {
		_, err := site.Load(filepath.Join(dir, "s.yaml"), []byte("site: x\nwidget: {logo: "+name+"}"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "s.yaml:2:16") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
