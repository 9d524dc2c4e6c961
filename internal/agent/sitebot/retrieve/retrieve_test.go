package retrieve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func passages(texts ...string) []flow.Passage {
	var all []flow.Passage
	for _, text := range texts {
		all = append(all, flow.Passage{Base: "acme", Text: text})
	}
	return all
}

func TestText(t *testing.T) {
	long := strings.Repeat("x", MaxText)
	for _, c := range []struct {
		name  string
		texts []string
		want  string
	}{
		{"none", nil, ""},
		{"blank ones", []string{"", " \n"}, ""},
		{"numbered", []string{" Prices. ", "", "Plans:\n- one"}, "[1] Prices.\n\n[2] Plans:\n- one"},
		{"no half words of UTF-8", []string{"a\xffb"}, "[1] ab"},
		{"what does not fit is left out", []string{"first", long, "last"}, "[1] first"},
		{"the first is cut", []string{long, "last"}, "[1] " + long[4:]},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Text(passages(c.texts...))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	t.Run("any", rapid.MakeCheck(func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"é", "日", "🙂", "a\n", "long line of text ", "\xff"})
		text := strings.Repeat(unit.Draw(t, "unit"), rapid.IntRange(0, 9000).Draw(t, "times")) + unit.Draw(t, "end")
		for _, got := range []string{bound(strings.ToValidUTF8(text, "")), Text(passages(text, text, text))} {
			if len(got) > MaxText || !utf8.ValidString(got) {
				t.Fatalf("%d bytes, valid: %v", len(got), utf8.ValidString(got))
			}
		}
		if got := shorten(text); utf8.RuneCountInString(got) > maxQuery || !utf8.ValidString(got) {
			t.Fatal("the query is too long, or broken")
		}
	}))
	lines := strings.Repeat("a line\n", MaxText)
	if got := bound(lines); !strings.HasSuffix(got, "\na line") {
		t.Errorf("cut within a line: %q", got[len(got)-10:])
	}
}

// knowledge is a base that answers from a table and records what it was asked.
type knowledge struct {
	asked []flow.Query
	err   error
}

func (k *knowledge) Search(_ context.Context, q flow.Query) ([]flow.Passage, error) {
	k.asked = append(k.asked, q)
	return passages("about " + q.Text), k.err
}

func TestEmbedded(t *testing.T) {
	k := &knowledge{}
	for query, want := range map[string]string{" prices? ": "[1] about prices?", "  ": ""} {
		got, err := Embedded{Knowledge: k, Base: "acme"}.Retrieve(t.Context(), query)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v", query, got, err)
		}
	}
	if _, err := (Embedded{Knowledge: k, Base: "acme", TopK: 50}).Retrieve(t.Context(), "plans"); err != nil {
		t.Error(err)
	}
	want := []flow.Query{
		{Text: "prices?", Bases: []string{"acme"}, TopK: 5},
		{Text: "plans", Bases: []string{"acme"}, TopK: 20},
	}
	if d := cmp.Diff(want, k.asked); d != "" {
		t.Error(d)
	}
	k.err = errors.New("it is locked")
	_, err := Embedded{Knowledge: k, Base: "acme"}.Retrieve(t.Context(), "plans")
	if !errors.Is(err, k.err) || err.Error() != `knowledge base "acme": it is locked` {
		t.Errorf("got %v", err)
	}
}

const testKey = "key-0123456789"

