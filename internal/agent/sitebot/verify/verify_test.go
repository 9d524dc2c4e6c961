package verify_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/verify"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// said returns a history of messages by user and assistant in turn.
func said(texts ...string) sitebot.Rebuilt {
	roles := []chat.Role{chat.User, chat.Assistant}
	var h sitebot.History
	for i, text := range texts {
		h.Rows = append(h.Rows, sitebot.HistoryRow{Role: roles[i%2], Content: text})
	}
	return sitebot.Rebuild(h)
}

// A conversation that the chatbot could have led is rebuilt as it was played; one that the gate stopped differs, and
// says why.
func TestAll(t *testing.T) {
	one, err := site.Load("shop.yaml", []byte("{site: shop.example}"))
	if err != nil {
		t.Fatal(err)
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		t.Fatal(err)
	}
	player := &verify.Player{}
	bot, err := sitebot.New(sitebot.Config{
		Sites: library, MarkersStand: true, Models: func(*site.Site) (sitebot.Models, error) {
			return sitebot.Models{Default: player, Fast: player}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := verify.All(t.Context(), bot, player, []verify.Item{
		{"plain", "shop.example", said("Hi", "Hello.", "A guide?", "💌 Your address?")},
		{"empty", "shop.example", said()},
		{"half", "shop.example", said("Hi")},
		{"spam", "shop.example", said("Hi", "1", "Hi", "2", "Hi", "3", "Hi", "4")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(verify.Totals{Items: 4, Same: 2, Different: 1, Unplayable: 1}, verify.Count(all)); d != "" {
		t.Errorf("totals (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]verify.Blocked{{4, sitebot.BlockSpam}}, all[3].Blocked); d != "" {
		t.Errorf("turns that were not answered (-want +got):\n%s", d)
	}
}
