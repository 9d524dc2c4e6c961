package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSign holds the signatures that Amazon publishes: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
func TestSign(t *testing.T) {
	keys := credentials{id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1"}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		method, path, body, want string
		header                   map[string]string
	}{
		{"GET", "/test.txt", "", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41", map[string]string{"Range": "bytes=0-9"}},
		{
			"PUT", "/test$file.text", "Welcome to Amazon S3.", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
			map[string]string{"Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
		},
		{"GET", "/?lifecycle", "", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543", nil},
		{"GET", "/?max-keys=2&prefix=J", "", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7", nil},
	} {
		r := httptest.NewRequest(c.method, "http://examplebucket.s3.amazonaws.com"+c.path, nil)
		for name, value := range c.header {
			r.Header.Set(name, value)
		}
		r.Header.Set("X-Amz-Content-Sha256", hashOf(c.body))
		keys.sign(r, hashOf(c.body), at)
		if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+c.want) {
			t.Errorf("%s %s: %s", c.method, c.path, got)
		}
	}
}

// fakeS3 is a server that refuses what is not signed as it should be.
type fakeS3 struct {
	t       *testing.T
	keys    credentials
	mu      sync.Mutex
	objects map[string][]byte
	// fail answers the next requests with these statuses.
	fail []int
}

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Error(err)
	}
	if len(f.fail) > 0 {
		w.WriteHeader(f.fail[0])
		f.fail = f.fail[1:]
		return
	}
	sum := sha256.Sum256(body)
	at, err := time.Parse(amzTime, r.Header.Get("X-Amz-Date"))
	signed := r.Clone(r.Context())
	signed.Header = http.Header{}
	_, names, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	for name := range strings.SplitSeq(names, ";") {
		if name != "host" {
			signed.Header.Set(name, r.Header.Get(name))
		}
	}
	f.keys.sign(signed, hex.EncodeToString(sum[:]), at)
	if err != nil || signed.Header.Get("Authorization") != r.Header.Get("Authorization") || r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) {
		http.Error(w, "<Error><Code>SignatureDoesNotMatch</Code></Error>", http.StatusForbidden)
		return
	}
	switch data, ok := f.objects[r.URL.Path]; r.Method {
	case http.MethodPut:
		f.objects[r.URL.Path] = body
	case http.MethodDelete:
		delete(f.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		if !ok {
			http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
			return
		}
		_, _ = w.Write(data)
	}
}

func TestS3(t *testing.T) {
	fake := &fakeS3{t: t, objects: map[string][]byte{}, keys: credentials{id: "me", secret: "s3cret/KEY+1", session: "lent", region: "eu-north-1"}}
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	env := map[string]string{
		"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "s3cret/KEY+1", "AWS_SESSION_TOKEN": "lent", "AWS_REGION": "eu-north-1", "AWS_ENDPOINT_URL": server.URL,
	}
	opened, err := Open("s3://bucket/a b/c$+/", nil, func(name string) string { return env[name] }, &http.Client{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	s, ok := opened.(*s3)
	if !ok {
		t.Fatalf("%T", opened)
	}
	x := hashOf("x")
	if _, err := s.Get(t.Context(), x); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	fake.fail = []int{503, 500}
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
	s.keys.secret = "wrong"
	if err := s.Put(t.Context(), x, []byte("x")); err == nil || err.Error() != "S3 answered a PUT with 403 Forbidden: <Error><Code>SignatureDoesNotMatch</Code></Error>" {
		t.Error(err)
	}
	if _, err := s.Get(t.Context(), x); err == nil || errors.Is(err, ErrNone) { // no answer is not: there is none
		t.Error(err)
	}
	fake.objects["/bucket/a b/c$+/"+x] = make([]byte, MaxBytes+1)
	s.keys.secret = "s3cret/KEY+1"
	if _, err := s.Get(t.Context(), x); err == nil {
		t.Error("a large object was read")
	}
}

func TestOpen(t *testing.T) {
	for name, want := range map[string]string{
		"":             `--artifacts "": write a folder, nats, or s3://BUCKET/PREFIX`,
		"gs://x":       `--artifacts "gs://x": write a folder, nats, or s3://BUCKET/PREFIX`,
		"s3://":        "--artifacts s3://…: write s3://BUCKET/PREFIX; keys and the server are in AWS_* variables",
		"s3://b/x?y=z": "--artifacts s3://…: write s3://BUCKET/PREFIX; keys and the server are in AWS_* variables",
		"s3://b":       "--artifacts s3://…: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
	} {
		if _, err := Open(name, nil, func(string) string { return "" }, nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open("s3://b", nil, func(name string) string { return name }, nil); err == nil || err.Error() != "AWS_ENDPOINT_URL is no address of a server: write it as https://HOST" {
		t.Error(err)
	}
}
