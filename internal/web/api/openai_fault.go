package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// fail answers a call for which the model failed.
func (s *openAI) fail(w http.ResponseWriter, asked *chatRequest, err error) {
	var injected *llm.Injected
	var failure *llm.Error
	errors.As(err, &failure)
	if errors.As(err, &injected) {
		switch injected.Kind {
		case llm.InjectRefusal:
			hangUp(w, "")
			return
		case llm.InjectCut:
			s.cut(w, asked)
			return
		case llm.InjectMalformed:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, injected.Body)
			return
		}
	}
	if failure == nil {
		writeError(w, http.StatusInternalServerError, "internal", err.Error())
		return
	}
	if failure.RetryAfter > 0 {
		setRetryAfter(w.Header(), failure.RetryAfter)
	}
	message := failure.Error()
	if injected != nil {
		message = injected.Body
		if json.Valid([]byte(message)) { // the script has the whole body
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(failure.Status)
			_, _ = io.WriteString(w, message)
			return
		}
	}
	writeError(w, statusOf(failure), string(failure.Fault), message)
}

// setRetryAfter sets whole seconds, rounded up, and the exact milliseconds when they differ.
func setRetryAfter(h http.Header, d time.Duration) {
	h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(d.Seconds())), 10))
	if d%time.Second != 0 {
		h.Set("Retry-After-Ms", strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64))
	}
}

// statusOf returns the status that makes a client see the same fault.
func statusOf(e *llm.Error) int {
	if e.Status >= http.StatusBadRequest {
		return e.Status
	}
	switch e.Fault {
	case llm.Unauthorized:
		return http.StatusUnauthorized
	case llm.RateLimited:
		return http.StatusTooManyRequests
	case llm.TimedOut:
		return http.StatusGatewayTimeout
	case llm.Unreachable, llm.Malformed:
		return http.StatusBadGateway
	case llm.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// writeError answers in OpenAI's error shape.
func writeError(w http.ResponseWriter, status int, code, message string) {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		kind = "authentication_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	writeJSON(w, status, map[string]any{"error": map[string]any{
		"message": message, "type": kind, "param": nil, "code": code,
	}})
}

// cut sends half of an answer after announcing its whole length.
func (s *openAI) cut(w http.ResponseWriter, asked *chatRequest) {
	contentType, body := raw(s.completion(asked.Model, chat.Reply{Text: llm.CutText}), asked.Stream)
	hangUp(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", contentType, len(body),
		body[:len(body)/2]))
}

// hangUp takes the connection from the server, writes last and closes it; with nothing to write, it resets the
// connection.
func hangUp(w http.ResponseWriter, last string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // HTTP/2: the server can only end the stream
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = conn.Close() }()
	if last == "" {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		return
	}
	_, _ = io.WriteString(conn, last)
}
