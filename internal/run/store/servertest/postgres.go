package servertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// PostgresPassword is that of the servers' user. It needs every kind of escaping in a URL.
const PostgresPassword = "s3cr3t@p/w:d %41'\"#?"

// PostgresServer is a PostgreSQL server that listens on this machine only, with its data in a folder of its own.
type PostgresServer struct {
	dir     string
	command []string
	process *exec.Cmd
	url     *url.URL
}

// NewPostgres starts a server of a test's own, with settings such as "-c", "fsync=on", and ends it with the test.
func NewPostgres(t testing.TB, settings ...string) *PostgresServer {
	t.Helper()
	s, err := startPostgres(settings...)
	require(t, err)
	t.Cleanup(s.end)
	return s
}

// Crash ends the server and all its connections at once, as a crash does.
func (s *PostgresServer) Crash() {
	_ = s.process.Process.Signal(syscall.SIGQUIT)
	_ = s.process.Wait()
}

// Start starts a server again that has crashed, with the data that it had, and waits until it answers.
func (s *PostgresServer) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// URL returns the address of the server's first database, with its user. The caller owns it.
func (s *PostgresServer) URL() *url.URL {
	u := *s.url
	return &u
}

// Database creates an empty database on the server that the tests of a package share, and returns its address. It is
// dropped with the test.
func Database(t testing.TB) *url.URL {
	t.Helper()
	return createDatabase(t, Postgres(t), "template1")
}

// Database creates an empty database on the server and returns its address. It is dropped with the test.
func (s *PostgresServer) Database(t testing.TB) *url.URL {
	t.Helper()
	return createDatabase(t, s.URL(), "template1")
}

// FilledDatabase creates a database on the server that the tests of a package share, and returns its address. It is a
// copy of the one that fill has changed for the first of these tests. It is dropped with the test.
func FilledDatabase(t testing.TB, fill func(u *url.URL) error) *url.URL {
	t.Helper()
	server := Postgres(t)
	template := shared.filled.get(t, func() (string, error) {
		u := *server
		name := "filled_" + strings.ToLower(rand.Text())
		u.Path = "/" + name
		err := execute(server, "CREATE DATABASE "+name)
		if err == nil {
			err = fill(&u)
		}
		return name, err
	})
	return createDatabase(t, server, template)
}

func createDatabase(t testing.TB, server *url.URL, template string) *url.URL {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	if err := execute(server, "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute(server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	u := *server
	u.Path = "/" + name
	return &u
}

// execute runs a statement on a connection of its own.
func execute(u *url.URL, sql string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

func startPostgres(settings ...string) (s *PostgresServer, err error) {
	programs, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	s = &PostgresServer{}
	// Not the folder of a test: the user of the server may not enter those.
	if s.dir, err = os.MkdirTemp("", "rehearse-pg"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	as, err := unprivileged(s.dir)
	if err != nil {
		return nil, err
	}
	secret, data := filepath.Join(s.dir, "password"), filepath.Join(s.dir, "data")
	if err := os.WriteFile(secret, []byte(PostgresPassword), 0o644); err != nil {
		return nil, err
	}
	initdb := s.program(as, filepath.Join(programs, "initdb"), "-D", data, "-U", "rehearse", "--pwfile", secret,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := []string{
		filepath.Join(programs, "postgres"), "-D", data, "-h", "127.0.0.1", "-p", port, "-k", s.dir, "-c", "fsync=off",
		"-c", "max_connections=60",
	}
	s.command = slices.Concat(as, args, settings)
	// The time to connect is for a busy machine.
	s.url = &url.URL{
		Scheme: "postgres", User: url.UserPassword("rehearse", PostgresPassword), Host: "127.0.0.1:" + port,
		Path: "/postgres", RawQuery: "connect_timeout=60",
	}
	return s, s.start()
}

func (s *PostgresServer) start() error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has one of its own
	server := s.program(nil, s.command...)
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		return err
	}
	s.process = server
	return await("postgres", log.Name(), func() error {
		conn, err := pgx.Connect(context.Background(), s.url.String())
		if err != nil {
			return err
		}
		return conn.Close(context.Background())
	})
}

// program is a program of the server in its folder.
func (s *PostgresServer) program(as []string, args ...string) *exec.Cmd {
	args = slices.Concat(as, args)
	c := exec.Command(args[0], args[1:]...) //nolint:noctx // end ends it
	c.Dir = s.dir
	return c
}

// end ends the server and removes its folder.
func (s *PostgresServer) end() {
	if s.process != nil {
		_ = s.process.Process.Signal(os.Interrupt) // ends the server without waiting for clients
		_ = s.process.Wait()
	}
	_ = os.RemoveAll(s.dir)
}

// postgresPrograms finds the newest server; Debian keeps its programs out of the PATH.
func postgresPrograms() (dir string, err error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", fmt.Errorf("postgresql %w", errNotInstalled)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

// unprivileged returns what to put before a command so that it does not run as root, which postgres refuses, and gives
// the folder away.
func unprivileged(dir string) ([]string, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return []string{"setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--clear-groups", "--"}, os.Chown(dir, uid, gid)
}
