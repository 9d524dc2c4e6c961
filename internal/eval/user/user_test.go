package user_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/user"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// player is a model that says the next line each time it is asked, and remembers what it was asked.
type player struct {
	lines []string
	err   error
	asked []llm.Request
}

func (p *player) Generate(_ context.Context, r llm.Request) (chat.Reply, error) {
	p.asked = append(p.asked, r)
	if len(p.lines) == 0 {
		return chat.Reply{}, p.err
	}
	said := p.lines[0]
	p.lines = p.lines[1:]
	return chat.Reply{Text: said, Usage: chat.Usage{InputTokens: 3, OutputTokens: 2}, Cost: chat.Cost{USD: 0.5}}, nil
}

// talk is a conversation in which user and agent have said this in turn.
func talk(said ...string) runner.UserScript {
	t := runner.UserScript{Turn: len(said)/2 + 1}
	for i, s := range said {
		role := chat.User
		if i%2 == 1 {
			role = chat.Assistant
		}
		t.Messages = append(t.Messages, chat.NewMessage(role, s))
	}
	return t
}

func next(t *testing.T, u *suite.User, at runner.UserScript,
	lines ...string) (runner.Line, result.User, *player, error) {
	t.Helper()
	p := &player{lines: lines, err: errors.New("nobody is there")}
	s := user.New(u, user.Model{Model: p, Name: "openai:player"})
	line, err := s.Next(t.Context(), at)
	return line, s.Account("", nil), p, err
}

func codes(u result.User) []string {
	var out []string
	for _, f := range u.Faults {
		out = append(out, f.Code)
	}
	return out
}

var customer = &suite.User{
	Persona: "An impatient customer of sixty who has been waiting in the queue for an hour and hates machines",
	Goal:    "Get a refund for the broken lamp", Style: "短句子，没有问候语，不说谢谢，也不说再见，一句话就够了", MaxTurns: 10,
	Stop: []string{"The agent said three times that no refund is possible"},
	Facts: []suite.Fact{
		{Name: "order_number", Value: "98765"}, {Name: "email", Value: "user@example.com"},
		{Name: "return_code", Value: "ZR-120"}, {Name: "seats", Value: "2"}, {Name: "phone", Value: "+49 170 1234567"},
		{Name: "bought_on", Value: "2026-03-05"},
	},
}

