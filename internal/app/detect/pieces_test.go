package detect_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// speaks is an agent behind a WebSocket that answers each message with the same ones.
func speaks(said ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			if _, _, err := c.Read(r.Context()); err != nil {
				return
			}
			for _, data := range said {
				if c.Write(r.Context(), websocket.MessageText, []byte(data)) != nil {
					return
				}
			}
		}
	}
}

// A reply that comes over a WebSocket in pieces is found whole, with what tells its end; where nothing does, nothing is
// written.
func TestFindPieces(t *testing.T) {
	for name, tc := range map[string]struct {
		said              []string
		reply, want, says string
	}{
		"one message":      {[]string{`{"reply": "hi there"}`}, "hi there", "", ""},
		"a word beside it": {[]string{`{"reply": "hi there"}`, `{"typing": false}`}, "hi there", "", ""},
		"a word beside what has no name": {
			[]string{`{"d": "hi there"}`, `{"typing": false}`}, "hi there", "    answer:\n      text: \"$.d\"\n", "",
		},
		"pieces of no name": {
			[]string{`{"d": "one "}`, `{"d": "two"}`, `{"end": true}`},
			"one two",
			"    stream:\n      text: \"$.d\"\n      end:\n        if:\n          \"$.end\": true\n", "",
		},
		"by type": {
			[]string{
				`{"type": "start", "id": "m1"}`, `{"type": "delta", "delta": "one "}`,
				`{"type": "delta", "delta": "two"}`, `{"type": "done"}`,
			},
			"one two",
			"    stream:\n      text: \"$.delta\"\n      end:\n        if:\n          \"$.type\": done\n", "",
		},
		"by a flag": {
			[]string{
				`{"token": "one ", "done": false}`, `{"token": "two", "done": false}`, `{"token": "", "done": true}`,
			},
			"one two",
			"    stream:\n      text: \"$.token\"\n      end:\n        if:\n          \"$.done\": true\n", "",
		},
		"by data": {
			[]string{`{"text": "one "}`, `{"text": "two"}`, `[DONE]`}, "one two",
			"    stream:\n      text: \"$.text\"\n      end:\n        data: \"[DONE]\"\n", "",
		},
		"the text so far": {
			[]string{`{"text": "one", "final": false}`, `{"text": "one two", "final": true}`},
			"one two",
			"    answer:\n      text: \"$.text\"\n    stream:\n      end:\n        if:\n          \"$.final\": true\n",
			"",
		},
		"no end": {
			[]string{`{"text": "one ", "id": "m1"}`, `{"text": "two", "id": "m2"}`}, "", "",
			"nothing in the last one says that it is the last",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, written, err := find(t, "ws://HOST", speaks(tc.said...))
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("%v, want %q", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if found.Reply != tc.reply || !strings.HasSuffix(written, tc.want) ||
				tc.want == "" && strings.Contains(written, "stream") {
				t.Errorf("%q\n%s\nwant %q\n%s", found.Reply, written, tc.reply, tc.want)
			}
		})
	}
}
