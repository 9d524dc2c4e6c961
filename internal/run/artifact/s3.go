package artifact

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// s3 stores artifacts in a bucket of Amazon S3, or of a server with its API. A bucket of Amazon's is addressed by host
// name where its name allows that, every other bucket by path.
type s3 struct {
	client               *minio.Core
	host, bucket, prefix string
	// retry says how often a request is sent again.
	retry retry.Policy
	// down is true after a request failed for good. Until one succeeds, each request is sent once: a run must not wait
	// for a dead server at each of its artifacts.
	down atomic.Bool
}

// patience is the number of retries: about twelve seconds, in which a busy or restarted server comes back.
const patience = 6

// noRetryWait turns off the wait of the library after its only attempt: waits are those of package retry.
var noRetryWait = sync.OnceFunc(func() { minio.DefaultRetryUnit = 0 })

// openS3 reads BUCKET/PREFIX, and the server and the credentials from AWS_* variables.
func openS3(at string, getenv func(string) string, transport http.RoundTripper) (*s3, error) {
	bucket, prefix, _ := strings.Cut(at, "/")
	if s3utils.CheckValidBucketName(bucket) != nil || strings.ContainsAny(at, "?#@") {
		return nil,
			source.Invalid("--artifacts s3://…: write s3://BUCKET/PREFIX; keys and the server are in AWS_* variables")
	}
	id, secret := getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY")
	if id == "" || secret == "" {
		return nil, errors.New("--artifacts s3://…: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	region := cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"), "us-east-1")
	server := cmp.Or(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"), "https://s3."+region+".amazonaws.com")
	invalid := source.Invalid("invalid AWS_ENDPOINT_URL: write https://HOST or https://HOST:PORT")
	base, err := url.Parse(server)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.User != nil || base.RawQuery != "" {
		return nil, invalid
	}
	if strings.Trim(base.Path, "/") != "" {
		return nil, source.Invalid("invalid AWS_ENDPOINT_URL: paths are not supported (write %s://%s; "+
			"bucket and prefix belong in --artifacts s3://BUCKET/PREFIX)", base.Scheme, base.Host)
	}
	noRetryWait()
	client, err := minio.NewCore(base.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(id, secret, getenv("AWS_SESSION_TOKEN")),
		Secure: base.Scheme == "https", Transport: transport, Region: region, MaxRetries: 1,
	})
	if err != nil {
		return nil, invalid
	}
	client.SetS3EnableDualstack(false)
	return &s3{
		client: client, host: base.Host, bucket: bucket, prefix: path.Join("/", prefix)[1:],
		retry: retry.Policy{Retries: patience, Transient: transient},
	}, nil
}

// Put writes an object. The server checks that the hash is that of the bytes.
func (s *s3) Put(ctx context.Context, sha256 string, data []byte) error {
	_, err := s.do(ctx, http.MethodPut, sha256, func(ctx context.Context, key string) ([]byte, error) {
		// Without streaming, the hash of the whole body is signed.
		options := minio.PutObjectOptions{DisableContentSha256: true}
		stored, err := s.client.PutObject(ctx, s.bucket, key, bytes.NewReader(data), int64(len(data)), "",
			sha256, options)
		if err == nil && stored.ETag == "" {
			err = errNotS3
		}
		return nil, err
	})
	return err
}

// Get reads an object.
func (s *s3) Get(ctx context.Context, sha256 string) ([]byte, error) {
	if !IsHash(sha256) {
		return nil, ErrNone
	}
	return s.do(ctx, http.MethodGet, sha256, func(ctx context.Context, key string) ([]byte, error) {
		object, _, _, err := s.client.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
		if err != nil {
			return nil, err
		}
		defer func() { _ = object.Close() }() // it was only read
		data, err := io.ReadAll(io.LimitReader(object, MaxBytes+1))
		if err == nil && len(data) > MaxBytes {
			return nil, errTooLarge
		}
		return data, err
	})
}

// Delete deletes an object. Deleting a missing object is not an error.
func (s *s3) Delete(ctx context.Context, sha256 string) error {
	_, err := s.do(ctx, http.MethodDelete, sha256, func(ctx context.Context, key string) ([]byte, error) {
		return nil, s.client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{})
	})
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// requestTime bounds one request.
const requestTime = 30 * time.Second

// do sends a request, again after a transient failure. Every request may be sent again.
func (s *s3) do(
	ctx context.Context, method, sha256 string, send func(ctx context.Context, key string) ([]byte, error),
) ([]byte, error) {
	if !IsHash(sha256) {
		return nil, fmt.Errorf("keep an artifact: %q is no hash", sha256)
	}
	policy := s.retry
	if s.down.Load() {
		policy.Retries = 0
	}
	data, _, err := retry.Do(ctx, policy, func(ctx context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTime)
		defer cancel()
		data, err := send(ctx, path.Join(s.prefix, sha256))
		return data, s.explain(method, err)
	})
	switch {
	case err == nil || !transient(err):
		s.down.Store(false)
	case ctx.Err() == nil:
		s.down.Store(true)
	}
	return data, err
}

// explain returns the library's error as ErrNone, a *refusedError, or an error that names the server.
func (s *s3) explain(method string, err error) error {
	refused, ok := errors.AsType[minio.ErrorResponse](err)
	switch {
	case err == nil || errors.Is(err, errTooLarge) || errors.Is(err, errNotS3):
		return err
	case ok && refused.StatusCode == http.StatusNotFound && refused.Code != minio.NoSuchBucket &&
		method != http.MethodPut:
		return ErrNone
	case ok:
		return &refusedError{refused, method}
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // the client repeats the whole address
	}
	return fmt.Errorf("call S3 at %s: %w", s.host, err)
}

// refusedError is an answer that is not a success.
type refusedError struct {
	minio.ErrorResponse
	method string
}

// fixes says what helps against errors of S3, by their codes.
var fixes = map[string]string{
	minio.InvalidAccessKeyID: "check AWS_ACCESS_KEY_ID", minio.SignatureDoesNotMatch: "check AWS_SECRET_ACCESS_KEY",
	minio.NoSuchBucket: "create the bucket, or name another one", "ExpiredToken": "renew AWS_SESSION_TOKEN",
}

func (e *refusedError) Error() string {
	status, said := fmt.Sprintf("%d %s", e.StatusCode, http.StatusText(e.StatusCode)), e.ErrorResponse.Error()
	if e.Code != status { // which the library takes for the code where the answer has none
		said = e.Code + ": " + said
	}
	fix := fixes[e.Code]
	if fix == "" && e.Region != "" {
		fix = "AWS_REGION of the bucket is " + e.Region
	}
	if fix != "" {
		fix = " (" + text.OneLine(fix, 100) + ")"
	}
	return fmt.Sprintf("S3 answered a %s with %s: %s%s", e.method, status,
		strings.TrimRight(text.OneLine(said, 300), "."), fix)
}

// transient reports whether a request may succeed when it is sent again.
func transient(err error) bool {
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return refused.StatusCode == http.StatusTooManyRequests || refused.StatusCode == http.StatusRequestTimeout ||
			refused.StatusCode >= 500
	}
	return !errors.Is(err, ErrNone) && !errors.Is(err, errTooLarge) && !errors.Is(err, errNotS3)
}

var (
	errTooLarge = errors.New("S3 has more under the name of an artifact than one can have")
	// errNotS3 is the error of a PUT that a login page or another web server answers with 200.
	errNotS3 = errors.New("S3 answered a PUT with 200 OK without an ETag (check AWS_ENDPOINT_URL)")
)
