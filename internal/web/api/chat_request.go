package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
)

// Bounds of a visitor's message. A message longer than sitebot.MaxInput must pass: the chatbot answers it.
const (
	maxChatMB = 1
	maxReveal = 64 << 10
)

// chatBody is the body of POST /api/v1/chat.
type chatBody struct {
	SiteName  string `json:"site_name"`
	SessionID string `json:"session_id"`
	Input     string `json:"input"`
	PersonID  string `json:"person_id"`
	Language  string `json:"language"`
	// TurnNumber is how many answers the page has seen.
	TurnNumber int             `json:"turn_number"`
	Reveal     json.RawMessage `json:"reveal"`
}

// readChat reads a visitor's message. The error is a *Problem.
func (s *Chats) readChat(w http.ResponseWriter, r *http.Request) (asked sitebot.Request, err error) {
	data, err := readJSONUpTo(w, r, maxChatMB, "shorten the message")
	if err != nil {
		return asked, err
	}
	var body chatBody
	if err := decodeUTF8(data, &body); err != nil {
		return asked, err
	}
	if p := s.weakID(r, body.SessionID, body.SiteName); p != nil && strings.TrimSpace(body.SessionID) != "" {
		return asked, p.at("/session_id")
	}
	if err := body.check(); err != nil {
		return asked, err
	}
	ip, visitor := visitorIP(r, s.TrustedProxies), isVisitor(r)
	if visitor && s.addresses.shared(ip, body.SessionID) {
		s.Log.WarnContext(r.Context(), "all visitors share one loopback address, and one rate limit: "+
			"have the proxy send X-Forwarded-For, and name it "+
			"with --trusted-proxy", "address", ip.String())
	}
	return sitebot.Request{
		Site: body.SiteName, Session: body.SessionID, Input: body.Input, PersonID: body.PersonID,
		Language: body.Language, TurnNumber: body.TurnNumber, Reveal: body.Reveal, IP: ip, Visitor: visitor,
	}, nil
}

// decodeUTF8 is decodeStrictly with the code of the chat.
func decodeUTF8(data []byte, into any) error {
	err := decodeStrictly(data, into)
	if p, ok := errors.AsType[*Problem](err); ok {
		p.Code = string(sitebot.InvalidRequest)
	}
	return err
}

func (b *chatBody) check() error {
	for _, f := range []struct {
		name, value string
		needed      bool
	}{
		{"site_name", b.SiteName, true}, {"session_id", b.SessionID, true}, {"person_id", b.PersonID, false},
		{"language", b.Language, false},
	} {
		switch {
		case f.needed && strings.TrimSpace(f.value) == "":
			return invalidChat(f.name+" is missing", `send {"site_name": "…", "session_id": "…", "input": "…"}`,
				"/"+f.name)
		case clean(f.value) != f.value:
			return invalidChat(f.name+" cannot be used", fmt.Sprintf("use at most %d printable characters", maxID),
				"/"+f.name)
		}
	}
	if strings.TrimSpace(b.Input) == "" {
		return invalidChat("the message is blank", `send something to answer as "input"`, "/input")
	}
	if b.TurnNumber < 0 {
		return invalidChat("turn_number cannot be used",
			"send the number of answers so far, 0 or more, or leave it out", "/turn_number")
	}
	if string(b.Reveal) == "null" {
		b.Reveal = nil
	}
	if b.Reveal != nil && (!bytes.HasPrefix(b.Reveal, []byte("{")) || len(b.Reveal) > maxReveal) {
		return invalidChat("reveal cannot be used",
			fmt.Sprintf("send a JSON object of at most %d KB, or leave it out", maxReveal>>10), "/reveal")
	}
	return nil
}

func invalidChat(detail, hint, pointer string) *Problem {
	return newProblem(http.StatusBadRequest, string(sitebot.InvalidRequest), detail, hint).at(pointer)
}
