package sse

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func sse(r io.Reader, limit int) (got []string) {
	for e, err := range SSE(r, limit) {
		if err != nil {
			return append(got, "error: "+err.Error())
		}
		cut := ""
		if e.Unended {
			cut = "!"
		}
		got = append(got, e.Name+"="+string(e.Data)+cut)
	}
	return got
}

func TestSSE(t *testing.T) {
	for stream, want := range map[string]string{
		"data: a\n\ndata:b\n\n":                              "=a|=b",
		"\ufeffdata: a\r\n\r\ndata: b\r\rdata: c\n\r\n":      "=a|=b|=c",
		"event: x\ndata: 1\n\ndata: 2\n\n":                   "x=1|=2",
		"event: x\n\ndata: 2\n\n":                            "=2", // a name without data is no event, and goes with it
		": note\nid: 7\nretry: 5\ndata: a\ndata: b\n\n:\n\n": "=a\nb",
		"data\n\ndata:\n\n":                                  "=|=",
		"data:  a : b\n\n":                                   "= a : b",
		"data: a":                                            "=a!",
		"data: a\n":                                          "=a!",
		"data: a\ndat":                                       "=a!",
		"data: a\n\ndata":                                    "=a",
		"data: a\nevent: y":                                  "y=a!",
		"\n\n\r\r\n":                                         "",
		"nothing":                                            "",
		"":                                                   "",
		"data: 12345678901\n\n":                              "error: a line is too long",
		"data: 1234\ndata: 5678\n\n":                         "=1234\n5678",
		"data: 1234\ndata: 5678\ndata: 9012\n\n":             "error: a line is too long",
	} {
		for name, r := range map[string]io.Reader{
			"at once": strings.NewReader(stream), "by bytes": iotest.OneByteReader(strings.NewReader(stream)),
			"with its end": iotest.DataErrReader(strings.NewReader(stream)),
		} {
			if d := cmp.Diff(want, strings.Join(sse(r, 12), "|")); d != "" {
				t.Errorf("%q %s: %s", stream, name, d)
			}
		}
	}
}

// An id holds until the next one, also over events without a name of their own.
func TestIDs(t *testing.T) {
	var ids []string
	for e := range SSE(strings.NewReader("data: a\n\nid: 7\ndata: b\n\ndata: c\n\nid: 8\n\ndata: d\n\n"), 100) {
		ids = append(ids, e.ID)
	}
	if got := strings.Join(ids, ","); got != ",7,7,8" {
		t.Error(got)
	}
}

// An event is yielded when its last line end has come, also when that is a carriage return which a line feed may
// follow.
func TestEventsComeAtOnce(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		r, w := io.Pipe()
		came := make(chan string)
		go func() {
			for e := range SSE(r, 100) {
				came <- string(e.Data)
			}
			close(came)
		}()
		for i := range 3 {
			if _, err := fmt.Fprintf(w, "data: %d%s%s", i, end, end); err != nil {
				t.Fatal(err)
			}
			if got := <-came; got != fmt.Sprint(i) {
				t.Errorf("%q: got %s", end, got)
			}
		}
		_ = w.Close()
		<-came
	}
}

func TestLines(t *testing.T) {
	lines := func(r io.Reader) (got []string) {
		for e, err := range Lines(r, 12) {
			if err != nil {
				return append(got, "error: "+err.Error())
			}
			got = append(got, fmt.Sprintf("%s %v", e.Data, e.Unended))
		}
		return got
	}
	for stream, want := range map[string]string{
		"{}\n\n \t\r\n[1]\r\n": "{} false|[1] false", "{}\n[1": "{} false|[1 true", "": "",
		"1234567890123": "error: a line is too long", "\n\n": "",
	} {
		if d := cmp.Diff(want, strings.Join(lines(iotest.HalfReader(strings.NewReader(stream))), "|")); d != "" {
			t.Errorf("%q: %s", stream, d)
		}
	}
	broken := errors.New("broken")
	if got := lines(io.MultiReader(strings.NewReader("{}\n{"), iotest.ErrReader(broken))); strings.Join(got, "|") !=
		"{} false|error: broken" {
		t.Errorf("got %q", got)
	}
}

// However a stream comes, its events are the same.
func TestPiecesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			"data: x", "data:y", "event: e", ":", "\n", "\r", "\r\n", "\n\n", "z",
		})).Draw(t, "parts")
		stream := strings.Join(parts, "")
		if d := cmp.Diff(sse(strings.NewReader(stream), 50),
			sse(iotest.OneByteReader(strings.NewReader(stream)), 50)); d != "" {
			t.Fatal(d)
		}
	})
}

// A line without an end costs no more than its limit.
func TestEndlessLine(t *testing.T) {
	if got := sse(endless{}, 1<<16); strings.Join(got, "") != "error: a line is too long" {
		t.Errorf("got %q", got)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	return copy(p, "data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), nil
}
