package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

const (
	// batch is how many bytes of spans go into one request, at least, and every is how long they wait for more.
	batch = 512 << 10
	every = 2 * time.Second
	// most is how many bytes of spans wait to be sent. What comes on top is lost.
	most = 64 << 20
	// sendTime bounds one request. While the process ends, lastTime bounds the wait for one, and ending all of them.
	sendTime = 10 * time.Second
	lastTime = 3 * time.Second
	ending   = 20 * time.Second
	// maxAnswer is how much is read of an answer.
	maxAnswer = 64 << 10
)

// sender sends spans in the background, one request at a time. Nothing is sent, and no goroutine runs, until there is a span.
type sender struct {
	place    Resource
	client   *http.Client
	resource []trace.Attribute
	version  string
	// warn is told when spans are lost, once until some are taken again.
	warn func(text string)

	mu      sync.Mutex
	waiting [][]byte
	size    int
	// lost counts the spans that were not told of; failing is true from a failure to the next success.
	lost    int
	failing bool
	working bool
	// more wakes the goroutine, sent says that a request succeeded, closing that nothing more comes, done that the goroutine has ended.
	more, sent, closing, done chan struct{}
}

func newSender(p Resource, client *http.Client, resource []trace.Attribute, version string, warn func(string)) *sender {
	return &sender{
		place: p, client: client, resource: resource, version: version, warn: warn,
		more: make(chan struct{}, 1), sent: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
	}
}

// add takes an encoded span. It never waits for the network. The goroutine that it starts ends with close.
func (s *sender) add(ctx context.Context, span []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+len(span) > most {
		s.lost++
		return
	}
	if s.waiting, s.size = append(s.waiting, span), s.size+len(span); !s.working {
		s.working = true
		go s.work(ctx)
	}
	if s.size >= batch {
		poke(s.more)
	}
}

// poke says something to a goroutine, which may not listen just now.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take returns spans for one request; none when nothing waits.
func (s *sender) take() (spans [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, n := 0, 0
	for ; n < len(s.waiting) && size < batch; n++ {
		size += len(s.waiting[n])
	}
	spans, s.waiting, s.size = s.waiting[:n:n], s.waiting[n:], s.size-size
	if len(s.waiting) == 0 {
		s.waiting = nil // what was sent is not kept
	}
	return spans
}

// work sends what waits whenever there is enough of it, or it has waited long enough, and in the end.
func (s *sender) work(ctx context.Context) {
	defer close(s.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-s.more:
		case <-tick.C:
		case <-s.closing:
			last = true
		}
		for spans := s.take(); len(spans) > 0; spans = s.take() {
			if !s.send(ctx, spans) {
				break
			}
		}
	}
}

// close sends what waits and ends. A collector that does not answer is not waited for.
func (s *sender) close(stop context.CancelFunc) {
	s.mu.Lock()
	working := s.working
	s.working = true // nothing starts any more
	s.mu.Unlock()
	close(s.closing)
	if working {
		s.finish(stop)
	}
	s.mu.Lock()
	lost, failing := s.lost+len(s.waiting), s.failing
	s.mu.Unlock()
	if lost > 0 && !failing {
		s.warn(text.Plural(lost, "span") + " not sent to " + s.place.shown())
	}
	s.client.CloseIdleConnections()
}

// finish waits for the goroutine while it gets on.
func (s *sender) finish(stop context.CancelFunc) {
	defer time.AfterFunc(ending, stop).Stop()
	for {
		patience := time.NewTimer(lastTime)
		select {
		case <-s.done:
			patience.Stop()
			return
		case <-s.sent:
			patience.Stop()
		case <-patience.C:
			stop()
			<-s.done
			return
		}
	}
}

// send sends spans, and reports whether they were taken. Those that were not are lost.
func (s *sender) send(ctx context.Context, spans [][]byte) bool {
	body := encodeRequest(s.resource, s.version, spans)
	refused, _, err := retry.Do(ctx, patient(), func(ctx context.Context) (int, error) {
		limited, cancel := context.WithTimeout(ctx, sendTime)
		defer cancel()
		return s.post(limited, body)
	})
	switch {
	case err == nil && refused > 0:
		err = errors.New("it refused " + text.Plural(refused, "span"))
	case ctx.Err() != nil:
		err = errNoAnswer
	}
	s.mu.Lock()
	told := s.failing
	s.failing = err != nil
	s.mu.Unlock()
	if err == nil {
		poke(s.sent)
		return true
	}
	if !told {
		s.warn(fmt.Sprintf("traces cannot be sent to %s: %v; all else goes on", s.place.shown(), err))
	}
	return false
}

// patient is the policy that tries again where a collector may take the spans later.
func patient() retry.Policy {
	return retry.Policy{
		Retries: 2, First: 500 * time.Millisecond, MaxAfter: sendTime,
		Transient: func(err error) bool { return errors.As(err, new(*busy)) },
		After: func(err error) time.Duration {
			if b, ok := errors.AsType[*busy](err); ok {
				return b.after
			}
			return 0
		},
	}
}

var errNoAnswer = errors.New("it does not answer")

// busy is the error of a collector that may take the spans later.
type busy struct {
	status string
	after  time.Duration
}

func (b *busy) Error() string { return "it answers " + b.status }

// post sends one request and returns how many spans were refused.
func (s *sender) post(ctx context.Context, body []byte) (refused int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.place.URL.String(), bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("it is no address that can be asked")
	}
	request.Header.Set("User-Agent", "rehearse/"+s.version)
	for _, h := range s.place.Headers {
		request.Header.Set(h[0], h[1])
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := s.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return 0, errNoAnswer
		}
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // the whole repeats the address
		}
		return 0, errors.New(text.OneLine(err.Error(), 200))
	}
	defer response.Body.Close() //nolint:errcheck // what was read is enough
	answer, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	status := text.OneLine(response.Status, 100)
	switch code := response.StatusCode; {
	case code/100 == 2:
		return rejected(answer), nil
	case code == http.StatusTooManyRequests, code == http.StatusBadGateway, code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		return 0, &busy{status, retry.After(response.Header, time.Now())}
	}
	return 0, errors.New("it answers " + status)
}