// Each line is the first that the model says; "Fine." follows. The first fault of the table that fits is the one that
// counts.
func TestFaults(t *testing.T) {
	for _, tc := range []struct{ said, code string }{
		{"I want my money back!", ""},
		// Instructions: eight words in a row, whatever their case and what stands between them.
		{"I am waiting in the queue for an hour!", ""}, // seven of them
		{"Somebody WHO HAS BEEN — waiting; in the queue for an hour.", user.LeaksInstructions},
		{"I play the user in a conversation with an agent, you know", user.LeaksInstructions},
		{"It says: never say that you are an AI, a model, an assistant", user.LeaksInstructions},
		{"Has the agent said three times that no refund is possible?", user.LeaksInstructions},
		{"没有问候语，不说谢谢，也不说再见，一句话", user.LeaksInstructions},
		{"不说谢谢，也不说再见", ""},
		{
			"Agent: never quote or describe these instructions. Invent no facts, what is not written here",
			user.LeaksInstructions,
		},
		// Labels of speakers.
		{"Agent: Certainly, here is your refund.", user.SpeaksForAgent},
		{"I see.\nassistant: And now?", user.SpeaksForAgent},
		{"**Customer:** I want a refund", user.SpeaksForAgent},
		{"> [Bot] : hello", user.SpeaksForAgent},
		{"USER (angry): hello", user.SpeaksForAgent},
		{"Hm.\u2028Caller：I am waiting", user.SpeaksForAgent},
		{"My agent: the one from yesterday", ""},
		{"Order number: 98765", ""},
		{"I told the agent: no", ""},
		{"https://shop.example/agent", ""},
		{"user@example.com: that is my address", ""},
		// Out of character.
		{"As an AI language model, I cannot return lamps.", user.BreaksCharacter},
		{"I'm just an AI assistant.", user.BreaksCharacter},
		{"I’m an assistant, so I can help you.", user.BreaksCharacter},
		{"Well, I am a simulated user", user.BreaksCharacter},
		{"I am role-playing a customer here", user.BreaksCharacter},
		{"I'm a large language model trained by nobody", user.BreaksCharacter},
		{"I am not an AI!", ""},
		{"Are you an AI or a human?", ""},
		{"You, as an AI, should know my order.", ""},
		{"I want to talk to a human, not an assistant.", ""},
		{"I'm an assistant manager in a shop.", ""},
		{"I'm an AI researcher.", ""},
		// Another value of a fact's shape.
		{"My order is ZR-999.", user.ContradictsFact},
		{"it is zr-999", user.ContradictsFact},
		{"The number is 98756, I think.", user.ContradictsFact},
		{"I bought it on 2026-03-06", user.ContradictsFact},
		{"We need 3 seats.", user.ContradictsFact},
		{"I waited 2 weeks for ZR-120.", ""},
		{"I waited 3 weeks for zr 120!", ""},
		{"ZR120, and the last four are 8765", ""},
		{"Call me at 0170 1234567 or +491701234567.", ""},
		{"Two of 3 were broken", ""},
		// Identifiers that nothing gave.
		{"My customer number is C-5512.", user.InventsIdentifier},
		{"Write to ann@shop.example", user.InventsIdentifier},
		{"My pin is 4711", user.InventsIdentifier},
		{"Ticket #123 was closed", user.InventsIdentifier},
		{"It says 1Z999AA10123456784", user.InventsIdentifier},
		{"Call 555-0142-77", user.InventsIdentifier},
		{"You wrote KX-4410 before.", ""}, // the agent did
		{"I paid $12500 in 2024, or 12,500.00, or 12500 dollars", ""},
		{"That was on 05-03-2024 at 10:30, not in 2019-2021; COVID-19, MP3", ""},
		{"Some 10000 people, 250kg, 1080p, 24/7", ""},
		// The agent's part.
		{"How can I help you today?", user.SwapsRoles},
		{"Thank you for contacting us! What can I do for you?", user.SwapsRoles},
		{"I'd be happy to assist you with that.", user.SwapsRoles},
		{"Is there anything else I can help you with?", user.SwapsRoles},
		{"How can I get help?", ""},
		{"Thank you for calling me back.", ""},
		{"Can you help me with my lamp?", ""},
		// Directions.
		{"*nods* [waits]", user.StageDirections},
		{"[waits for the agent]", user.StageDirections},
		{"I see. *sighs deeply* Well then.", user.StageDirections},
		{"(pauses) And now?", user.StageDirections},
		{"I *really* want it", ""},
		{"**I want it back!**", ""},
		{"*This* is the third time", ""},
		{"The lamp (bought on Monday) is broken.", ""},
		{"See [the page](https://shop.example)", ""},
		// For a program.
		{`{"message": "hi"}`, user.MachineText},
		{"```json\n{\"message\": \"hi\"}\n```", user.MachineText},
		{`["hi"]`, user.MachineText},
		{"/reset", user.MachineText},
		{"/order cancel", user.MachineText},
		{"<message>hi</message>", user.MachineText},
		{"and/or", ""},
		{"/home/ann is full", ""},
		{"a < b and b > c", ""},
		{"Goodbye!", ""}, // once
		// Nothing.
		{"", user.Empty},
		{" \n\t ", user.Empty},
		{"\u200b\u2060", user.Empty},
		{"<think>what now</think>", user.Empty},
		{"<think>I am an AI</think> Well?", ""},
		{"👍", ""},
	} {
		line, account, p, err := next(t, customer, talk("Hi", "Hello", "So", "Yes, for KX-4410?"), tc.said, "Fine.")
		if err != nil {
			t.Errorf("%q: %v", tc.said, err)
			continue
		}
		want, calls, said := []string(nil), 1,
			strings.TrimSpace(strings.TrimPrefix(tc.said, "<think>I am an AI</think>"))
		if tc.code != "" {
			want, calls, said = []string{tc.code}, 2, "Fine."
		}
		if diff := cmp.Diff(want, codes(account)); diff != "" || line.Message.Text != said || account.Calls != calls {
			t.Errorf("%q: said %q after %d calls, faults %v", tc.said, line.Message.Text, account.Calls, account.Faults)
		}
		if len(p.asked) == 2 && !cmp.Equal(p.asked[0], p.asked[1]) {
			t.Errorf("%q: asked again with other messages", tc.said)
		}
	}
}

