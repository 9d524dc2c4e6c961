package client_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/fleet/client"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const run = `{"id":"r1","status":%q,"progress":{"conversations":2,"done":1,"running":1},"exit_code":null}`

// fake is a server of runs.
type fake struct {
	t  *testing.T
	mu sync.Mutex
	// seen are the requests, blobs the files that were sent, specs the submitted runs by their keys.
	seen  []string
	blobs map[string]int
	specs map[string]runspec.Spec
	// fail answers the next requests, as long as there are some.
	fail []func(http.ResponseWriter)
	// streams are the bodies of the events, each for one connection; results is what the results come to.
	streams []string
	results []func(http.ResponseWriter)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, strings.TrimSpace(r.Method+" "+r.URL.String()+" "+r.Header.Get("Last-Event-ID")))
	if r.Header.Get("Authorization") != "Bearer rht_x" {
		problem(401, `"code":"unauthorized","detail":"a token is needed"`)(w)
		return
	}
	if len(f.fail) > 0 {
		fail := f.fail[0]
		f.fail = f.fail[1:]
		fail(w)
		return
	}
	hash, isBlob := strings.CutPrefix(r.URL.Path, "/api/v1/blobs/")
	body, err := io.ReadAll(r.Body)
	switch at := r.Method + " " + r.URL.Path; {
	case err != nil:
		f.t.Error(err)
	case isBlob && r.Method == http.MethodHead:
		if _, ok := f.blobs[hash]; !ok {
			w.WriteHeader(404)
		}
	case isBlob:
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != hash {
			f.t.Error("another hash")
		}
		f.blobs[hash]++
		w.WriteHeader(201)
	case at == "POST /api/v1/runs":
		spec, err := runspec.Read(body)
		if err != nil {
			problem(422, `"code":"invalid_spec","detail":"no"`)(w)
			return
		}
		for _, file := range spec.Files {
			if _, ok := f.blobs[file.SHA256]; file.SHA256 != "" && !ok {
				problem(409, `"code":"missing_blobs","detail":"send them","missing":["`+file.SHA256+`"]`)(w)
				return
			}
		}
		f.specs[r.Header.Get("Idempotency-Key")] = spec
		fmt.Fprintf(w, run, "queued")
	case strings.HasSuffix(at, "/events"):
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, f.streams[0])
		f.streams = f.streams[1:]
	case strings.HasSuffix(at, "/results"):
		f.results[0](w)
		f.results = f.results[1:]
	case strings.HasSuffix(at, "/run.json"):
		_, _ = io.WriteString(w, `{"schema":1,"run_id":"r1","exit_code":1,"exit_reason":"failed"}`)
	case strings.HasSuffix(at, "/cancel"):
		problem(409, `"code":"run_finished","detail":"it has ended"`)(w)
	case at == "GET /api/v1/runs/r1":
		fmt.Fprintf(w, run, "completed")
	default:
		problem(404, `"code":"not_found","detail":"there is no such run"`)(w)
	}
}

func problem(status int, fields string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After-Ms", "1")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"about:blank","title":"T","status":%d,%s}`, status, fields)
	}
}

