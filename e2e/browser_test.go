package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// pageTime bounds what is done on one page. A machine under load is slow.
const pageTime = 2 * time.Minute

// browsing is the context of the browser that all tests share.
var browsing context.Context

// startBrowser starts Chromium, or the browser that REHEARSE_CHROMIUM names.
func startBrowser(dir string) (stop func(), err error) {
	program := os.Getenv("REHEARSE_CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		return nil,
			errors.New("there is no browser: install chromium (Debian's package), or name one in REHEARSE_CHROMIUM")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program),
		chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.WSURLReadTimeout(pageTime),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("font-render-hinting", "none"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has no sandbox for root
	}
	allocated, ended := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocated)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		ended()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	browsing = ctx
	return func() { cancel(); ended() }, nil
}

// look says how a page is looked at.
type look struct {
	width int64
	dark  bool
}

func (l look) String() string {
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	return fmt.Sprintf("%d-%s", l.width, scheme)
}

// looks are the ways in which every page is looked at.
var looks = []look{{width: 1280}, {width: 1280, dark: true}, {width: 400}, {width: 400, dark: true}}

// tab is one page of the browser. It notes what goes wrong on it, and what it asks of others.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string
	// sent are the bodies of requests that the page has sent. forgives is a part of what the browser may say against
	// the page.
	sent     []string
	forgives string
}

// open opens a tab. What went wrong on it fails the test at its end.
func open(t *testing.T, l look) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browsing)
	t.Cleanup(cancel)
	ctx, late := context.WithTimeout(ctx, pageTime)
	t.Cleanup(late)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	ask(b, network.Enable, network.EnableParams{})
	ask(b, log.Enable, cdp.Empty{})
	ask(b, runtime.Enable, cdp.Empty{})
	b.as(l)
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, fault := range b.faults {
			t.Error(fault)
		}
	})
	return b
}

// as looks at the page in another way.
func (b *tab) as(l look) {
	b.t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	ask(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: l.width, Height: 900, DeviceScaleFactor: 1, Mobile: l.width < 600,
	})
	ask(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"},
		},
	})
	// The page is laid out anew with the next frames; rules that look meanwhile see things over each other.
	value[bool](b, `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))`)
}

// hear notes exceptions, refused content and requests that leave the server.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, "a script failed: "+
			fmt.Sprint(e.ExceptionDetails.Text, ", line ", e.ExceptionDetails.LineNumber))
	case *log.EventEntryAdded:
		forgiven := b.forgives != "" && strings.Contains(e.Entry.Text, b.forgives)
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork && !forgiven {
			b.faults = append(b.faults, "the browser says: "+e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		b.sent = append(b.sent, e.Request.Method+" "+e.Request.URL+" "+bodyOf(e.Request))
		if url := e.Request.URL; !strings.HasPrefix(url, "http://127.0.0.1:") && !strings.HasPrefix(url, "data:") &&
			!strings.HasPrefix(url, "about:") && !strings.HasPrefix(url, "file:") {
			b.faults = append(b.faults, "the page asks for "+url)
		}
	}
}

// bodyOf is what a request sends.
func bodyOf(r *network.Request) string {
	var body strings.Builder
	for _, entry := range r.PostDataEntries {
		body.Write(entry.Bytes)
	}
	return body.String()
}

// asked returns what the page has sent to a place, body by body.
func (b *tab) asked(place string) (bodies []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, sent := range b.sent {
		if method, rest, _ := strings.Cut(sent, " "); method == "POST" {
			if at, body, _ := strings.Cut(rest, " "); strings.Contains(at, place) {
				bodies = append(bodies, body)
			}
		}
	}
	return bodies
}

// do carries out actions.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// get carries out an action that has a value.
func get[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// ask sends a command of the protocol.
func ask[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// to goes to an address: a path of the demonstration, in which RUN stands for the run of the bookshop, or a whole one.
func (b *tab) to(address string) {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = site.base + strings.ReplaceAll(address, "RUN", site.run)
	}
	b.do(chromedp.Navigate(address))
}

// press types keys that no field gets, once the page has its script, and waits for a selector.
func (b *tab) press(keys, selector string) {
	b.t.Helper()
	b.wait(`document.readyState == "complete"`)
	b.do(chromedp.KeyEvent(keys), chromedp.WaitReady(chromedp.CSS(selector)))
}

// value returns what an expression of the page comes to.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	return get(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// path returns where the page is, without the server.
func (b *tab) path() string {
	return value[string](b, "location.pathname + location.search + location.hash")
}

// keep keeps a picture of the whole page where REHEARSE_PICTURES says, or among the artifacts of the test.
func (b *tab) keep(name string, whole bool) {
	b.t.Helper()
	dir := os.Getenv("REHEARSE_PICTURES")
	if dir == "" {
		dir = b.t.ArtifactDir()
	}
	shot := chromedp.CaptureScreenshot()
	if whole {
		shot = chromedp.FullScreenshot(100)
	}
	picture := get(b, shot)
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
