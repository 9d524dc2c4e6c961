package detect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/app/detect"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
)

// find asks an agent at an address or with a line in which ADDRESS is its address.
func find(t *testing.T, line string, agent http.HandlerFunc) (*detect.Found, string, error) {
	t.Helper()
	web := httptest.NewServer(agent)
	t.Cleanup(web.Close)
	s, err := wire.Open(wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	found, err := detect.Find(t.Context(), s, detect.Request{
		Agent:  strings.NewReplacer("ADDRESS", web.URL, "HOST", web.Listener.Addr().String()).Replace(line),
		Folder: t.TempDir(),
	})
	if err != nil {
		return nil, "", err
	}
	files, err := found.Files("")
	if err != nil {
		return nil, "", err
	}
	_, written, _ := strings.Cut(string(files[0].Data), "  agent:\n")
	return found, strings.ReplaceAll(written, web.URL, "ADDRESS"), nil
}

func answers(media, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		_, _ = io.WriteString(w, body)
	}
}

const sse = "text/event-stream"

// What is written says where the reply, the pieces of a stream and the session are.
func TestFind(t *testing.T) {
	plain := "    kind: http\n    url: \"ADDRESS\"\n    body:\n      message: \"{{message}}\"\n      session_id: " +
		"\"{{session_id}}\"\n"
	fixed := strings.Replace(plain, "{{session_id}}", "{{conversation_id}}", 1)
	reply := "    answer:\n      text: \"$.reply\"\n"
	for name, tc := range map[string]struct {
		agent       http.HandlerFunc
		reply, want string
	}{
		"by name": {
			answers("application/json", `{"reply": "hi", "more": "a longer text"}`), "hi", plain + reply,
		},
		"longest spaced": {
			answers("application/json", `{"a": "0123456789012345", "b": "two words"}`), "two words",
			plain + "    answer:\n      text: \"$.b\"\n",
		},
		"longest": {
			answers("application/json", `{"a": "0123456789", "b": "01234"}`), "0123456789",
			plain + "    answer:\n      text: \"$.a\"\n",
		},
		"text": {answers("text/plain", "hi"), "hi", plain},
		"pieces": {
			answers(sse, "data: {\"d\":\"one \"}\n\ndata: {\"d\":\"two\"}\n\ndata: [DONE]\n\n"), "one two",
			plain + "    stream:\n      format: sse\n      text: \"$.d\"\n",
		},
		"the same id": {
			answers(sse, "data: {\"run\":\"aaaaaaaaaaaaaaaa bbb\",\"d\":\"a \"}\n\ndata: {\"run\":\"aaaaaaaaaaaaaaaa "+
				"bbb\",\"d\":\"b\"}\n\ndata: {\"run\":\"aaaaaaaaaaaaaaaa bbb\",\"d\":\"c\"}\n\n"),
			"a bc", plain + "    stream:\n      format: sse\n      text: \"$.d\"\n",
		},
		"words, no JSON": {
			answers(sse, "data: one\n\ndata:  two\n\n"), "one two",
			plain + "    stream:\n      format: sse\n      text: \"$\"\n",
		},
		"the text so far": {
			answers(sse, "data: {\"d\":\"one\"}\n\ndata: {\"d\":\"one two\"}\n\n"), "one two",
			plain + "    answer:\n      text: \"$.d\"\n    stream: sse\n",
		},
		"events by name": {
			answers(sse, "event: say\ndata: {\"d\":\"one two\"}\n\nevent: log\ndata: {\"d\":\"x\"}\n\n"), "one two",
			plain + "    stream:\n      format: sse\n      text:\n        path: \"$.d\"\n        event: say\n",
		},
		"lines undeclared": {
			answers("text/plain", "{\"d\":\"one \"}\n{\"d\":\"two\"}\n"), "one two",
			plain + "    stream:\n      format: jsonl\n      text: \"$.d\"\n",
		},
		"session": {
			answers("application/json", `{"reply": "hi", "session_id": "own"}`), "hi",
			plain + reply + "    session:\n      path: \"$.session_id\"\n",
		},
		"session, other name": {
			answers("application/json", `{"reply": "hi", "meta": {"threadId": 7, "chatId": "c"}}`), "hi",
			plain + reply + "    session:\n      path: \"$.meta.chatId\"\n",
		},
		"bot is no session": {answers("application/json", `{"reply": "hi", "sender": "bot"}`), "hi", plain + reply},
		"session in a header": {
			answers("application/json", `{"reply": "hi"}`, "Thread-Id", "own"), "hi",
			fixed + reply + "    session:\n      header: Thread-Id\n",
		},
		"session in a cookie": {
			answers("application/json", `{"reply": "hi"}`, "Set-Cookie", "theme=dark", "Set-Cookie", "JSESSIONID=7"),
			"hi", fixed + reply + "    session:\n      cookie: JSESSIONID\n",
		},
		"session repeated": {func(w http.ResponseWriter, r *http.Request) {
			var asked map[string]string
			_ = json.NewDecoder(r.Body).Decode(&asked)
			answers("application/json", fmt.Sprintf(`{"reply": "hi", "session_id": %q}`, asked["session_id"]))(w, r)
		}, "hi", plain + reply},
	} {
		found, written, err := find(t, "ADDRESS", tc.agent)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, written); diff != "" || found.Reply != tc.reply {
			t.Errorf("%s: %q %s", name, found.Reply, diff)
		}
	}
}

