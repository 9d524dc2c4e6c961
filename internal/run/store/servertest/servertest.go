// Package servertest starts real servers for tests: one PostgreSQL and one Redis for all tests of a package, and others
// for tests that end theirs. A server that is not installed skips a test, or fails it where REHEARSE_TEST_COMPLETE is
// set.
package servertest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	// completeEnv makes a test fail that would be skipped because something is not installed.
	completeEnv = "REHEARSE_TEST_COMPLETE"
	// postgresEnv and redisEnv name servers for tests, which make databases and keys of their own there.
	postgresEnv = "REHEARSE_TEST_POSTGRES"
	redisEnv    = "REHEARSE_TEST_REDIS"

	// startTimeout is how long a server may take to answer on a busy machine.
	startTimeout = 2 * time.Minute
	// poll is the time between two looks whether a server answers.
	poll = 20 * time.Millisecond
)

var errNotInstalled = errors.New("is not installed; ./test.sh installs it")

// shared are the servers of a package's tests. The first test that needs one starts it; Main ends them.
var shared struct {
	postgres once[*PostgresServer]
	redis    once[*RedisServer]
	filled   once[string]
}

// once is a server, or a database on it, that the first test that needs it creates.
type once[T any] struct {
	start sync.Once
	it    T
	err   error
}

func (o *once[T]) get(t testing.TB, start func() (T, error)) T {
	t.Helper()
	o.start.Do(func() { o.it, o.err = start() })
	require(t, o.err)
	return o.it
}

// require ends a test without its server: what is not installed skips it, unless all tests have to run.
func require(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, errNotInstalled) && os.Getenv(completeEnv) == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// Main runs the tests of a package, wants no goroutine left, ends the servers, and the program. A TestMain calls it.
func Main(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if s := shared.postgres.it; s != nil {
			s.end()
		}
		if s := shared.redis.it; s != nil {
			s.end()
		}
		os.Exit(code)
	}))
}

// Postgres returns the address of a real server: the one that the environment names, else one that all tests of the
// package share.
func Postgres(t testing.TB) *url.URL {
	t.Helper()
	if address := os.Getenv(postgresEnv); address != "" {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal("the address in " + postgresEnv + " cannot be read")
		}
		return u
	}
	return shared.postgres.get(t, func() (*PostgresServer, error) {
		return startPostgres("-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "wal_level=minimal",
			"-c", "max_wal_senders=0", "-c", "max_connections=200")
	}).URL()
}

// Redis returns the URL of a real server: the one that the environment names, else one that all tests of the package
// share.
func Redis(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(redisEnv); url != "" {
		return url
	}
	return shared.redis.get(t, startRedis).URL()
}

// FreePort is a port on which nothing listens.
func FreePort(t testing.TB) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// await asks a server until it answers.
func await(name, logFile string, ask func() error) error {
	var err error
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(poll) {
		if err = ask(); err == nil {
			return nil
		}
	}
	said, _ := os.ReadFile(logFile)
	return fmt.Errorf("%s does not answer: %w\n%s", name, err, said)
}