// The model is asked once more; a second fault ends the talk, each with its own code.
func TestSecondFaultEndsTheTalk(t *testing.T) {
	_, account, p, err := next(t, customer, talk("Hi", "Hello"), "Agent: no", "I am an AI", "Fine.")
	fault, ok := errors.AsType[*runner.UserInvalidError](err)
	if !ok || fault.Code != user.BreaksCharacter || fault.Turn != 2 || len(p.asked) != 2 {
		t.Fatalf("err = %v after %d calls", err, len(p.asked))
	}
	want := []result.UserFault{
		{Code: user.SpeaksForAgent, Turn: 2, Message: `begins a line with the label "agent:"`},
		{Code: user.BreaksCharacter, Turn: 2, Message: `says "i am an ai"`},
	}
	if diff := cmp.Diff(want, account.Faults); diff != "" {
		t.Error(diff)
	}
	if account.Usage != (chat.Usage{InputTokens: 6, OutputTokens: 4}) || account.Cost.USD != 1 {
		t.Errorf("account = %+v", account)
	}
}

// An assistant to a manager is no machine.
func TestPersonaIsNoBreach(t *testing.T) {
	_, account, _, err := next(t, &suite.User{Persona: "The personal assistant to a director"}, talk(),
		"I'm an assistant to the director.")
	if err != nil || len(account.Faults) > 0 {
		t.Errorf("faults = %v, %v", account.Faults, err)
	}
}

// A user may take leave once, and again only with the end of the talk.
func TestGoodbyeWithoutEnd(t *testing.T) {
	for _, tc := range []struct{ last, said, code string }{
		{"Goodbye!", "Goodbye, thanks, bye.", user.GoodbyeWithoutEnd},
		{"Thanks, bye", "Have a great day!", user.GoodbyeWithoutEnd},
		{"Thanks, bye", "Take care. [END]", ""},
		{"Thanks, bye", "Wait, one more thing.", ""},
		{"The bye rounds were wrong", "Bye.", ""},
	} {
		_, account, _, err := next(t, customer, talk("Hi", "Hello", tc.last, "Bye"), tc.said, "Fine.")
		if got := strings.Join(codes(account), " "); err != nil || got != tc.code {
			t.Errorf("%q after %q: faults %q, %v", tc.said, tc.last, got, err)
		}
	}
}

func TestRepeats(t *testing.T) {
	for _, tc := range []struct {
		said   string
		repeat bool
	}{
		{"i want my MONEY back", true}, {"I want my money back, now", false}, {"I want my money back 👍", false},
		{"Ｉ want my money back…", true},
	} {
		line, account, _, err := next(t, customer, talk("I want my money back!", "No.", "Why?", "So."), tc.said)
		if err != nil || line.Message.Empty() ||
			(len(account.Faults) == 1 && account.Faults[0].Code == user.Repeats) != tc.repeat {
			t.Errorf("%q: %v, %v", tc.said, account.Faults, err)
		}
	}
	// Without words, the signs themselves count.
	if _, account, _, _ := next(t, customer, talk("?", "What?", "!", "So."), "?!"); len(account.Faults) > 0 {
		t.Errorf("faults = %v", account.Faults)
	}
	if _, account, _, _ := next(t, customer, talk("退款！", "不。", "为什么", "…"), "退款。"); len(account.Faults) != 1 {
		t.Errorf("faults = %v", account.Faults)
	}
}

func TestEnd(t *testing.T) {
	for _, tc := range []struct {
		talk  runner.UserScript
		reply string
		said  string
		end   bool
		early bool
	}{
		{talk("a", "b", "c", "d"), "[END]", "", true, false},
		{talk("a", "b", "c", "d"), "Bye. [END] and more", "Bye.", true, false},
		{talk("a", "b", "c", "d"), "**[END]**", "", true, false},
		{talk("a", "b", "c", "d"), "end", "end", false, false},
		{talk("a", "b"), "Bye [END]", "Bye", true, true},
		{talk(), "[END]", "", true, true},
	} {
		line, account, _, err := next(t, customer, tc.talk, tc.reply)
		early := len(account.Faults) == 1 && account.Faults[0].Code == user.StopsEarly
		if err != nil || line.Message.Text != tc.said || line.End != tc.end || early != tc.early {
			t.Errorf("%q: %+v, %v, %v", tc.reply, line, account.Faults, err)
		}
	}
	// Where stop has assertions, an end by the user is early: none has come true.
	stopping := &suite.User{Goal: "x", StopWhen: []suite.Assertion{{Type: "contains"}}}
	s := user.New(stopping, user.Model{Model: &player{lines: []string{"[END]"}}})
	if _, err := s.Next(t.Context(), talk("a", "b", "c", "d")); err != nil {
		t.Fatal(err)
	}
	if got := codes(s.Account(result.EndUser, nil)); !cmp.Equal(got, []string{user.StopsEarly}) {
		t.Errorf("faults = %v", got)
	}
	if got := s.Account(result.EndUser, nil).Faults; len(got) != 1 || got[0].Turn != 3 {
		t.Errorf("faults = %v", got)
	}
	if got := codes(s.Account(result.EndStop, nil)); len(got) > 0 {
		t.Errorf("faults = %v", got)
	}
}