// broken begins an answer and cuts the connection.
func broken(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"id":`)
}

func started(t *testing.T) (*fake, *client.Client) {
	t.Helper()
	f := &fake{t: t, blobs: map[string]int{}, specs: map[string]runspec.Spec{}}
	web := httptest.NewServer(f)
	t.Cleanup(web.Close)
	c, err := client.New(client.Config{URL: web.URL + "/", Token: "rht_x", TokenEnv: "MY_TOKEN"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return f, c
}

// Large files are sent by their hashes, once; a run whose answer is lost is not submitted twice.
func TestSubmit(t *testing.T) {
	f, c := started(t)
	large := strings.Repeat("x", 2<<20)
	spec := runspec.Spec{Schema: 1, Suites: []string{"a.yaml"}, Files: map[string]runspec.File{
		"a.yaml": {Content: []byte("name: a\n")}, "large.txt": {Content: []byte(large)},
		"same.txt": {Content: []byte(large)},
	}}
	hash := spec.Files["large.txt"].Hash()
	f.fail = []func(http.ResponseWriter){
		func(w http.ResponseWriter) { w.WriteHeader(404) }, problem(503, `"code":"unavailable"`),
	}
	run, err := c.Submit(t.Context(), spec)
	if err != nil || run.ID != "r1" || run.Status != "queued" || len(f.specs) != 1 || f.blobs[hash] != 1 {
		t.Fatalf("%+v, %v: %d specs, blobs %v", run, err, len(f.specs), f.blobs)
	}
	for _, got := range f.specs {
		if string(got.Files["a.yaml"].Content) != "name: a\n" || got.Files["large.txt"].SHA256 != hash ||
			got.Files["same.txt"].SHA256 != hash {
			t.Errorf("%+v", got.Files)
		}
	}
	if spec.Files["large.txt"].SHA256 != "" {
		t.Error("the caller's spec has changed")
	}
	f.fail = []func(http.ResponseWriter){func(http.ResponseWriter) {}, broken} // the server has the file, but loses it
	clear(f.blobs)
	if _, err := c.Submit(t.Context(), spec); err != nil || f.blobs[hash] != 1 {
		t.Errorf("%v: %v", err, f.blobs)
	}
}

func TestRefused(t *testing.T) {
	f, c := started(t)
	c.Token = "rht_wrong"
	_, err := c.Submit(t.Context(), runspec.Spec{Schema: 1, Suites: []string{"a"}})
	if err == nil || !strings.Contains(err.Error(), "a token is needed") ||
		!strings.Contains(err.Error(), "MY_TOKEN") || len(f.seen) != 1 {
		t.Errorf("%v: %v", err, f.seen)
	}
	c.Token = "rht_x"
	f.fail = []func(http.ResponseWriter){func(w http.ResponseWriter) {
		http.Redirect(w, &http.Request{}, "http://elsewhere.example/x", http.StatusTemporaryRedirect)
	}}
	if _, err := c.Show(t.Context(), "r1"); err == nil ||
		!strings.Contains(err.Error(), "redirects to elsewhere.example") {
		t.Error(err)
	}
	f.fail = []func(http.ResponseWriter){func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }}
	if _, err := c.Show(t.Context(), "r1"); err == nil || !strings.Contains(err.Error(), "is no run") {
		t.Error(err)
	}
	for _, address := range []string{"", "shop", "ftp://x", "http://", "http://me:pw@x.example", "http://x/?a=b"} {
		if _, err := client.New(client.Config{URL: address}); err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// A lost connection is taken up behind the last whole event; no result is told of twice, and no cut event counts.
// TestFollowNoStream wants a run whose stream has no events to end all the same.
func TestFollowNoStream(t *testing.T) {
	f, c := started(t)
	f.streams = []string{"data: ?", "garbage", "\n\n", "", "", ""}
	got, err := c.Follow(t.Context(), "r1", func(client.Event) {})
	if err != nil || got.Status != "completed" {
		t.Errorf("%+v, %v; asked %v", got, err, f.seen)
	}
}

func TestFollow(t *testing.T) {
	f, c := started(t)
	status := "id: 1\nevent: status\ndata: " + fmt.Sprintf(run, "running") + "\n\n"
	result := func(n int) string {
		return fmt.Sprintf("id: %d\nevent: result\ndata: {\"test_id\":\"t%d\",\"verdict\":\"pass\"}\n\n", n, n)
	}
	end := "id: 9\nevent: end\ndata: " + fmt.Sprintf(run, "completed") + "\n\n"
	f.streams = []string{
		status + result(2) + "event: progress\ndata: {\"done\":1,\"running\":1}\n\n: beat\n\n" +
			strings.TrimSuffix(result(3), "\n"),
		result(3) + "id: 9\nevent: end\ndata: " + fmt.Sprintf(run, "comp"), // cut
		end,
	}
	var told []string
	got, err := c.Follow(t.Context(), "r1", func(e client.Event) {
		switch {
		case e.Status != nil:
			told = append(told, e.Status.Status)
		case e.Result != nil:
			told = append(told, e.Result.TestID)
		case e.Progress != nil:
			told = append(told, fmt.Sprint(e.Progress.Done))
		}
	})
	if err != nil || got.Status != "completed" || strings.Join(told, " ") != "running t2 1 t3" {
		t.Errorf("%+v, %v: %v", got, err, told)
	}
	if want := "GET /api/v1/runs/r1/events,GET /api/v1/runs/r1/events 2,GET /api/v1/runs/r1/events 3"; strings.Join(
		f.seen, ",") != want {
		t.Errorf("asked %v", f.seen)
	}
	f.fail = []func(http.ResponseWriter){problem(404, `"code":"not_found"`)}
	if _, err := c.Follow(t.Context(), "none", nil); err == nil {
		t.Error("followed a run that is not there")
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.streams = []string{status}
	if _, err := c.Follow(ctx, "r1", func(client.Event) { cancel() }); err == nil {
		t.Error("followed on")
	}
}

// Results are written whole: an answer that breaks off is asked for again.
func TestFetch(t *testing.T) {
	f, c := started(t)
	line := `{"schema":1,"test_id":"a"}` + "\n"
	f.results = []func(http.ResponseWriter){
		func(w http.ResponseWriter) { w.Header().Set("Content-Length", "1000"); _, _ = io.WriteString(w, line) },
		func(w http.ResponseWriter) { _, _ = io.WriteString(w, line+line) },
	}
	dir := t.TempDir()
	got, err := c.Fetch(t.Context(), "r1", dir, same)
	if err != nil || got.Code() != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "results.jsonl")); err != nil || string(data) != line+line {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "run.json")); err != nil {
		t.Error(err)
	}
}

func same(file string) string { return file }

// The file of a test gets its name here; whatever else a record holds stays as it came.
func TestFetchPlaces(t *testing.T) {
	f, c := started(t)
	const rest = `"n":1.50,"new":{"source":{"file":"a.yaml"}},"output":[{"content":"\u003c \"source\":{\"file\":\"a.yaml\"}"}]`
	lines := []string{
		`{"schema":1,"source":{"file":"sub/a.yaml","line":3,"turns":[4]},` + rest + `}`, `{"source":null,` + rest + `}`,
		`{` + rest + `}`, `{}`, `no record`, `{"source":{"file":"a`,
	}
	f.results = []func(http.ResponseWriter){func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, strings.Join(lines, "\n"))
	}}
	dir := t.TempDir()
	if _, err := c.Fetch(t.Context(), "r1", dir, func(file string) string { return "../evals/" + file }); err != nil {
		t.Fatal(err)
	}
	lines[0] = strings.Replace(lines[0], "sub/a.yaml", "../evals/sub/a.yaml", 1)
	data, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	if want := strings.Join(lines, "\n") + "\n"; err != nil || string(data) != want {
		t.Errorf("%v\n got %s\nwant %s", err, data, want)
	}
}

