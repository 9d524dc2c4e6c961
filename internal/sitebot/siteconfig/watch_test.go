package siteconfig_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rehearse/internal/sitebot/site"
	"rehearse/internal/sitebot/siteconfig"
)

// watch tells what Watch calls, as texts; the end of the test ends it.
func watch(t *testing.T, table siteconfig.Source) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	told, done := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(done)
		siteconfig.Watch(ctx, table, 10*time.Millisecond,
			func(library *site.Library) { told <- strings.Join(namesOf(library), " ") },
			func(err error) { told <- "failed: " + err.Error() })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if len(told) > 0 {
			t.Errorf("too much was told: %s", <-told)
		}
	})
	return told
}

// next waits for what is told next.
func next(t *testing.T, told <-chan string, want string) {
	t.Helper()
	select {
	case got := <-told:
		if !strings.HasPrefix(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("nothing was told, want %q", want)
	}
}

func TestWatchPostgres(t *testing.T) {
	p := table(t)
	put(t, p, "a.example", "language: fr")
	told := watch(t, p)
	next(t, told, "a.example")
	put(t, p, "b.example", "language: fr")
	next(t, told, "a.example b.example")
	insert(t, p, "c.example", `{"sight": 1}`)
	next(t, told, "failed: "+p.Table+"[c.example]: sight: unknown key")
	execute(t, "delete from "+p.Table+" where site = 'c.example'") // which leaves what was handed out last
	execute(t, "update "+p.Table+` set config = '{"language": "en"}' where site = 'a.example'`)
	next(t, told, "a.example b.example")
}

func TestWatchSupabase(t *testing.T) {
	fake, s := supabase(t, map[string]string{"a.example": `{}`})
	told := watch(t, s)
	once := func(want string) { // is told, and not again when the table is read again
		next(t, told, want)
		fake.awaitPages(6)
	}
	once("a.example")
	fake.set(func() { fake.rows = map[string]string{} })
	once("failed: there is no site")
	fake.set(func() { fake.rows = map[string]string{"b.example": `{}`} })
	once("b.example")
	if diff := cmp.Diff([]string{"b.example"}, names(t, s)); diff != "" {
		t.Error(diff)
	}
}
