package sitebot_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// A chatbot for one site. Its model is played from rules here; llm.Open opens a real one.
func ExampleNew() {
	one, err := site.Load("tea.yaml", []byte("site: tea.example\ncompany: {name: Tea & Co}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	library, err := site.NewLibrary(one)
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := llm.LoadScript("bot.yaml", []byte(`
rules:
  - {when: {node: intent_classifier}, json: {intent: LEARN, confidence: 0.9}}
  - {when: {node: answer_writer}, reply: We sell green and black tea.}
default: {json: {}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	bot, err := sitebot.New(sitebot.Config{
		Sites:  library,
		Models: func(*site.Site) (sitebot.Models, error) { return sitebot.Models{Default: model, Fast: model}, nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := bot.Turn(context.Background(), sitebot.Request{
		Site: "tea.example", Session: "s1", Input: "What do you sell?",
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Response)
	fmt.Println(answer.Metadata.Route, answer.Metadata.Intent)
	// Output:
	// We sell green and black tea.
	// ANSWER LEARN
}

// A recorded conversation becomes the state in which a new message comes.
func ExampleRebuild() {
	state := sitebot.Rebuild(sitebot.History{
		Rows: []sitebot.HistoryRow{
			{Role: "user", Content: "I plan shifts for a hotel."},
			{Role: "assistant", Content: "👉 How many people are on your rota?"},
		},
		Query:    "40",
		FieldIDs: []string{"team_size"},
	})
	fmt.Println(len(state.Messages), "messages, turn", state.TurnNumber)
	fmt.Println("question asked in turn", state.Profiling.LastExtractionTurn)
	// Output:
	// 2 messages, turn 1
	// question asked in turn 1
}
