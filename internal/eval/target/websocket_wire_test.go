package target

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// wireAgent accepts WebSockets and writes frames as the function does, after the first message has come.
func wireAgent(t *testing.T, serve func(c net.Conn)) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				request, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				sum := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") +
					"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
				_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+
					"websocket\r\nSec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
				if op, _ := readFrame(r, c); op == 1 {
					serve(c)
				}
				for {
					if op, err := readFrame(r, c); err != nil || op == 8 {
						return
					}
				}
			}()
		}
	}()
	return "ws://" + listener.Addr().String()
}

// readFrame reads frames up to one that is no ping, which it answers.
func readFrame(r *bufio.Reader, c net.Conn) (op byte, err error) {
	for {
		var head [2]byte
		if _, err = io.ReadFull(r, head[:]); err != nil {
			return 0, err
		}
		body := make([]byte, 4+int(head[1]&127)) // the tests' own messages are short
		if _, err = io.ReadFull(r, body); err != nil {
			return 0, err
		}
		for i := range body[4:] {
			body[4+i] ^= body[i%4]
		}
		if op = head[0] & 15; op != 9 {
			return op, nil
		}
		_, _ = c.Write(frame(0x8a, string(body[4:])))
	}
}

// frame is an unmasked frame whose first byte is given.
func frame(first byte, body string) []byte {
	head := []byte{first, byte(len(body))}
	if len(body) > 125 {
		head = binary.BigEndian.AppendUint16([]byte{first, 126}, uint16(len(body)))
	}
	return append(head, body...)
}

// One row is what an agent does on the wire. It never makes a reply that the agent did not give.
func TestWebsocketFrames(t *testing.T) {
	const text, binary, more, last, closing = 0x81, 0x82, 0x01, 0x80, 0x88
	say := func(frames ...[]byte) func(net.Conn) {
		return func(c net.Conn) {
			for _, f := range frames {
				_, _ = c.Write(f)
			}
		}
	}
	for name, tc := range map[string]struct {
		serve       func(net.Conn)
		reply, says string
	}{
		"fragments, one in the middle of a letter": {
			say(frame(more, "{\"reply\": \"gr\xc3"), frame(0x89, "ping"), frame(0x00, "\xbc"), frame(last, `n"}`)),
			"grün", "",
		},
		"a binary message": {say(frame(binary, `{"reply": "b"}`)), "b", ""},
		"an empty reply":   {say(frame(text, `{"reply": ""}`)), "", ""},
		"empty messages first": {
			say(frame(text, ""), frame(text, ""), frame(text, `{"reply": "r"}`)), "r", "",
		},
		"a close with a reason": {
			say(frame(closing, "\x03\xf3out of \x1b[31mmemory\n")), "", "broke off: closed with 1011, out of ",
		},
		"a close without a code": {say(frame(closing, "")), "", "broke off: closed with 1005"},
		"a reply, then a close": {
			say(frame(text, `{"reply": "r"}`), frame(closing, "\x03\xe8bye")), "r", "",
		},
		"no close": {func(c net.Conn) { _ = c.Close() }, "", "broke off"},
		"the middle of a frame": {
			func(c net.Conn) { _, _ = c.Write([]byte("\x81\x20{\"reply\": \"ha")); _ = c.Close() }, "", "broke off",
		},
		"the middle of a message": {func(c net.Conn) {
			_, _ = c.Write(frame(more, `{"reply": "half"`))
			_ = c.Close()
		}, "", "broke off"},
		"100 MB": {
			say([]byte("\x81\x7f\x00\x00\x00\x00\x06\x40\x00\x00"), []byte(strings.Repeat("x", 4096))), "",
			"larger than 2 KB",
		},
		"a length below zero":   {say([]byte("\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff")), "", "broke off"},
		"compressed unasked":    {say(frame(0xc1, "\xaaV*J-\xc8\xa9T\xb2R*R\xaa\x05\x00")), "", "broke off"},
		"an unknown frame":      {say(frame(0x83, "x")), "", "broke off"},
		"bytes that no text is": {say(frame(text, "{\"reply\": \"\xff\"}")), "", "UTF-8"},
		"no JSON":               {say(frame(text, "soon"), frame(text, `{"reply": "r"}`)), "r", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := wireAgent(t, tc.serve)
			x := opened(t, wireParts(t), `{url: "`+address+`", max_bytes: 2048, answer: $.reply, timeout: 60s}`)
			replies, err := held(t, x, "c", "a")
			switch {
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says) ||
				strings.ContainsAny(err.Error(), "\x1b\n") || !utf8.ValidString(err.Error())):
				t.Errorf("%q, want %q", err, tc.says)
			case tc.says == "" && (err != nil || replies[0].Text != tc.reply):
				t.Errorf("%+v, %v", replies, err)
			}
		})
	}
}

// Messages without end are bounded in their number, too: each takes room, also an empty one.
func TestWebsocketFlood(t *testing.T) {
	flood := func(c net.Conn) {
		many := []byte(strings.Repeat("\x81\x00", 4096))
		for {
			if _, err := c.Write(many); err != nil {
				return
			}
		}
	}
	x := opened(t, wireParts(t), `{url: "`+wireAgent(t, flood)+`", timeout: 60s}`)
	if _, err := held(t, x, "c", "a"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%v", err)
	}
}

