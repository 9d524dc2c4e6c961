package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// maxContext bounds the body of a turn.
const maxContext = 4 << 20

// Time limits for sending head and body together, and for taking an answer. The time of a turn is limited elsewhere.
const (
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
)

// gate admits a bounded number at a time.
type gate chan struct{}

func (g gate) enter() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

// enterWithin waits for a place.
func (g gate) enterWithin(ctx context.Context, patience time.Duration) bool {
	if g.enter() {
		return true
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case g <- struct{}{}:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

func (g gate) leave() { <-g }

// drain takes every place itself and thereby waits until all have left. If all have, it does not matter that ctx has
// ended.
func (g gate) drain(ctx context.Context) error {
	for range cap(g) {
		if g.enter() {
			continue
		}
		select {
		case g <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// readingPatience is how long a document waits for a place to be read.
const readingPatience = time.Second

// readingKey is the key of a request's context under which the gate of reading stands.
type readingKey struct{}

// limited runs what reads or plans a document that a request brings. All entry points share the 2 × cores places of the
// server, so that documents that are expensive to read bound nothing but each other. Without a place within a second
// the error is a *Problem. do must not call limited.
func limited(ctx context.Context, do func() error) error {
	places, ok := ctx.Value(readingKey{}).(gate)
	if !ok { // a handler without a front serves one request at a time
		return do()
	}
	if !places.enterWithin(ctx, readingPatience) {
		return newProblem(http.StatusServiceUnavailable, codeReading,
			"too many submissions are read and planned at the moment",
			"wait for as long as Retry-After says, then send it again").after(time.Second)
	}
	defer places.leave()
	return do()
}

// checkNodes refuses JSON with more values than a submission may have, before any is made. The error is a *Problem.
func checkNodes(body []byte, shorten string) error {
	if source.JSONNodes(body) <= source.MaxSubmitted {
		return nil
	}
	return newProblem(http.StatusRequestEntityTooLarge, codeTooLarge,
		fmt.Sprintf("the body has more than %d keys and values", source.MaxSubmitted), shorten).at("")
}

// readJSONBody reads a body of up to 4 MB. It accepts JSON and undeclared media types. The error is a *Problem.
func readJSONBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return readJSONUpTo(w, r, maxContext>>20, "shorten the history")
}

// readJSONUpTo reads JSON up to a size in megabytes; shorten is the hint for a larger body.
func readJSONUpTo(w http.ResponseWriter, r *http.Request, megabytes int, shorten string) ([]byte, error) {
	if !jsonMedia(r.Header.Get("Content-Type")) {
		return nil, newProblem(http.StatusUnsupportedMediaType, codeMediaType,
			"the body is of the media type "+strconv.Quote(r.Header.Get("Content-Type")),
			"send JSON, with Content-Type: application/json")
	}
	body, err := readUpTo(w, r, megabytes, shorten)
	if err == nil {
		err = checkNodes(body, shorten)
	}
	return body, err
}

// readUpTo reads a body of any media type. Listening limits its time.
func readUpTo(w http.ResponseWriter, r *http.Request, megabytes int, shorten string) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(megabytes)<<20))
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, newProblem(http.StatusRequestEntityTooLarge, codeTooLarge,
			fmt.Sprintf("the body is larger than %d MB", megabytes), shorten)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, newProblem(http.StatusRequestTimeout, codeSlowBody,
			"the body did not arrive within "+readTimeout.String(), "send it at once")
	}
	return nil, newProblem(http.StatusBadRequest, codeInvalid, "the body cannot be read: "+err.Error(),
		"send one JSON object").at("")
}

// paced gives a client the time for taking an answer once for each piece: files may be large, and streams long.
type paced struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController.
func (p paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p paced) Write(data []byte) (int, error) {
	// fails for a recorder in a test
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout))
	return p.ResponseWriter.Write(data)
}

// jsonMedia reports whether a body may be JSON. It accepts a form's media type, because curl -d sends it by default.
func jsonMedia(header string) bool {
	if header == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(header)
	if err != nil {
		return false
	}
	return media == "application/json" || strings.HasSuffix(media, "+json") ||
		media == "application/x-www-form-urlencoded"
}

// writeBody answers with JSON. It gives up on a client that does not read.
func writeBody(w http.ResponseWriter, status int, media string, v any) {
	body, err := encode(v)
	if err != nil {
		status, media = http.StatusInternalServerError, "application/problem+json"
		body = []byte(`{"type":"about:blank","status":500,"code":"` + codeInternal +
			`","detail":"the answer cannot be written as JSON"}` + "\n")
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
