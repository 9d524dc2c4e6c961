package artifact

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeS3 is a server of one bucket. It rejects requests that carry other credentials, or other bytes than they sign.
type fakeS3 struct {
	t       *testing.T
	mu      sync.Mutex
	objects map[string][]byte
	// answers are statuses and bodies of the next answers.
	answers []string
}

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=me/\d{8}/eu-north-1/s3/aws4_request, ` +
	`SignedHeaders=\S*host;x-amz-content-sha256;x-amz-date;x-amz-security-token, ?Signature=[0-9a-f]{64}$`)

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
	}
	if len(f.answers) > 0 {
		var status int
		_, err := fmt.Sscanf(f.answers[0], "%d", &status)
		if err != nil {
			f.t.Error(err)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.TrimSpace(f.answers[0][3:]))
		f.answers = f.answers[1:]
		return
	}
	if got := r.Header.Get("Authorization"); !authorization.MatchString(got) ||
		r.Header.Get("X-Amz-Security-Token") != "lent" {
		f.t.Errorf("%s is signed %q", r.Method, got)
	}
	if got := r.Header.Get("X-Amz-Content-Sha256"); got != hashOf(string(body)) {
		f.t.Errorf("%s of %q signs the hash %s", r.Method, body, got)
	}
	switch data, ok := f.objects[r.URL.Path]; r.Method {
	case http.MethodPut:
		f.objects[r.URL.Path] = body
		w.Header().Set("ETag", `"1"`)
	case http.MethodDelete:
		delete(f.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		if !ok {
			http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
			return
		}
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = w.Write(data)
	}
}

// openTest opens s3://NAME with the variables of a test, to which more override some.
func openTest(name string, transport http.RoundTripper, more map[string]string) (Storage, error) {
	env := map[string]string{
		"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "s3cret/KEY+1", "AWS_SESSION_TOKEN": "lent",
		"AWS_REGION": "eu-north-1",
	}
	return Open("s3://"+name, nil, func(name string) string {
		if value, ok := more[name]; ok {
			return value
		}
		return env[name]
	}, transport)
}

func TestS3(t *testing.T) {
	fake := &fakeS3{t: t, objects: map[string][]byte{}}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s, err := openTest("bucket/a b/c$+/", transport, map[string]string{"AWS_ENDPOINT_URL": server.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	x := hashOf("x")
	if _, err := s.Get(t.Context(), x); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	fake.answers = []string{"503", "500"}
	for range 2 {
		if err := s.Put(t.Context(), x, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(t.Context(), hashOf(""), nil); err != nil {
		t.Fatal(err)
	}
	if _, ok := fake.objects["/bucket/a b/c$+/"+x]; !ok || len(fake.objects) != 2 {
		t.Errorf("%v", fake.objects)
	}
	if got, err := s.Get(t.Context(), x); string(got) != "x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"../x", "", "x?y"} {
		if s.Put(t.Context(), name, nil) == nil {
			t.Errorf("%q was written", name)
		}
		if _, err := s.Get(t.Context(), name); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for range 2 {
		if err := s.Delete(t.Context(), x); err != nil {
			t.Error(err)
		}
	}
	fake.answers = []string{"200 <html>log in</html>"}
	if err := s.Put(t.Context(), hashOf("y"), []byte("y")); err == nil ||
		!strings.Contains(err.Error(), "without an ETag") {
		t.Errorf("an answer of another server counts as stored: %v", err)
	}
	fake.objects["/bucket/a b/c$+/"+x] = make([]byte, MaxBytes+1)
	if _, err := s.Get(t.Context(), x); !errors.Is(err, errTooLarge) {
		t.Errorf("a large object: %v", err)
	}
	for answer, want := range map[string]string{
		"403 <Error><Code>SignatureDoesNotMatch</Code><Message>No.\n</Message></Error>": "S3 answered a PUT with 403 " +
			"Forbidden: " +
			"SignatureDoesNotMatch: No (check AWS_SECRET_ACCESS_KEY)",
		"404 <Error><Code>NoSuchBucket</Code></Error>": "S3 answered a PUT with 404 Not Found: " +
			"NoSuchBucket: The specified bucket does not exist (create the bucket, or name another one)",
		"301 <Error><Code>PermanentRedirect</Code><Message>Elsewhere.</Message><Region>us-west-2</Region></Error>": "S3 answered a PUT with " +
			"301 Moved Permanently: PermanentRedirect: Elsewhere (AWS_REGION of the bucket is us-west-2)",
		"302 <html>log in</html>": "S3 answered a PUT with 302 Found: <html>log in</html>",
		"401":                     "S3 answered a PUT with 401 Unauthorized: 401 Unauthorized",
	} {
		fake.answers = []string{answer}
		if err := s.Put(t.Context(), x, []byte("x")); err == nil || err.Error() != want {
			t.Errorf("%s:\n     %v\nwant %s", answer, err, want)
		}
		fake.answers = []string{answer} // another answer than "there is none" must not pass for it
		if _, err := s.Get(t.Context(), x); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", answer, err)
		}
		fake.answers = []string{answer}
		if err := s.Delete(t.Context(), x); err == nil {
			t.Errorf("%s: deleted", answer)
		}
	}
}

// roundTrip is a transport that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestS3Address checks that the address follows from bucket, region and server, and that errors name the server alone.
func TestS3Address(t *testing.T) {
	x := hashOf("x")
	for _, c := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"bucket", nil, "https://bucket.s3.eu-north-1.amazonaws.com/" + x},
		{"my.bucket/p", nil, "https://s3.eu-north-1.amazonaws.com/my.bucket/p/" + x},
		{
			"bucket", map[string]string{"AWS_REGION": "", "AWS_DEFAULT_REGION": "sa-east-1"},
			"https://bucket.s3.sa-east-1.amazonaws.com/" + x,
		},
		{
			"bucket//../p/", map[string]string{"AWS_ENDPOINT_URL": "http://localhost:9000"},
			"http://localhost:9000/bucket/p/" + x,
		},
		{
			"bucket", map[string]string{
				"AWS_ENDPOINT_URL": "http://no.example", "AWS_ENDPOINT_URL_S3": "https://[::1]:9000",
			}, "https://[::1]:9000/bucket/" + x,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			s, err := openTest(c.name, roundTrip(func(r *http.Request) (*http.Response, error) {
				got = append(got, r.URL.String())
				return nil, errors.New("no route")
			}), c.env)
			if err != nil {
				t.Fatal(err)
			}
			err = s.Put(t.Context(), x, []byte("x"))
			if len(got) != patience+1 || got[0] != c.want {
				t.Errorf("requests to %q, want %d to %s", got, patience+1, c.want)
			}
			host := regexp.MustCompile(`^call S3 at [^/ ]+: no route$`)
			if err == nil || !host.MatchString(err.Error()) {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
}

// TestS3IsAway checks that a server that is away for seconds loses no artifact, and that a dead server costs a run one
// wait and not one at each artifact.
func TestS3IsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent, back := 0, time.Now().Add(3*time.Second)
		s, err := openTest("bucket", roundTrip(func(r *http.Request) (*http.Response, error) {
			sent++
			answer := httptest.NewRecorder()
			answer.Header().Set("ETag", `"1"`)
			if time.Now().Before(back) {
				answer.WriteHeader(http.StatusServiceUnavailable)
			}
			result := answer.Result()
			result.Request = r
			return result, nil
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		put := func() error { return s.Put(t.Context(), hashOf("a"), []byte("a")) }
		if err := put(); err != nil {
			t.Errorf("away for three seconds: %v", err)
		}
		back = time.Now().Add(time.Hour)
		if err := put(); err == nil {
			t.Error("a dead server stores something")
		}
		sent = 0
		began := time.Now()
		for range 100 {
			if err := put(); err == nil {
				t.Error("a dead server stores something")
			}
		}
		if lasted := time.Since(began); sent != 100 || lasted > 0 {
			t.Errorf("%d requests in %s to a dead server for 100 artifacts", sent, lasted)
		}
		back = time.Now()
		if err := put(); err != nil {
			t.Errorf("back again: %v", err)
		}
		back = time.Now().Add(3 * time.Second)
		if err := put(); err != nil {
			t.Errorf("away again for three seconds: %v", err)
		}
	})
}

func TestOpen(t *testing.T) {
	const form = "--artifacts s3://…: write s3://BUCKET/PREFIX; keys and the server are in AWS_* variables"
	got := map[string]string{}
	want := map[string]string{
		"":                 `--artifacts "": write a folder, nats, or s3://BUCKET/PREFIX`,
		"gs://x":           `--artifacts "gs://x": write a folder, nats, or s3://BUCKET/PREFIX`,
		"s3://":            form,
		"s3://b":           form,
		"s3://bucket?y=z":  form,
		"s3://id:key@host": form,
		"s3://bucket":      "--artifacts s3://…: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
	}
	for name := range want {
		_, err := Open(name, nil, func(string) string { return "" }, nil)
		got[name] = fmt.Sprint(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors mismatch (-want +got):\n%s", diff)
	}
	const shape = "write https://HOST or https://HOST:PORT"
	for server, want := range map[string]string{
		"s3.example": shape, "ftp://s3.example": shape, "https://": shape, "https://me:s3cret@s3.example/v1": shape,
		"https://s3.example?s3cret": shape, "http://a b": shape,
		"https://s3.example:9000/v1/": "paths are not supported (write https://s3.example:9000; " +
			"bucket and prefix belong in --artifacts s3://BUCKET/PREFIX)",
	} {
		_, err := openTest("bucket", nil, map[string]string{"AWS_ENDPOINT_URL": server})
		if err == nil || err.Error() != "invalid AWS_ENDPOINT_URL: "+want {
			t.Errorf("%s: %v", server, err)
		}
	}
}
