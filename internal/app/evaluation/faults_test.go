package evaluation_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// fault is one way in which an endpoint fails. code is the failure's.
type fault struct {
	code  result.Code
	serve http.HandlerFunc
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "the server says no")
	}
}

func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// raw writes bytes past the HTTP server and closes the connection.
func raw(text string, reset bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = buffered.WriteString(text)
		_ = buffered.Flush()
		if tcp, ok := connection.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		_ = connection.Close()
	}
}

// drip writes text again and again, with a pause between, until the caller leaves.
func drip(text string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(pause):
			case <-r.Context().Done():
			}
		}
	}
}

func silence(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

const whole = `{"choices":[{"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`

// faults are kinds of broken answers. "refused" and "tls" are broken by their address.
func faults() map[string]fault {
	const e = result.EngineError
	return map[string]fault{
		"refused":          {e, nil},
		"tls":              {e, nil},
		"reset":            {e, raw("", true)},
		"hung-up":          {e, raw("", false)},
		"half-header":      {e, raw("HTTP/1.1 200 OK\r\nContent-Ty", false)},
		"not-http":         {e, raw("220 mail.example ESMTP\r\n", false)},
		"length-too-long":  {e, raw("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"+whole, false)},
		"length-too-short": {e, raw("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n"+whole, false)},
		"two-lengths": {
			e, raw("HTTP/1.1 200 OK\r\nContent-Length: 20\r\nContent-Length: 40\r\n\r\n"+whole, false),
		},
		"half-body":  {e, raw("HTTP/1.1 200 OK\r\n\r\n"+whole[:40], false)},
		"half-chunk": {e, raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{\"choi", false)},
		"no-gzip": {
			e, raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\nnot gzip!", false),
		},
		"no-body":        {e, body("")},
		"no-content":     {e, status(http.StatusNoContent)},
		"garbage":        {e, body("\x00\x01\x02 garbage")},
		"page":           {e, body("<html><body>Sign in</body></html>")},
		"wrong-json":     {e, body(`{"hello":"world"}`)},
		"list":           {e, body(`[1,2,3]`)},
		"error-with-200": {e, body(`{"error":{"message":"the model is overloaded"}}`)},
		"empty-choices":  {e, body(`{"choices":[]}`)},
		"event-stream-cut": {e, raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"+
			"data: {\"choices\":[{\"delta\":{\"content\":\"fi", false)},
		"moved":             {e, status(http.StatusMovedPermanently, "Location", "http://elsewhere.example/")},
		"see-other":         {e, status(http.StatusTemporaryRedirect, "Location", "/elsewhere")},
		"bad-request":       {e, status(http.StatusBadRequest)},
		"unauthorized":      {e, status(http.StatusUnauthorized)},
		"not-found":         {e, status(http.StatusNotFound)},
		"too-many":          {e, status(http.StatusTooManyRequests)},
		"too-many-for-long": {e, status(http.StatusTooManyRequests, "Retry-After", "86400")},
		"broken-server":     {e, status(http.StatusInternalServerError)},
		"bad-gateway":       {e, status(http.StatusBadGateway)},
		"endless":           {e, drip(strings.Repeat(" ", 1<<20), 0)},
		"huge":              {e, status(http.StatusOK, "Content-Length", "99999999999")},
		"slow-header":       {result.Timeout, silence},
		"slow-body":         {result.Timeout, drip(" ", 50*time.Millisecond)},
		"slow-stream":       {result.Timeout, drip(": ping\n\n", 50*time.Millisecond)},
	}
}