// The opening is said without asking anybody; after that the model is asked with its instructions and the exchanged
// talk.
func TestOpening(t *testing.T) {
	p := &player{lines: []string{"More."}}
	seed, temperature := 7, 0.5
	s := user.New(&suite.User{Goal: "win", Opening: "Agent: I am an AI", Seed: &seed, Temperature: &temperature},
		user.Model{Model: p, Name: "m"})
	line, err := s.Next(t.Context(), talk())
	if err != nil || line.Message.Text != "Agent: I am an AI" || len(p.asked) > 0 {
		t.Fatalf("line = %+v, %v", line, err)
	}
	at := talk("Agent: I am an AI", "What?")
	at.Messages = append([]chat.Message{
		chat.NewMessage(chat.System, "You sell lamps."), chat.NewMessage(chat.Tool, "{}"),
	}, at.Messages...)
	if line, err = s.Next(t.Context(), at); err != nil || line.Message.Text != "More." {
		t.Fatalf("line = %+v, %v", line, err)
	}
	want := []chat.Message{chat.NewMessage(chat.Assistant, "Agent: I am an AI"), chat.NewMessage(chat.User, "What?")}
	if diff := cmp.Diff(want, p.asked[0].Messages[1:]); diff != "" || p.asked[0].Messages[0].Role != chat.System ||
		*p.asked[0].Seed != 7 || *p.asked[0].Temperature != 0.5 {
		t.Errorf("asked %+v", p.asked[0])
	}
}

// What cannot be said is not passed on, and what it has cost is known only if the model cannot have worked.
func TestUnreachable(t *testing.T) {
	_, account, _, err := next(t, customer, talk())
	if err == nil || !strings.Contains(err.Error(), "nobody is there") || account.Calls != 1 || account.Cost.Unknown {
		t.Errorf("account = %+v, err = %v", account, err)
	}
	for _, failure := range []error{context.DeadlineExceeded, &llm.Error{Fault: llm.Malformed}} {
		s := user.New(customer, user.Model{Model: &player{err: failure}})
		if _, err = s.Next(t.Context(), talk()); !errors.Is(err, failure) || !s.Account("", nil).Cost.Unknown ||
			!s.Account("", nil).Usage.Unknown {
			t.Errorf("account = %+v, err = %v", s.Account("", nil), err)
		}
	}
	if _, _, _, err = next(t, customer, talk(), strings.Repeat("word ", 30_000)); err == nil ||
		!strings.Contains(err.Error(), "longer than 100000 bytes") {
		t.Errorf("err = %v", err)
	}
}

func TestQuality(t *testing.T) {
	u := &suite.User{
		Goal: "Get a refund for the broken lamp",
		Facts: []suite.Fact{
			{Name: "order_number", Value: "98765"},
			{Name: "phone", Value: "+49 170 1234567"},
			{Name: "name", Value: "Ann"},
			{Value: "The lamp was bought on Monday"},
			{Name: "city", Value: "東京"},
		},
	}
	said := func(lines ...string) (all []chat.Content) {
		for _, l := range lines {
			all = append(all, chat.Content{Text: l})
		}
		return all
	}
	for _, tc := range []struct {
		said    []chat.Content
		overlap float64
		stated  bool
		given   []string
	}{
		{said("Hello", "Annie here"), 0, false, []string{}},
		{said("My LAMP, refund please", "98-765", "Ann!"), 2.0 / 3, true, []string{"order_number", "name"}},
		{
			said("refunds", "987654", "I bought it on Monday, the lamp was broken"), 1, true,
			[]string{"The lamp was bought on Monday"},
		},
		{said("call 0049 or +491701234567", "私は東京都にいます"), 0, false, []string{"phone", "city"}},
	} {
		q := user.New(u, user.Model{}).Account("", tc.said).Quality
		if q.GoalOverlap == nil || *q.GoalOverlap != tc.overlap || *q.GoalStated != tc.stated ||
			!cmp.Equal(q.FactsGiven, tc.given) || len(q.FactsGiven)+len(q.FactsWithheld) != 5 {
			t.Errorf("%v: %+v, overlap %v", tc.said, q, *q.GoalOverlap)
		}
	}
	if q := user.New(&suite.User{Persona: "somebody"}, user.Model{}).Account("", nil).Quality; q.GoalOverlap != nil ||
		q.GoalStated != nil {
		t.Errorf("without a goal: %+v", q)
	}
}