func serve(t *testing.T, handler http.HandlerFunc, change ...func(*Options)) (*LightRAG, string) {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	o := Options{URL: s.URL, Key: testKey, Transport: tr}
	for _, f := range change {
		f(&o)
	}
	l, err := NewLightRAG(o)
	if err != nil {
		t.Fatal(err)
	}
	return l, s.URL
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func TestLightRAG(t *testing.T) {
	long, err := json.Marshal(map[string]string{"response": strings.Repeat("0123456789 abcdef\n", 2000)})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{
		"prices": `{"response":"-----Entities-----\nPlan: 10 €\n","references":[{"reference_id":"1","file_path":"a.md"}],"llm_generated":false}`,
		"old":    `"the text alone"`,
		"nobody": `{"response":"Sorry, I'm not able to provide an answer to that question.[no-context]"}`,
		"empty":  `{"response":""}`,
		"long":   string(long),
	}
	l, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/rag/query" || r.Header.Get("X-API-Key") != testKey ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %v", r.Method, r.URL.Path, r.Header)
		}
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		query, _ := body["query"].(string)
		if d := cmp.Diff(map[string]any{
			"query": query, "mode": "mix", "only_need_context": true, "top_k": 7.0,
		}, body); d != "" {
			t.Error(d)
		}
		reply(w, http.StatusOK, answers[query])
	}, func(o *Options) { o.URL, o.Mode, o.TopK = o.URL+"/rag/", "mix", 7 })
	for query, want := range map[string]string{
		" prices\n": "-----Entities-----\nPlan: 10 €", "old": "the text alone", "nobody": "", "empty": "", "hi": "",
		"  ": "",
	} {
		if got, err := l.Retrieve(t.Context(), query); err != nil || got != want {
			t.Errorf("%q: got %q, %v", query, got, err)
		}
	}
	got, err := l.Retrieve(t.Context(), "long")
	if err != nil || len(got) > MaxText || len(got) < MaxText-18 || !strings.HasSuffix(got, "abcdef") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestLightRAGDefaults(t *testing.T) {
	l, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil || string(data) != `{"query":"prices","mode":"hybrid","only_need_context":true}` {
			t.Errorf("%s, %v", data, err)
		}
		if _, sent := r.Header["X-Api-Key"]; sent {
			t.Error("an empty key was sent")
		}
		reply(w, http.StatusOK, `{"response":"x"}`)
	}, func(o *Options) { o.Key = "" })
	if got, err := l.Retrieve(t.Context(), "prices"); got != "x" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestLightRAGFaults(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { reply(w, code, body) }
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"refused":      {status(403, `{"detail":"Invalid API Key `+testKey+`"}`), "status 403: check the key"},
		"unauthorized": {status(401, ``), "status 401: check the key"},
		"elsewhere":    {status(404, ``), "status 404: check that the url"},
		"invalid": {
			status(422, `{"detail":[{"input":"my secret question"}]}`), "status 422: it does not take the query",
		},
		"broken": {status(500, `{"detail":"my secret question"}`), "status 500"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusTemporaryRedirect)
		}, "status 307: it redirects"},
		"a page":  {status(200, `<html>`), "the answer has no text"},
		"no text": {status(200, `{"response":null}`), "the answer has no text"},
		"data":    {status(200, `{"response":{"a":1}}`), "the answer has no text"},
		"nothing": {status(200, ``), "the answer has no text"},
		"endless": {status(200, `"`+strings.Repeat("x", maxAnswer)+`"`), "larger than 4 MB"},
		"cut off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"half": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			reply(w, 200, `{`)
		}, "broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			l, url := serve(t, c.answer, func(o *Options) { o.Timeout = time.Minute })
			got, err := l.Retrieve(t.Context(), "my secret question")
			if got != "" || err == nil || !strings.HasPrefix(err.Error(), "lightrag "+url+": ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %q, %v; want the error %q", got, err, c.want)
			}
			if strings.Contains(err.Error(), testKey) || strings.Contains(err.Error(), "my secret") {
				t.Errorf("the error says too much: %v", err)
			}
		})
	}
}

// wire is a transport without a network, so that synctest's clock runs.
type wire func(*http.Request) (*http.Response, error)

func (f wire) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestLightRAGWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := NewLightRAG(Options{
			URL: "http://rag.example", Key: testKey, Transport: wire(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		got, err := l.Retrieve(t.Context(), "my secret question")
		if got != "" || err == nil || err.Error() != "lightrag http://rag.example: no answer within 5s" ||
			time.Since(start) != 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if _, err := l.Retrieve(ctx, "prices"); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestNewLightRAG(t *testing.T) {
	for want, o := range map[string]Options{
		"not an http address": {}, "the url is not": {URL: "localhost:9621"},
		"more than host and path":                   {URL: "http://k@rag.example"},
		`unknown mode "bypass": write one of local`: {URL: "http://rag.example", Mode: "bypass"},
		"not below 0": {URL: "http://rag.example", TopK: -1},
	} {
		if _, err := NewLightRAG(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got the error %v, want %q", o, err, want)
		}
	}
}
