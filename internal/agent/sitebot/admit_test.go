package sitebot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// limited returns a change that has the limits of sites hold, by a clock.
func limited(now func() time.Time) func(*sitebot.Config) {
	return func(c *sitebot.Config) { c.Limits = limit.NewLimiter(&limit.Memory{}, now, nil) }
}

// visit sends a message as a visitor.
func (th *theater) visit(t *testing.T, session, input, language string) error {
	t.Helper()
	_, err := th.Turn(t.Context(), sitebot.Request{
		Site: "shop.example", Session: session, Input: input, Language: language, Visitor: true,
		IP: netip.MustParseAddr("192.0.2.7"),
	}, nil)
	return err
}

func wantFault(t *testing.T, err error, fault sitebot.Fault, message string) {
	t.Helper()
	got, ok := errors.AsType[*sitebot.Error](err)
	if !ok || got.Fault != fault || got.Message != message {
		t.Errorf("%v, want %s: %s", err, fault, message)
	}
}

// A refused message asks no model, counts nowhere and is kept nowhere, and says so in the visitor's language.
func TestRefusedMessagesLeaveNothing(t *testing.T) {
	th := openTheater(t, shop+"\nlimits: {visitor_burst: 2, visitor_per_minute: 1}\n", limited(nil))
	for range 2 {
		if err := th.visit(t, "s", "tell me", ""); err != nil {
			t.Fatal(err)
		}
	}
	before, err := th.State(t.Context(), "shop.example", "s")
	if err != nil {
		t.Fatal(err)
	}
	th.nodes()
	for language, text := range map[string]string{
		"":      "You are sending messages too quickly. Please wait a moment and try again.",
		"fr-CA": "Vous envoyez des messages trop rapidement. Veuillez patienter un instant, puis réessayer.",
		"es":    "Estás enviando mensajes demasiado rápido. Espera un momento e inténtalo de nuevo.",
		"de":    "Sie senden zu schnell Nachrichten. Bitte warten Sie einen Moment und versuchen Sie es erneut.",
		"it":    "Stai inviando messaggi troppo velocemente. Attendi un momento e riprova.",
		"pt-BR": "Você está enviando mensagens rápido demais. Aguarde um momento e tente novamente.",
		"nl":    "U verstuurt te snel berichten. Wacht even en probeer het opnieuw.",
		"tlh":   "You are sending messages too quickly. Please wait a moment and try again.",
	} {
		wantFault(t, th.visit(t, "s", "tell me", language), sitebot.RateLimited, text)
		wantFault(t, th.visit(t, "new", "something else", language), sitebot.RateLimited, text)
	}
	after, err := th.State(t.Context(), "shop.example", "s")
	if err != nil || string(after) != string(before) {
		t.Errorf("the state has changed, %v: %s", err, after)
	}
	if asked := th.nodes(); len(asked) != 0 {
		t.Errorf("models were asked: %v", asked)
	}
	if _, err := th.State(t.Context(), "shop.example", "new"); err == nil {
		t.Error("a refused message has made a session")
	}
	if _, err := th.Turn(t.Context(), sitebot.Request{
		Site: "shop.example", Session: "s", Input: "tell me more",
	}, nil); err != nil {
		t.Errorf("one who is no visitor: %v", err)
	}
}

// A turn that fails has its place again and is paid for, and so has one whose visitor leaves.
func TestFailedTurnsAreCounted(t *testing.T) {
	th := openTheater(t, shop+"\nlimits: {visitor_turns: 1, tokens_per_day: 1000}\n", limited(nil))
	th.does("answer_writer", func(context.Context, llm.Request) (string, error) { return "", errors.New("down") })
	if err := th.visit(t, "s", "tell me", ""); err == nil {
		t.Fatal("the turn has not failed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	th.does("answer_writer", func(ctx context.Context, _ llm.Request) (string, error) {
		cancel()
		return "", context.Cause(ctx)
	})
	long := strings.Repeat("word ", 800) // 1,000 tokens by four characters
	_, err := th.Turn(ctx, sitebot.Request{
		Site: "shop.example", Session: "s", Input: long, Visitor: true, IP: netip.MustParseAddr("192.0.2.7"),
	}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	wantFault(t, th.visit(t, "s", "tell me", "de"), sitebot.BudgetSpent,
		"Der Assistent ist gerade sehr ausgelastet. Bitte versuchen Sie es später erneut.")
}

// A session ends before it holds more than it may. What is blocked is not kept and therefore not refused.
func TestSessionFull(t *testing.T) {
	th := openTheater(t, shop)
	const most = 2 << 20
	patch := func(size int) error {
		text, _ := json.Marshal(strings.Repeat("x", size))
		return th.UpdateState(t.Context(), "shop.example", "s",
			json.RawMessage(fmt.Sprintf(`{"messages": [{"role": "user", "content": %s}]}`, text)), true)
	}
	wantFault(t, patch(most), sitebot.SessionFull, "the session would hold more than 2 MiB")
	if err := patch(most - 100<<10); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		err := th.visit(t, "s", fmt.Sprint(i, strings.Repeat(" word", 2900)), "it")
		if err == nil {
			continue
		}
		wantFault(t, err, sitebot.SessionFull, "Questa conversazione è diventata troppo lunga. Iniziane una nuova.")
		break
	}
	state, err := th.State(t.Context(), "shop.example", "s")
	if err != nil || len(state) > most || len(state) < most-150<<10 {
		t.Errorf("%d bytes, %v", len(state), err)
	}
	th.nodes()
	wantFault(t, th.visit(t, "s", strings.Repeat("y", 10_000), ""), sitebot.SessionFull,
		"This conversation has become too long. Please start a new one.")
	if asked := th.nodes(); len(asked) != 0 {
		t.Errorf("models were asked: %v", asked)
	}
	if err := th.visit(t, "s", strings.Repeat("z", 1<<20), ""); err != nil {
		t.Errorf("a message that is too long by itself: %v", err)
	}
	if err := th.visit(t, "another", "tell me", ""); err != nil {
		t.Error(err)
	}
}
