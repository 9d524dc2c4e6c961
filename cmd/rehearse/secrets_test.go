package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// canaries are secrets by what names them.
var canaries = map[string]string{
	"OPENAI_API_KEY": "sk-canary+own/123", "LLAMA": "named\"ca&nary<1>", "SHORT": "zq9!", "CITY": "Canary-la-Ville",
	"TARGET_VAR": "tok canary é%7", "SHOP_PASS": "looks-canary-1", "DSN_TOKENS": "looks-canary-2", "URL": "pw@canary:3",
	"QUERY": "query-canary-4", "DATABASE_URL": "dbpw-canary-5",
}

// written returns the forms in which an endpoint may repeat a secret.
func written(secret string) []string {
	quoted, _ := json.Marshal(secret)
	everyByte := ""
	for _, by := range []byte(secret) {
		everyByte += fmt.Sprintf("%%%02x", by)
	}
	forms := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), everyByte, strings.ToUpper(everyByte),
		strings.Trim(string(quoted), `"`), html.EscapeString(secret), hex.EncodeToString([]byte(secret)),
		strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for _, encoding := range []*base64.Encoding{
		base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding,
	} {
		for before := range 3 {
			forms = append(forms, encoding.EncodeToString([]byte("Basic: "[:before]+secret)),
				encoding.EncodeToString([]byte("Basic: "[:before]+secret+":x")))
		}
	}
	return forms
}

// parrot is an endpoint that tells every secret in every form: in replies, verdicts, tool calls, errors and headers.
func parrot(t *testing.T) *httptest.Server {
	said := ""
	for _, secret := range canaries {
		said += strings.Join(written(secret), "\n") + "\n"
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Echo", url.QueryEscape(said[:1000]))
		w.Header().Set("Content-Type", "application/json")
		answer := map[string]any{
			"role": "assistant", "content": "It is " + said + r.Header.Get("Authorization") + " " + r.URL.String(),
		}
		switch {
		case bytes.Contains(body, []byte("fail now")):
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "no: " + said}})
			return
		case bytes.Contains(body, []byte(`"model":"other"`)):
			var asked struct{ Messages []struct{ Content string } }
			_ = json.Unmarshal(body, &asked)
			answer["content"] = checksOf(asked.Messages[1].Content, false, said)
		case bytes.Contains(body, []byte("call a tool")):
			args, _ := json.Marshal(map[string]any{"secret": said, said: 1})
			answer["tool_calls"] = []any{map[string]any{
				"id": "1", "type": "function", "function": map[string]any{"name": "f", "arguments": string(args)},
			}}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"index": 0, "message": answer, "finish_reason": "stop"}},
			"usage":   map[string]any{"prompt_tokens": 1, "completion_tokens": 1},
		})
	}))
	t.Cleanup(server.Close)
	return server
}

// secretEnvironment is a folder with a configuration and a suite that name the canaries, and an environment that holds
// them.
func secretEnvironment(t *testing.T) (dir string, environ []string) {
	t.Helper()
	dir = t.TempDir()
	address := strings.TrimPrefix(parrot(t).URL, "http://")
	at := "http://ada:" + url.QueryEscape(canaries["URL"]) + "@" + address + "/v1?key=" + canaries["QUERY"]
	files := map[string]string{
		"rehearse.yaml": `
models:
  agent: {provider: openai, model: agent, base_url: "` + at + `", api_key_env: LLAMA}
  other: {provider: openai, model: other, base_url: "http://` + address + `/v1", api_key_env: SHORT}
targets:
  plain: {model: agent}
  server: {kind: http, url: "` + at +
			`", token_env: TARGET_VAR, flow_id: f, retries: 0, headers: {X-City: "${{ CITY }}"}}
judge: {model: other}
`,
		"suite.yaml": `
execution: {retries: 0}
tests:
  - {id: said, input: "is it ${{ CITY }}?", assertions: [{type: contains, value: "${{ CITY }}"}]}
  - {id: leaked, input: hi, assertions: [{type: not_contains, value: "${{ CITY }}"}]}
  - {id: judged, input: hello, assertions: [it is kind]}
  - {id: calls, input: call a tool, assertions: [{type: tool_call, name: f}]}
  - {id: program, input: hello, assertions: [{type: command, command: [sh, -c, "env | grep -v PWD= >&2; exit 3"]}]}
  - {id: broken, input: fail now, assertions: [{type: contains, value: x}]}
`,
		"talk.flow.yaml": "id: f\nnodes:\n  - {id: start, type: start, prompt: Talk, next: [end]}\n  - {id: end, " +
			"type: stop, prompt: Bye}\n",
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ = []string{"PATH=" + os.Getenv("PATH"), "DATABASE_URL=postgres://ada:" + canaries["DATABASE_URL"] + "@db/x"}
	for name, secret := range canaries {
		if name != "URL" && name != "QUERY" && name != "DATABASE_URL" {
			environ = append(environ, name+"="+secret)
		}
	}
	return dir, environ
}

// noCanary fails for each secret that a text holds in some form.
func noCanary(t *testing.T, where, text string) {
	t.Helper()
	for name, secret := range canaries {
		for _, form := range written(secret) {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("%s holds %s as %q: …%s", where, name, form, text[max(0, at-60):min(len(text), at+60)])
				break
			}
		}
	}
}

