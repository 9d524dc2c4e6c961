package artifact

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// s3 keeps artifacts in a bucket of Amazon S3, or of a server that speaks as it does. Objects are addressed by path, which all of them take:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
type s3 struct {
	// base is the address of the bucket with the prefix of all objects.
	base   *url.URL
	keys   credentials
	client *http.Client
	now    func() time.Time
	// retry is how a request is sent again.
	retry retry.Policy
	// down is true since a request has failed in the end. Until one succeeds again, none is sent twice: a run does not wait for a dead server at each
	// of its artifacts.
	down atomic.Bool
}

// patience is how often a request is sent again: over about twelve seconds, in which a server that is busy or restarts comes back.
const patience = 6

// openS3 reads BUCKET/PREFIX and the variables that say where the bucket is and who asks.
func openS3(at string, getenv func(string) string, client *http.Client) (*s3, error) {
	bucket, prefix, _ := strings.Cut(at, "/")
	if bucket == "" || strings.ContainsAny(at, "?#@") {
		return nil, source.Invalid("--artifacts s3://…: write s3://BUCKET/PREFIX; keys and the server are in AWS_* variables")
	}
	s := &s3{client: client, now: time.Now, retry: retry.Policy{Retries: patience, Transient: transient}, keys: credentials{
		id: getenv("AWS_ACCESS_KEY_ID"), secret: getenv("AWS_SECRET_ACCESS_KEY"), session: getenv("AWS_SESSION_TOKEN"),
		region: cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"), "us-east-1"),
	}}
	if s.keys.id == "" || s.keys.secret == "" {
		return nil, errors.New("--artifacts s3://…: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	server := cmp.Or(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"), "https://s3."+s.keys.region+".amazonaws.com")
	base, err := url.Parse(server)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil || base.RawQuery != "" {
		return nil, source.Invalid("AWS_ENDPOINT_URL is no address of a server: write it as https://HOST")
	}
	s.base = base.JoinPath(bucket, strings.Trim(prefix, "/"))
	return s, nil
}

// Put writes an object.
func (s *s3) Put(ctx context.Context, sha256 string, data []byte) error {
	_, err := s.ask(ctx, http.MethodPut, sha256, data)
	return err
}

// Get reads an object.
func (s *s3) Get(ctx context.Context, sha256 string) ([]byte, error) {
	if !IsHash(sha256) {
		return nil, ErrNone
	}
	return s.ask(ctx, http.MethodGet, sha256, nil)
}

// Delete deletes an object. S3 says nothing when there is none.
func (s *s3) Delete(ctx context.Context, sha256 string) error {
	if _, err := s.ask(ctx, http.MethodDelete, sha256, nil); err != nil && !errors.Is(err, ErrNone) {
		return err
	}
	return nil
}

// s3Error is an answer that is no success.
type s3Error struct {
	method string
	status int
	said   string
}

func (e *s3Error) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("S3 answered a %s with %d %s: %s", e.method, e.status, http.StatusText(e.status), e.said), ": ")
}

// transient reports whether a request may succeed when it is sent again. All requests may be sent again.
func transient(err error) bool {
	if refused, ok := errors.AsType[*s3Error](err); ok {
		return refused.status == http.StatusTooManyRequests || refused.status == http.StatusRequestTimeout || refused.status >= 500
	}
	return !errors.Is(err, ErrNone) && !errors.Is(err, errTooLarge)
}

var errTooLarge = errors.New("S3 has more under the name of an artifact than one can have")

func (s *s3) ask(ctx context.Context, method, sha256 string, data []byte) ([]byte, error) {
	if !IsHash(sha256) {
		return nil, fmt.Errorf("keep an artifact: %q is no hash", sha256)
	}
	policy := s.retry
	if s.down.Load() {
		policy.Retries = 0
	}
	body, _, err := retry.Do(ctx, policy, func(ctx context.Context) ([]byte, error) { return s.once(ctx, method, sha256, data) })
	switch {
	case err == nil || !transient(err):
		s.down.Store(false)
	case ctx.Err() == nil:
		s.down.Store(true)
	}
	return body, err
}

// requestTime bounds one request.
const requestTime = 30 * time.Second

func (s *s3) once(ctx context.Context, method, name string, data []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.base.JoinPath(name).String(), bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("ask S3: %w", err)
	}
	if data != nil {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	sum := sha256.Sum256(data)
	request.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	s.keys.sign(request, hex.EncodeToString(sum[:]), s.now())
	answer, err := s.client.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // the client repeats the whole address
		}
		return nil, fmt.Errorf("ask S3 at %s: %w", s.base.Host, err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(answer.Body, MaxBytes+1))
	switch {
	case answer.StatusCode == http.StatusNotFound && method != http.MethodPut:
		return nil, ErrNone
	case answer.StatusCode/100 != 2:
		said := cmp.Or(httpclient.Redirect(answer), text.OneLine(string(body), 300))
		return nil, &s3Error{method, answer.StatusCode, said}
	case err != nil:
		return nil, fmt.Errorf("read the answer of S3: %w", err)
	case len(body) > MaxBytes:
		return nil, errTooLarge
	}
	return body, nil
}
