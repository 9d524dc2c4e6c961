package flow

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// said writes a history in short: u is a message of the user's, a one of the assistant's, and a number after it is its
// turn.
func saidAs(t interface{ Fatal(...any) }, short string) []Message {
	var history []Message
	for word := range strings.FieldsSeq(short) {
		m := Message{Role: chat.User}
		if word[0] == 'a' {
			m.Role = chat.Assistant
		}
		if len(word) > 1 {
			if err := json.Unmarshal([]byte(word[1:]), &m.Turn); err != nil {
				t.Fatal(err)
			}
		}
		history = append(history, m)
	}
	return history
}

func TestNumbered(t *testing.T) {
	for short, want := range map[string]struct {
		numbers string
		next    int
	}{
		"":                         {"", 1},
		"u a u a u a":              {"1 1 2 2 3 3", 4},
		"u0 a0 u0 a0":              {"1 1 2 2", 3},
		"u-3 a-3 u-2 a-2":          {"1 1 2 2", 3},
		"a u a u a":                {"1 1 1 2 2", 3},
		"a":                        {"1", 1},
		"a1 u1 a1 u2 a2":           {"1 1 1 2 2", 3},
		"a4 a4 u4 a4":              {"4 4 4 4", 5},
		"u a a u u a":              {"1 1 1 2 3 3", 4},
		"u1 a1 u1 a1 u2 a2":        {"1 1 2 2 3 3", 4},
		"u5 a5 u2 a2 u a":          {"5 5 6 6 7 7", 8},
		"u a u1 a1 u7 a7":          {"1 1 2 2 7 7", 8},
		"u3 a1 u4 a9 u9 a9":        {"3 3 4 9 10 10", 11},
		"u":                        {"1", 2},
		"u9007199254740993 a u2 a": {"1 1 2 2", 3},
		"u9007199254740992 a u a": {
			"9007199254740992 9007199254740992 9007199254740993 9007199254740993", maxTurn + 1,
		},
		fmt.Sprint("u", math.MinInt): {"1", 2},
	} {
		history := saidAs(t, short)
		c := &Context{History: history}
		got := ""
		for _, m := range numbered(history) {
			got += fmt.Sprint(" ", m.number)
		}
		if got = strings.TrimSpace(got); got != want.numbers || c.Turn() != want.next {
			t.Errorf("%q is numbered %s and goes on with %d, want %s and %d", short, got, c.Turn(), want.numbers,
				want.next)
		}
	}
	for index, want := range map[int]int{0: 3, 1: 3, 2: 3, 9: 10, -5: 3, math.MaxInt: maxTurn + 1, math.MinInt: 3} {
		c := Context{Memory: Memory{TurnIndex: index}, History: saidAs(t, "u a u a")}
		if got := c.Turn(); got != want {
			t.Errorf("after turn_index %d comes turn %d, want %d", index, got, want)
		}
	}
}

// Turns never go back, count from 1, and numbering what is numbered changes nothing.
func TestNumberedLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"u", "a", "u1", "a1", "u2", "a2", "u7", "a7", "u-1", "a0"})).
			Draw(t, "history")
		known := numbered(saidAs(t, strings.Join(words, " ")))
		last := 1
		for i, m := range known {
			if m.number < last {
				t.Fatalf("message %d of %v has turn %d after %d", i, words, m.number, last)
			}
			if last = m.number; isUser(m) && i > 0 && isUser(known[i-1]) && known[i-1].number == m.number {
				t.Fatalf("two messages of the user's in turn %d of %v", m.number, words)
			}
			known[i].Turn = m.number
		}
		for i, m := range numbered(known) {
			if m.number != known[i].number {
				t.Fatalf("numbered again, message %d of %v has turn %d instead of %d", i, words, m.number,
					known[i].number)
			}
		}
		if c := (&Context{History: known}); len(known) > 0 && c.Turn() < last {
			t.Fatalf("after turn %d comes %d", last, c.Turn())
		}
	})
}