// secretsEnv returns an Env with that environment, and what it prints.
func secretsEnv(environ []string) (env *Env, out *lockedBuffer) {
	out = &lockedBuffer{}
	lookup := func(name string) (string, bool) {
		at := slices.IndexFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		if at < 0 {
			return "", false
		}
		return environ[at][len(name)+1:], true
	}
	return &Env{
		Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Environ: environ, LookupEnv: lookup, Now: time.Now,
	}, out
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

// TestNoSecretLeaves runs, records, plays back, resumes and shows a run in which everything tells every secret: no form
// of one is in any file or on the terminal, and the verdicts are those of what was really said.
func TestNoSecretLeaves(t *testing.T) {
	dir, environ := secretEnvironment(t)
	t.Chdir(dir)
	verdicts := map[string]string{
		"said": "pass", "leaked": "fail", "judged": "fail", "calls": "pass", "program": "error", "broken": "error",
	}
	for _, c := range []struct {
		code int
		args string
	}{
		{2, "validate suite.yaml missing.yaml --format json"},
		{3, "run suite.yaml --target plain --out out --record calls.jsonl --verbose"},
		{3, "run suite.yaml --target plain --out again --baseline out --replay calls.jsonl"},
		{3, "run --resume out --rerun errors"},
		{3, "run suite.yaml --target server --out posted --filter judged"},
		{0, "show out"},
		{0, "show out --test judged"},
		{0, "doctor"},
		{2, "run suite.yaml --target openai:agent --config postgres://ada:dbpw-canary-5@db/x"},
		{2, "flow mine --store mysql://ada:dbpw-canary-5@db/x"},
	} {
		env, out := secretsEnv(environ)
		if code := Main(t.Context(), env, strings.Fields(c.args)); code != c.code &&
			!strings.HasPrefix(c.args, "doctor") {
			t.Errorf("%s: exit code %d, want %d:\n%s", c.args, code, c.code, out)
		}
		noCanary(t, "the terminal of "+c.args, out.String())
	}
	for _, run := range []string{"out", "again"} {
		data, err := os.ReadFile(filepath.Join(run, "results.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for line := range bytes.Lines(data) {
			var record struct {
				TestID  string `json:"test_id"`
				Verdict string `json:"verdict"`
			}
			if err := json.Unmarshal(line, &record); err != nil {
				t.Fatal(err)
			}
			got[record.TestID] = record.Verdict
		}
		if fmt.Sprint(got) != fmt.Sprint(verdicts) {
			t.Errorf("the verdicts of %s are %v, want %v", run, got, verdicts)
		}
	}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		noCanary(t, "the name of "+name, name)
		if err != nil || d.IsDir() || name == "rehearse.yaml" || name == "suite.yaml" {
			return err
		}
		data, err := os.ReadFile(name)
		noCanary(t, name, string(data))
		if strings.HasPrefix(filepath.Base(name), "report.") && bytes.Contains(data, []byte(dir)) {
			t.Errorf("%s names the folder of this machine: %s", name,
				data[max(0, bytes.Index(data, []byte(dir))-80):][:160])
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNoSecretIsServed asks a server whose model tells every secret, and one whose model fails.
func TestNoSecretIsServed(t *testing.T) {
	dir, environ := secretEnvironment(t)
	t.Chdir(dir)
	env, out := secretsEnv(environ)
	signals := make(chan os.Signal, 1)
	env.Signals = signals
	ended := make(chan int)
	go func() {
		ended <- Main(t.Context(), env, []string{
			"serve", "--addr", "127.0.0.1:0", "--flows", "talk.flow.yaml", "--model", "agent",
		})
	}()
	defer func() {
		signals <- os.Interrupt
		<-ended
		noCanary(t, "the log of the server", out.String())
	}()
	address := ""
	for deadline := time.Now().Add(time.Minute); address == ""; time.Sleep(10 * time.Millisecond) {
		if _, after, ok := strings.Cut(out.String(), "listening on "); ok && strings.Contains(after, "\n") {
			address, _, _ = strings.Cut(after, "\n")
		} else if time.Now().After(deadline) {
			t.Fatalf("the server does not listen:\n%s", out)
		}
	}
	for _, said := range []string{"hello", "call a tool", "fail now"} {
		for _, accept := range []string{"application/json", "text/event-stream"} {
			body, _ := json.Marshal(map[string]any{
				"flow": map[string]string{"ref": "f"}, "current_node_id": "start", "latest_user_message": said,
				"history": []any{}, "memory": map[string]any{"turn_index": 0},
			})
			request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/execute",
				bytes.NewReader(body))
			request.Header.Set("Accept", accept)
			request.Header.Set("Content-Type", "application/json")
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			data, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			noCanary(t, "the answer to "+said, string(data)+fmt.Sprint(answer.Header))
			if said == "fail now" && (bytes.Contains(data, []byte("no: ")) || bytes.Contains(data, []byte("/v1"))) {
				t.Errorf("the answer tells what the provider said, or where it is: %s", data)
			}
			if said == "hello" && !bytes.Contains(data, []byte("It is")) {
				t.Errorf("the answer to %s is %s", said, data)
			}
		}
	}
}