// TestTransportFaults holds that conversations whose endpoint fails, each in a way of its own, have one complete record
// each with the cause in a sentence, and that the conversations beside them are untouched.
func TestTransportFaults(t *testing.T) {
	kinds := faults()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, _ := io.ReadAll(r.Body)
		if _, after, ok := strings.Cut(string(said), "now break: "); ok {
			kind, _, _ := strings.Cut(after, `"`)
			kinds[kind].serve(w, r)
			return
		}
		if strings.Contains(string(said), "close") { // between the turns
			w.Header().Set("Connection", "close")
		}
		_, _ = io.WriteString(w, whole)
	}))
	defer server.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()

	var tests strings.Builder
	for i, kind := range slices.Sorted(maps.Keys(kinds)) {
		execution := "{}"
		switch {
		case kinds[kind].serve == nil:
			execution = "{target: " + kind + "}"
		case kinds[kind].code == result.Timeout:
			execution = "{retries: 0}"
		}
		const grade = "assertions: [{type: equals, value: fine}]"
		fmt.Fprintf(&tests, "  - {id: %s, mode: conversation, execution: %s, turns: [{input: hello, %s}, {input: "+
			"'now break: %s', %s}, {input: later}], %s}\n", kind, execution, grade, kind, grade, grade)
		fmt.Fprintf(&tests,
			"  - {id: healthy-%d, mode: conversation, turns: [{input: %s, %s}, {input: more, %s}, {input: later}]}\n",
			i, []string{"hello", "close"}[i%2], grade, grade)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rehearse.yaml": fmt.Sprintf(`
models:
  agent: {provider: openai, model: agent, base_url: "%s/v1", api_key_env: FAULTS_KEY}
  refused: {provider: openai, model: agent, base_url: "%s/v1", api_key_env: FAULTS_KEY}
  tls: {provider: openai, model: agent, base_url: "%s/v1", api_key_env: FAULTS_KEY}
targets: {agent: {model: agent}, refused: {model: refused}, tls: {model: tls}}
target: agent
store: runs.db
`, server.URL, closed.URL, strings.Replace(server.URL, "http:", "https:", 1)),
		"suite.yaml": "name: faults\nexecution: {retries: 1, timeout: 6s}\ntests:\n" + tests.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("FAULTS_KEY", "key-of-the-test")
	held, _, _ := run(t, dir, func(c *evaluation.Config) {
		c.Spec.Limits = runspec.Limits{Workers: 8}
	})
	if n := held.Run.Totals; n.Errors != len(kinds) || n.Passed != len(kinds) || n.Tests != 2*len(kinds) ||
		held.Run.Code() != result.ExitNotRun {
		t.Errorf("totals %+v, exit code %d", n, held.Run.Code())
	}
	checkFaults(t, held.Dir, kinds)
}

func checkFaults(t *testing.T, dir string, kinds map[string]fault) {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, runlog.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r result.Test
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v: %.200s", err, lines.Text())
		}
		if seen[r.TestID] {
			t.Errorf("%s has two rows", r.TestID)
		}
		seen[r.TestID] = true
		kind, broken := kinds[r.TestID]
		if !broken {
			if r.Verdict != result.Pass || r.Score != 1 || len(r.Output) != 6 || len(r.Failures) > 0 {
				t.Errorf("%s: %s %v, failures %v", r.TestID, r.Verdict, r.Score, r.Failures)
			}
			continue
		}
		turns := 2
		items := "pass error skip skip"
		if kind.serve == nil { // its first turn fails already
			turns, items = 1, "error skip skip skip"
		}
		var verdicts []string
		for _, s := range r.Scores {
			verdicts = append(verdicts, string(s.Verdict))
		}
		if r.Verdict != result.Error || r.ExecutionStatus != result.ExecutionError || r.Score != 0 ||
			strings.Join(verdicts, " ") != items || len(r.Turns) != turns {
			t.Errorf("%s: %s %s %v, items %v, %d turns", r.TestID, r.Verdict, r.ExecutionStatus, r.Score, verdicts,
				len(r.Turns))
		}
		if len(r.Failures) != 1 || r.Failures[0].Code != kind.code || r.Failures[0].Turn != turns ||
			!sentence(r.Failures[0].Message) {
			t.Errorf("%s: failures %+v", r.TestID, r.Failures)
		}
	}
	if lines.Err() != nil || len(seen) != 2*len(kinds) {
		t.Errorf("%d rows, %v", len(seen), lines.Err())
	}
}

// sentence reports whether a message says something to a reader: who failed and how, on one line, without words of the
// program's inside.
func sentence(message string) bool {
	return strings.HasPrefix(message, "openai:agent at http") && len(message) > 60 && len(message) < 600 &&
		!strings.ContainsAny(message, "\n\x00") && !strings.Contains(message, "context deadline") &&
		!strings.Contains(message, "goroutine") && !strings.Contains(message, "key-of-the-test")
}