// What is no reply is none.
func TestNothing(t *testing.T) {
	for name, agent := range map[string]http.HandlerFunc{
		"empty":            answers("application/json", ""),
		"a page":           answers("", "<html>hello there</html>"),
		"an error":         answers("application/json", `{"error": "the tenant is unknown"}`),
		"an error's words": answers("application/json", `{"status": "error", "detail": "the quota is exceeded"}`),
		"an error beside":  answers("application/json", `{"error": "quota", "message": "the quota is exceeded"}`),
		"a broken stream": answers(sse,
			"data: {\"delta\": \"Hel\"}\n\nevent: error\ndata: {\"message\": \"it is overloaded\"}\n\n"),
		"no texts":          answers("application/json", `{"ok": true, "n": [1, 2]}`),
		"white space":       answers("application/json", `{"reply": "  "}`),
		"broken JSON":       answers("application/json", `{"reply": "he`),
		"a stream of nulls": answers(sse, "data: {\"d\": null}\n\n"),
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusFound)
		},
	} {
		_, _, err := find(t, "ADDRESS", agent)
		if _, ok := errors.AsType[*detect.NothingError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A body is built from what answers say about it.
func TestBodies(t *testing.T) {
	detail := func(kind string, loc ...any) string {
		d, _ := json.Marshal(map[string]any{"detail": []any{map[string]any{
			"loc": append([]any{"body"}, loc...), "type": kind,
		}}})
		return string(d)
	}
	for name, tc := range map[string]struct {
		refuse func(body map[string]any, form bool) string
		want   string
	}{
		"nested": {func(b map[string]any, _ bool) string {
			if data, _ := b["data"].(map[string]any); data["say"] == nil {
				return detail("missing", "data", "say")
			}
			return ""
		}, "    body:\n      data:\n        say: \"{{message}}\"\n"},
		"nested and named without words": {func(b map[string]any, _ bool) string {
			if payload, _ := b["payload"].(map[string]any); payload["utterance"] == nil {
				return `{"fault": {"missing": ["payload.utterance"]}}`
			}
			return ""
		}, "    body:\n      payload:\n        utterance: \"{{message}}\"\n"},
		"an id beside": {func(b map[string]any, _ bool) string {
			if b["user_id"] == nil {
				return detail("missing", "user_id")
			}
			return ""
		}, "      message: \"{{message}}\"\n      session_id: \"{{session_id}}\"\n      user_id: " +
			"\"{{conversation_id}}\"\n"},
		"a list": {func(b map[string]any, _ bool) string {
			if _, ok := b["message"].([]any); !ok {
				return detail("list_type", "message")
			}
			return ""
		}, "      message:\n        - \"{{message}}\"\n"},
		"nothing more": {func(b map[string]any, _ bool) string {
			if _, ok := b["session_id"]; ok {
				return detail("extra_forbidden", "session_id")
			}
			return ""
		}, "    body:\n      message: \"{{message}}\"\n"},
		"a form": {func(_ map[string]any, form bool) string {
			if !form {
				return detail("missing", "message")
			}
			return ""
		}, "    headers:\n      Content-Type: application/x-www-form-urlencoded\n"},
	} {
		_, written, err := find(t, "ADDRESS", func(w http.ResponseWriter, r *http.Request) {
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			if says := tc.refuse(body, strings.HasPrefix(r.Header.Get("Content-Type"),
				"application/x-www-form")); says != "" {
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = io.WriteString(w, says)
				return
			}
			_, _ = io.WriteString(w, `{"reply": "hi"}`)
		})
		if err != nil || !strings.Contains(written, tc.want) {
			t.Errorf("%s: %v\n%s", name, err, written)
		}
	}
}

// No credential of what was pasted is written, wherever it stood.
func TestCredentials(t *testing.T) {
	for _, line := range []string{
		`curl ADDRESS -H 'Authorization: Bearer sk-0123456789' -d message=x`,
		`curl ADDRESS -H 'X-Api-Key: sk-0123456789' -b 'sid=sk-0123456789' --json '{"text":"x","token":"sk-0123456789"}'`,
		`curl 'ADDRESS/x?api_key=sk-0123456789&query=hi'`,
		`curl 'ADDRESS/x?a=1&a=2&api_key=sk-0123456789&query=hi'`,
		`curl ADDRESS -u me:sk-0123456789 -d message=x`,
		`ADDRESS/x?api_key=sk-0123456789`,
		`http://me:sk-0123456789@HOST/x`,
	} {
		found, written, err := find(t, line, answers("application/json", `{"reply": "hi"}`))
		if err != nil || strings.Contains(written, "0123456789") || strings.Contains(written, "bWU6") ||
			!strings.Contains(written, "${{ AGENT_") {
			t.Errorf("%s: %v\n%s", line, err, written)
			continue
		}
		if len(found.Variables) == 0 {
			t.Errorf("%s: no variable is named", line)
		}
	}
}

// An agent that gives the id of a conversation under a name of its own gets it back; one that gives none is said to
// forget.
func TestSessionOfOtherNames(t *testing.T) {
	for answer, want := range map[string]string{
		`{"conversation": "6d190a5e-49d9-4f33-91be-cda396714031", "reply": "hi"}`: "conversation: \"{{session_id}}\"",
		`{"threadUuid": "t_00000042", "reply": "hi"}`:                             "threadUuid: \"{{session_id}}\"",
		`{"context": "orders of today", "reply": "hi"}`:                           "",
	} {
		found, written, err := find(t, "ADDRESS", func(w http.ResponseWriter, r *http.Request) {
			var body struct {
				Payload *struct{ Utterance string }
			}
			if _ = json.NewDecoder(r.Body).Decode(&body); body.Payload == nil {
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = io.WriteString(w, `{"missing": ["payload.utterance"]}`)
				return
			}
			_, _ = io.WriteString(w, answer)
		})
		if err != nil {
			t.Fatal(err)
		}
		var told strings.Builder
		if err := found.Report(&told, nil, ""); err != nil {
			t.Fatal(err)
		}
		if forgets := strings.Contains(told.String(), "none was found"); !strings.Contains(written, want) ||
			forgets != (want == "") {
			t.Errorf("%s:\n%s\n%s", answer, written, told.String())
		}
	}
}
