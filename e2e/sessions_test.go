package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// tell sends a visitor's message to a chatbot, and waits for the answer.
func tell(t *testing.T, base, body string) {
	t.Helper()
	answer, err := http.Post(base+"/api/v1/chat", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	// who leaves before the end has not been answered
	if said, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", body, answer.Status, said, err)
	}
}

// TestSessionGrows holds that the page of a session which a chatbot holds grows by itself: whoever reads a turn stays
// at it.
func TestSessionGrows(t *testing.T) {
	base := chatbot(t, "site: tea.example\ncompany: {name: Tea}\n",
		"rules:\n  - {when: {node: '^answer_writer$'}, reply: Tea costs 3 euros.}\ndefault: {json: {}}\n")
	tell(t, base, `{"site_name": "tea.example", "session_id": "s1", "input": "What does tea cost?"}`)
	b := open(t, looks[0])
	b.to(base + "/sessions")
	for _, l := range looks {
		b.as(l)
		b.fits()
		b.accessible()
		b.keep("held-sessions-"+l.String(), true)
	}
	b.as(looks[0])
	b.follow(`[data-row="session"][data-live="true"] a`)
	value[int](b, `window.opened = 1`) // a page that is loaded anew forgets it
	b.press("]", `[data-turn="1"].at:focus`)
	tell(t, base, `{"site_name": "tea.example", "session_id": "s1", "input": "And milk?"}`)
	b.wait(
		`document.querySelectorAll("[data-turn]").length == 2 && document.querySelector("main").dataset.turns == "2"`)
	b.wait(`document.querySelector("[data-live=head]").innerText.includes("2 turns") && document.querySelector("main").dataset.live == "true"`)
	if at := value[string](b,
		`document.activeElement.dataset.turn + document.querySelectorAll("[data-turn].at").length`); at != "11" ||
		value[int](b, `window.opened || 0`) != 1 {
		t.Errorf("who was at turn 1 is at %s", at)
	}
	for _, l := range looks {
		b.as(l)
		b.fits()
		b.accessible()
		b.keep("held-session-"+l.String(), true)
	}
	b.as(looks[0])
	b.forgives = "404"
	request, err := http.NewRequest(http.MethodDelete, base+"/api/v1/chat/tea.example/s1", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	b.wait(`document.querySelector("main").dataset.page == "not-found"`) // what was erased does not stay on the screen
}
