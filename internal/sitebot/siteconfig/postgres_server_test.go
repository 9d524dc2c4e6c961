package siteconfig_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

const (
	// postgresEnv names the address of a server for tests, which make tables of their own there.
	postgresEnv = "REHEARSE_TEST_POSTGRES"
	// completeEnv makes a test fail that would be skipped because something is not installed.
	completeEnv = "REHEARSE_TEST_COMPLETE"
	// password needs every kind of escaping in an address.
	password = "s3cr3t@p/w:d %41'\"#?"
)

var errNotInstalled = errors.New("postgresql is not installed; ./test.sh installs it")

// private is the server of this package's tests. The first test that needs it starts it.
var private struct {
	once    sync.Once
	dir     string
	process *exec.Cmd
	url     *url.URL
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if p := private.process; p != nil {
		_ = p.Process.Signal(os.Interrupt) // ends the server without waiting for clients
		if _, err := p.Process.Wait(); err != nil {
			_ = p.Process.Kill()
		}
	}
	_ = os.RemoveAll(private.dir)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// realPostgres returns the address of a real server: the one that the environment names, else one that is started for these tests.
func realPostgres(t testing.TB) *url.URL {
	t.Helper()
	if address := os.Getenv(postgresEnv); address != "" {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal("the address in " + postgresEnv + " cannot be read")
		}
		return u
	}
	private.once.Do(func() { private.err = startPostgres() })
	switch {
	case errors.Is(private.err, errNotInstalled) && os.Getenv(completeEnv) == "":
		t.Skip(private.err)
	case private.err != nil:
		t.Fatal(private.err)
	}
	u := *private.url
	return &u
}

// startPostgres makes a database in a folder of its own and starts a server that listens on this machine only.
func startPostgres() error {
	bin, err := postgresPrograms()
	if err != nil {
		return err
	}
	// Not the folder of a test: the user of the server may not enter those.
	if private.dir, err = os.MkdirTemp("", "rehearse-pg"); err != nil {
		return err
	}
	as, err := unprivileged(private.dir)
	if err != nil {
		return err
	}
	secret, data := filepath.Join(private.dir, "password"), filepath.Join(private.dir, "data")
	if err := os.WriteFile(secret, []byte(password), 0o644); err != nil {
		return err
	}
	initdb := command(as, filepath.Join(bin, "initdb"), "-D", data, "-U", "rehearse", "--pwfile", secret,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(private.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	server := command(as, filepath.Join(bin, "postgres"), "-D", data, "-h", "127.0.0.1", "-p", port, "-k", private.dir,
		"-c", "fsync=off", "-c", "max_connections=30")
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		return err
	}
	private.process = server
	private.url = &url.URL{Scheme: "postgres", User: url.UserPassword("rehearse", password), Host: "127.0.0.1:" + port, Path: "/postgres"}
	return awaitPostgres(log.Name())
}

func awaitPostgres(log string) error {
	var err error
	for range 1500 {
		var conn *pgx.Conn
		if conn, err = pgx.Connect(context.Background(), private.url.String()); err == nil {
			return conn.Close(context.Background())
		}
		time.Sleep(20 * time.Millisecond)
	}
	said, _ := os.ReadFile(log)
	return fmt.Errorf("postgres does not answer: %w\n%s", err, said)
}

// postgresPrograms finds the newest server; Debian keeps its programs out of the PATH.
func postgresPrograms() (dir string, err error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errNotInstalled
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

// unprivileged returns what to put before a command so that it does not run as root, which postgres refuses, and gives the folder away.
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

func command(as []string, args ...string) *exec.Cmd {
	args = slices.Concat(as, args)
	c := exec.Command(args[0], args[1:]...)
	c.Dir = private.dir
	return c
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