// A conversation in which a message was not answered to its end goes no further: a late answer is never the next one's.
func TestWebsocketLateAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		yaml, first, then string
		late              bool
	}{
		"a time-out": {`timeout: 300ms`, "", `{"reply": "late"}`, true},
		"an error within a stream": {
			`stream: {text: $.t, error: $.error, end: {if: {$.done: true}}}`, `{"error": "oh"}`, `{"done": true}`, true,
		},
		"an error that is an answer": {`answer: {text: $.reply, error: $.error}`, `{"error": "oh"}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			var said atomic.Int32
			address, _ := socketAgent(t, func(ctx context.Context, c *websocket.Conn, _ *http.Request) {
				for {
					if _, _, err := c.Read(ctx); err != nil {
						return
					}
					if said.Add(1) > 1 {
						write(ctx, c, `{"reply": "second", "t": "second"}`, `{"done": true}`)
						continue
					}
					if tc.first != "" {
						write(ctx, c, tc.first)
					}
					if tc.then != "" {
						go func() {
							<-release
							write(ctx, c, tc.then)
						}()
					}
				}
			})
			x := opened(t, wireParts(t), `{url: "`+address+`", `+tc.yaml+`}`)
			s, err := x.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "t"}, ConversationID: "c"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Send(t.Context(), chat.Content{Text: "a"}); err == nil {
				t.Error("the first message was answered")
			}
			reply, err := s.Send(t.Context(), chat.Content{Text: "b"})
			close(release)
			if tc.late && (err == nil || !strings.Contains(err.Error(), "may belong to it") || said.Load() != 1) ||
				!tc.late && (err != nil || reply.Text != "second") {
				t.Errorf("%q, %v, after %d messages", reply.Text, err, said.Load())
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What an agent calls or complains of unasked is named like a reply.
func TestWebsocketUnasked(t *testing.T) {
	for then, named := range map[string]bool{
		`{"error": "the bill was not paid"}`: true, `{"call": {"name": "refund"}}`: true, `{"reply": "more"}`: true,
		`{"typing": true}`: false, `oh`: false,
	} {
		address, _ := socketAgent(t, func(ctx context.Context, c *websocket.Conn, _ *http.Request) {
			for {
				if _, _, err := c.Read(ctx); err != nil {
					return
				}
				write(ctx, c, `{"reply": "one"}`, then)
			}
		})
		x := opened(t, wireParts(t), `{url: "`+address+
			`", answer: {text: $.reply, error: $.error, tool_calls: {path: $.call}}}`)
		_, err := held(t, x, "c", "a", "b")
		if named != (err != nil && strings.Contains(err.Error(), "spoke on after its answer: "+then)) {
			t.Errorf("%s: %v", then, err)
		}
	}
}

// An agent that refuses while it is waited for says why at once.
func TestWebsocketGreetsWithAnError(t *testing.T) {
	address, _ := socketAgent(t, func(ctx context.Context, c *websocket.Conn, _ *http.Request) {
		write(ctx, c, `{"error": {"message": "token expired"}}`)
		_, _, _ = c.Read(ctx)
	})
	x := opened(t, wireParts(t), `{url: "`+address+
		`", open: {wait: {path: $.ready}}, answer: {error: $.error}, timeout: 60s}`)
	if _, err := held(t, x, "c", "a"); err == nil ||
		!strings.Contains(err.Error(), "the agent reports an error: token expired") {
		t.Error(err)
	}
}

// A message is never said twice: neither when the connection ends after it, nor when an answer cannot be read.
func TestWebsocketSaysOnce(t *testing.T) {
	var said, conns atomic.Int32
	address, _ := socketAgent(t, func(ctx context.Context, c *websocket.Conn, _ *http.Request) {
		conns.Add(1)
		if _, _, err := c.Read(ctx); err == nil {
			said.Add(1)
		}
		_ = c.Close(websocket.StatusTryAgainLater, "restarting")
	})
	p := wireParts(t)
	p.Retries = new(3)
	_, err := held(t, opened(t, p, `{url: "`+address+`"}`), "c", "a")
	if err == nil || !strings.Contains(err.Error(), "broke off: closed with 1013, restarting") || said.Load() != 1 ||
		conns.Load() != 1 {
		t.Errorf("%v; said %d times over %d connections", err, said.Load(), conns.Load())
	}
}

// A server that hangs up during the handshake was reached, and says so; the conversation may begin again.
func TestWebsocketHandshakeBreaksOff(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var tried atomic.Int32
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			tried.Add(1)
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_ = c.Close()
		}
	}()
	p := wireParts(t)
	p.Retries = new(1)
	x := opened(t, p, `{url: "ws://`+listener.Addr().String()+`/x?key=hush"}`)
	for range 6 { // which is no reason not to ask
		if _, err := held(t, x, "c", "a"); err == nil || !strings.Contains(err.Error(), "the handshake broke off") ||
			strings.Contains(err.Error(), "hush") {
			t.Fatal(err)
		}
	}
	if tried.Load() != 12 {
		t.Errorf("tried %d times", tried.Load())
	}
}

// Nobody waits long for a conversation that has ended already.
func TestWebsocketClosesAtOnce(t *testing.T) {
	address := wireAgent(t, func(c net.Conn) {
		_, _ = c.Write(frame(0x81, `{"reply": "`+strings.Repeat("x", 2000)+`"}`))
		<-t.Context().Done()
	})
	x := opened(t, wireParts(t), `{url: "`+address+`", max_bytes: 1024}`)
	s, err := x.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "t"}, ConversationID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send(t.Context(), chat.Content{Text: "a"}); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	started := time.Now()
	if err := s.Close(); err != nil || time.Since(started) > 4*time.Second {
		t.Errorf("%v after %s", err, time.Since(started))
	}
}