// A run that has ended cannot be cancelled, which is no error.
func TestCancel(t *testing.T) {
	_, c := started(t)
	if got, err := c.Cancel(t.Context(), "r1"); err != nil || got.Status != "completed" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Pages are asked for until there are enough runs.
func TestList(t *testing.T) {
	f, c := started(t)
	page := func(next string, ids ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			var items []json.RawMessage
			for _, id := range ids {
				items = append(items, json.RawMessage(`{"id":"`+id+`"}`))
			}
			_ = json.NewEncoder(w).Encode(map[string]any{
				"items": items, "next_cursor": map[bool]any{true: nil, false: next}[next == ""],
			})
		}
	}
	f.fail = []func(http.ResponseWriter){page("b", "1", "2"), page("", "3")}
	runs, err := c.List(t.Context(), "running", 5)
	if err != nil || len(runs) != 3 {
		t.Errorf("%s, %v", runs, err)
	}
	if want := "GET /api/v1/runs?limit=5&status=running,GET /api/v1/runs?cursor=b&limit=3&status=running"; strings.Join(
		f.seen, ",") != want {
		t.Errorf("asked %v", f.seen)
	}
}

// next sets the answers to the next requests, and forgets those before. An aborted answer is no sign that its handler
// is done.
func (f *fake) next(answers ...func(http.ResponseWriter)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.fail = nil, answers
}

// retryAfter returns how many requests there were.
func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.seen)
}

// A schedule is sent once: after a lost answer it may be there. What the server refuses for a while is sent again.
func TestAddSchedule(t *testing.T) {
	f, c := started(t)
	spec := runspec.Spec{Schema: 1, Suites: []string{"a"}}
	f.next(problem(503, `"code":"stopping"`), func(w http.ResponseWriter) {
		_, _ = io.WriteString(w,
			`{"name":"n","cron":"@every 1h","timezone":"UTC","next_at":"2026-01-01T00:00:00Z","last":null}`)
	})
	if s, err := c.AddSchedule(t.Context(), "n", "@every 1h", "", spec); err != nil || s.Name != "n" || s.Last != nil ||
		f.count() != 2 {
		t.Errorf("%+v, %v, %d requests", s, err, f.count())
	}
	f.next(func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, problem(409, `"code":"schedule_exists"`))
	if _, err := c.AddSchedule(t.Context(), "n", "@every 1h", "", spec); err == nil || f.count() != 1 {
		t.Errorf("%v, %d requests", err, f.count())
	}
	f.next(func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{}`) })
	if n, err := c.Prune(t.Context(), nil, new(1)); err == nil {
		t.Errorf("an answer without a number is %d", n)
	}
}
