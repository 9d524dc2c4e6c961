package frame_test

import (
	"errors"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rehearse/internal/view/frame"
)

// slow is a page with a part that may wait, and break off.
type slow struct {
	send func()
	wait chan struct{}
	err  error
}

func (s slow) Part() (string, error) {
	if s.wait != nil {
		s.send()
		<-s.wait
	}
	return "<part>", s.err
}

// A page that waits for a part is sent as far as it is; one that breaks off is not taken for a whole one.
func TestShowInParts(t *testing.T) {
	broken := errors.New("broken")
	f := frame.New(frame.Config{}, nil, `{{define "slow"}}head {{.Part}} foot{{end}}`, template.FuncMap{})
	for _, tc := range []struct {
		name       string
		waits      bool
		err        error
		status     int
		text       string
		incomplete bool
	}{
		{name: "at once", status: 200, text: "head &lt;part&gt; foot"},
		{name: "after a while", waits: true, status: 200, text: "head &lt;part&gt; foot"},
		{name: "broken at once", err: broken, status: 500, text: "the page could not be rendered\n"},
		{name: "broken after a while", waits: true, err: broken, status: 200, text: "head ", incomplete: true},
	} {
		page := slow{err: tc.err}
		if tc.waits {
			page.wait = make(chan struct{})
		}
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			f.ShowInParts(w, "slow", func(send func()) any {
				page.send = send
				return page
			})
		}))
		answer, err := http.Get(web.URL)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, len("head "))
		if tc.waits {
			if _, err := io.ReadFull(answer.Body, first); err != nil || string(first) != "head " {
				t.Errorf("%s: first came %q, %v", tc.name, first, err)
			}
			close(page.wait)
		} else {
			first = nil
		}
		rest, err := io.ReadAll(answer.Body)
		if got := string(first) + string(rest); got != tc.text || answer.StatusCode != tc.status || (err != nil) != tc.incomplete {
			t.Errorf("%s: %d %q, %v", tc.name, answer.StatusCode, got, err)
		}
		if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/html") && tc.status == 200 {
			t.Errorf("%s: is %s", tc.name, kind)
		}
		_ = answer.Body.Close()
		web.Close()
	}
}
