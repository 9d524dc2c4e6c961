package e2e

import (
	"os"
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// TestPictures makes the pictures of the README where REHEARSE_PICTURES names a folder; without one it holds that they
// can be made.
func TestPictures(t *testing.T) {
	if dir := os.Getenv("REHEARSE_PICTURES"); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, picture := range []struct {
		name, at, link string
		height         int64
	}{
		{"conversation", bookshop, faulty, 640},
		{"compare", compared, "", 800},
		{"replay", "/replays", `[data-row="replay"] a`, 800},
	} {
		b := open(t, looks[0])
		ask(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: 1120, Height: picture.height, DeviceScaleFactor: 1,
		})
		b.to(picture.at)
		b.follow(picture.link)
		b.keep(picture.name, false)
	}
}
