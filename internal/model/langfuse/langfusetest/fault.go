package langfusetest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"
)

// Fault is how the server fails to answer a request. The zero Fault is none.
type Fault struct {
	// Status is answered, with Body, instead of carrying the request out; 0 carries it out.
	Status int
	Body   string
	// RetryAfter is the header of that name; empty for none.
	RetryAfter string
	// Delay is how long the server takes.
	Delay time.Duration
	// Cut breaks the answer off after its half.
	Cut bool
}

// TooMany refuses a request for its rate and asks to wait: seconds or a date.
func TooMany(retryAfter string) Fault {
	return Fault{
		Status: http.StatusTooManyRequests, RetryAfter: retryAfter,
		Body: `{"message":"429 - rate limit exceeded","error":"RateLimitError"}`,
	}
}

// Broken answers with a status of failure.
func Broken(status int) Fault {
	return Fault{Status: status, Body: `{"message":"Internal Server Error","error":"An unknown error occurred"}`}
}

// Fail has each of the faults happen once, in their order, to the requests that come next.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

func (f Fault) wait(ctx context.Context) bool {
	timer := time.NewTimer(f.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f Fault) write(w http.ResponseWriter, status int, data []byte) {
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	if f.Cut {
		data = data[:len(data)/2]
	}
	_, _ = w.Write(data)
	if f.Cut {
		_ = http.NewResponseController(w).Flush()
	}
}

// Transport asks the server within the process, so that the clock of testing/synctest runs.
func (s *Server) Transport() http.RoundTripper { return wire{s} }

type wire struct{ handler http.Handler }

func (t wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	cut := t.serve(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	res := w.Result()
	if cut {
		res.Body = io.NopCloser(io.MultiReader(res.Body, cutOff{}))
	}
	res.Request = r
	return res, nil
}

// serve reports whether the handler broke the answer off.
func (t wire) serve(w http.ResponseWriter, r *http.Request) (cut bool) {
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler { //nolint:errorlint // this very value is the protocol
				panic(p)
			}
			cut = true
		}
	}()
	t.handler.ServeHTTP(w, r)
	return false
}

type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
