package pages_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
)

// saved loads a suite that a page has answered with.
func saved(t *testing.T, yaml string) (*suite.Suite, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "saved.suite.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	return suite.Load(file, suite.Options{})
}

// A test cannot say an empty message: the suite of a conversation that has one says so, and holds the other turns.
func TestSuiteOfBlankMessages(t *testing.T) {
	events := log(logged("s", "hotel", "ada", now, "", "Hi", "Hello", " \n", "Are you there?", "Bye", "Bye!"))
	events = append(events, logged("silent", "hotel", "ada", now, "", " ", "Hello?")...)
	s := storeSite(t, func(context.Context) (*pages.Stored, error) {
		return &pages.Stored{Sessions: events, Datasets: shelf{}}, nil
	})
	_, yaml := s.answer(http.MethodGet, "/sessions/s/suite.yaml", nil, nil)
	loaded, err := saved(t, yaml)
	if err != nil || loaded.Count != 1 || strings.Count(yaml, "input:") != 2 ||
		!strings.Contains(yaml, "turn 2 is left out") {
		t.Errorf("%v\n%s", err, yaml)
	}
	s.get(http.StatusUnprocessableEntity, "/sessions/silent/suite.yaml")
	if found := s.get(http.StatusOK, "/sessions/silent").All("data-action=suite"); len(found) != 0 {
		t.Error("a session without a message leads to a suite that there is not")
	}
}

// The suite of a conversation begins with what the test had put before it.
func TestSuiteOfHistory(t *testing.T) {
	s := newSite(t)
	x := test("shop", "polite", "agent", "hello", "Hi there")
	x.Output = []chat.Message{
		chat.NewMessage(chat.System, "Be kind."), chat.NewMessage(chat.User, "earlier"),
		chat.NewMessage(chat.Assistant, "yes"), chat.NewMessage(chat.User, "hello"),
		chat.NewMessage(chat.Assistant, "Hi there"),
	}
	s.put(result.Run{ID: "r", Targets: []string{"agent"}}, x)
	_, yaml := s.answer(http.MethodGet, "/runs/r/tests/polite/suite.yaml", nil, nil)
	loaded, err := saved(t, yaml)
	if err != nil || loaded.Count != 1 {
		t.Fatalf("%v\n%s", err, yaml)
	}
	for one, err := range loaded.Tests() {
		if err != nil || len(one.Input) != 3 || len(one.Turns) != 1 {
			t.Errorf("%v %d messages before %d turns\n%s", err, len(one.Input), len(one.Turns), yaml)
		}
	}
}

// Where the flows that were named cannot be read, the page of one does not ask for them to be named.
func TestFlowThatCannotBeRead(t *testing.T) {
	s := newSiteOf(t, func(c *pages.Config) {
		c.Flows = func() ([]*flow.Flow, error) { return nil, errors.New("cafe.yaml:1:1: no start node") }
	})
	if words := s.get(http.StatusNotFound, "/flows/cafe").One("<main>").Words(); !strings.Contains(words,
		"cafe.yaml:1:1: no start node") || strings.Contains(words, "--flows FILE") {
		t.Errorf("%s", words)
	}
}
