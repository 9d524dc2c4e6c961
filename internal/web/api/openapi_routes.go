package api

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/classification"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// operations documents every route. A test holds it against the tables.
func operations() map[string]operation {
	all := map[string]operation{}
	for _, part := range []map[string]operation{runOperations(), scheduleOperations(), flowOperations(), listOperations(), chatOperations(), otherOperations()} {
		maps.Copy(all, part)
	}
	return all
}

// anyObject is the schema of an object whose members are told elsewhere.
var anyObject = json.RawMessage(`{"type": "object"}`)

// paged are the parameters of every list.
func paged(others ...parameter) []parameter {
	return append(others, parameter{"limit", "the most that the page has: 100, at most 1000"}, parameter{"cursor", "next_cursor of the page before"})
}

// What answers hold that have no type of their own.
type (
	validation struct {
		Valid  bool            `json:"valid"`
		Errors source.Problems `json:"errors"`
	}
	pruning struct {
		OlderThan *runspec.Age `json:"older_than,omitempty"`
		Keep      *int         `json:"keep,omitempty"`
	}
	pruned struct {
		Pruned int `json:"pruned"`
	}
	keptBlob struct {
		SHA256 string `json:"sha256"`
		Bytes  int    `json:"bytes"`
	}
	flowsView struct {
		Flows []flowSummary `json:"flows"`
	}
)

func runOperations() map[string]operation {
	one := runsPath + "/{run_id}"
	results := []parameter{
		{"verdict", "pass, fail, error or skip"},
		{"code", "a failure code"},
		{"suite", ""},
		{"test_id", ""},
		{"target", ""},
		{"trial", ""},
		{"q", "text in the transcript"},
	}
	return map[string]operation{
		"POST " + runsPath: {
			summary: "Submit a run", body: runspec.Spec{}, answers: []answer{gives(http.StatusCreated, store.Run{}), gives(http.StatusOK, store.Run{})},
			headers: []parameter{idempotencyHeader},
		},
		"GET " + runsPath: {
			summary: "List runs, the newest first", answers: []answer{gives(http.StatusOK, store.Page[store.Run]{})},
			query: paged(parameter{"status", ""}, parameter{"name", ""}, parameter{"suite", ""}, parameter{"target", ""}, parameter{"schedule", ""},
				parameter{"label", "k:v"}, parameter{"since", "a time"}, parameter{"until", "a time"}),
		},
		"POST " + runsPath + "/prune": {summary: "Delete old runs", body: pruning{}, answers: []answer{gives(http.StatusOK, pruned{})}},
		"GET " + one:                  {summary: "A run", answers: []answer{gives(http.StatusOK, store.Run{})}},
		"DELETE " + one:               {summary: "Delete a run that has ended", answers: []answer{{status: http.StatusNoContent}}},
		"POST " + one + "/cancel":     {summary: "Cancel a run", answers: []answer{gives(http.StatusAccepted, store.Run{})}},
		"GET " + one + "/spec":        {summary: "The RunSpec of a run, files by their hashes", answers: []answer{gives(http.StatusOK, runspec.Spec{})}},
		"GET " + one + "/events": {
			summary: "What happens to a run, as server-sent events", answers: []answer{sends("text/event-stream")},
			headers: []parameter{{"Last-Event-ID", "the stream begins after this event"}}, query: []parameter{{"last_event_id", "the same"}},
		},
		"GET " + one + "/results": {
			summary: "Results of a run, or all as JSON Lines", query: paged(results...),
			answers: []answer{gives(http.StatusOK, store.Page[resultView]{}), sends("application/x-ndjson")},
		},
		"GET " + one + "/results/{result_id}": {summary: "A result", answers: []answer{gives(http.StatusOK, resultView{})}},
		"GET " + one + "/{file}": {
			summary: "A file of a run that has ended: results.jsonl, run.json, report.html, report.md or junit.xml, of a classification also classification.json, of a replay report.json",
			answers: []answer{
				gives(http.StatusOK, anyOf{result.Run{}, classification.Report{}, replay.Report{}}), sends("application/x-ndjson"), sends("text/html"), sends("text/markdown"), sends("application/xml"),
			},
		},
		"PUT /api/v1/blobs/{sha256}": {
			summary: "Keep a file under its SHA-256", body: bytesBody{},
			answers: []answer{gives(http.StatusCreated, keptBlob{}), gives(http.StatusOK, keptBlob{})},
		},
		"HEAD /api/v1/blobs/{sha256}":  {summary: "Is a file there?", answers: []answer{{status: http.StatusOK}}},
		"POST /api/v1/suites/validate": {summary: "Check a run without beginning it", body: runspec.Spec{}, answers: []answer{gives(http.StatusOK, validation{})}},
		"GET " + one + "/artifacts": {
			summary: "What was kept of the conversations of a run", query: paged(), answers: []answer{gives(http.StatusOK, store.Page[store.Artifact]{})},
		},
		"GET " + artifactsPath + "/{sha256}": {summary: "The bytes of an artifact", answers: []answer{sends("application/octet-stream")}},
		"GET /api/v1/workers":                {summary: "Who holds conversations", query: paged(), answers: []answer{gives(http.StatusOK, store.Page[natsconn.Worker]{})}},
	}
}

func listOperations() map[string]operation {
	return map[string]operation{
		"GET /api/v1/datasets": {summary: "List datasets", query: paged(), answers: []answer{gives(http.StatusOK, store.Page[datasetView]{})}},
		"GET /api/v1/sessions": {
			summary: "List logged sessions", query: paged(parameter{"flow_id", "only those of a flow"}), answers: []answer{gives(http.StatusOK, store.Page[sessionView]{})},
		},
		"GET /api/v1/replays":  {summary: "List replay runs, the newest first", query: paged(), answers: []answer{gives(http.StatusOK, store.Page[replay.Run]{})}},
		"GET /api/v1/variants": {summary: "List variants", query: paged(), answers: []answer{gives(http.StatusOK, store.Page[replay.Variant]{})}},
	}
}

func flowOperations() map[string]operation {
	one := "/api/v1/conversations/{conversation_id}"
	begin := json.RawMessage(`{"type": "object", "properties": {"flow_id": {"type": "string"}}, "required": ["flow_id"]}`)
	message := json.RawMessage(`{"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}`)
	executed := []answer{gives(http.StatusOK, json.RawMessage(flow.ResultSchema())), sends("text/event-stream")}
	return map[string]operation{
		"POST /execute":             {summary: "Take one turn of a conversation whose state the caller keeps", body: json.RawMessage(flow.ContextSchema()), answers: executed},
		"POST /internal/agent/test": {summary: "The same with sampling parameters and tracing", body: json.RawMessage(flow.ContextSchema()), answers: executed},
		"GET /internal/agent/test":  {summary: "The same over a WebSocket", answers: []answer{{status: http.StatusSwitchingProtocols}}},
		"GET /api/v1/flows":         {summary: "List flows", answers: []answer{gives(http.StatusOK, flowsView{})}},
		"GET /api/v1/flows/{flow_id}": {
			summary: "A flow with its nodes", answers: []answer{gives(http.StatusOK, flowView{})},
		},
		"GET /api/v1/flows/{flow_id}/drawing": {
			summary: "A picture of a flow: SVG, or Mermaid", answers: []answer{sends(mediaSVG), sends(mediaMermaid)},
		},
		"POST /api/v1/conversations": {summary: "Begin a conversation", body: begin, answers: []answer{gives(http.StatusCreated, openingView{})}},
		"GET " + one:                 {summary: "A conversation with its messages", answers: []answer{gives(http.StatusOK, transcriptView{})}},
		"DELETE " + one:              {summary: "End a conversation", answers: []answer{{status: http.StatusNoContent}}},
		"POST " + one + "/messages":  {summary: "Say something", body: message, answers: []answer{gives(http.StatusOK, replyView{}), sends("text/event-stream")}},
		"POST " + one + "/reset":     {summary: "Go back to the beginning", answers: []answer{gives(http.StatusOK, openingView{})}},
	}
}

func chatOperations() map[string]operation {
	state := chatPath + "/{site_name}/{session_id}/state"
	type whole struct {
		Response string            `json:"response"`
		Metadata *sitebot.Metadata `json:"metadata"`
	}
	asked := json.RawMessage(`{"type": "object", "properties": {"site_name": {"type": "string"}, "session_id": {"type": "string"},
		"input": {"type": "string"}, "person_id": {"type": "string"}, "language": {"type": "string"}, "turn_number": {"type": "integer", "minimum": 0},
		"reveal": {"type": "object"}}, "required": ["site_name", "session_id", "input"]}`)
	spoken := []parameter{{"language", "of the page's texts, such as fr"}}
	streamed := []parameter{{"start", "1 asks for an event at the beginning"}, {"answered", "1 asks for one at the end of the answer, before suggestions"}}
	return map[string]operation{
		"POST " + chatPath:     {summary: "Talk to the chatbot of a site", query: streamed, body: asked, answers: []answer{sends("text/event-stream"), gives(http.StatusOK, whole{})}},
		"OPTIONS " + chatPath:  {summary: "May a page of another site ask?", answers: []answer{{status: http.StatusNoContent}}},
		"GET " + state:         {summary: "The state of a session", answers: []answer{gives(http.StatusOK, anyObject)}},
		"PATCH " + state:       {summary: "Inject state", query: []parameter{{"replace", "1 replaces the whole state"}}, body: anyObject, answers: []answer{gives(http.StatusOK, anyObject), {status: http.StatusNoContent}}},
		"DELETE " + oneSession: {summary: "Erase a session with all that it has left", answers: []answer{{status: http.StatusNoContent}}},
		"GET " + oneSession:    {summary: "A session with its turns, failures, leads and thumbs", answers: []answer{gives(http.StatusOK, sitebot.Session{})}},
		"GET " + siteSessions: {
			summary: "The sessions of a site, those with the newest message first", answers: []answer{gives(http.StatusOK, sitebot.SessionList{})},
			query: []parameter{
				{"q", "text in the messages, in any case"},
				{"since", "a time; of the last message"},
				{"until", "a time"},
				{"outcome", "converted, open, blocked or failed"},
				{"limit", "the most that the page has: 50, at most 1000"},
				{"cursor", "next_cursor of the page before"},
			},
		},
		"POST " + oneSession + "/feedback":  {summary: "A thumb for a turn, up or down", body: feedbackBody{}, answers: []answer{{status: http.StatusNoContent}}},
		"GET /chat/{site_name}":             {summary: "A page to talk on", query: spoken, answers: []answer{sends("text/html")}},
		"GET /chat/{site_name}/config.json": {summary: "How the chat of a site looks and what it says", query: spoken, answers: []answer{gives(http.StatusOK, chatConfig{})}},
		"GET /chat/{site_name}/theme.css":   {summary: "The colours of a site's page", answers: []answer{sends("text/css")}},
		"GET /chat/assets/page.css":         {summary: "How the page looks", answers: []answer{sends("text/css")}},
		"GET /chat/assets/page.js":          {summary: "The script of the page", answers: []answer{sends("text/javascript")}},
		"GET /chat/assets/page/{file}":      {summary: "A part of it", answers: []answer{sends("text/javascript")}},
		"GET /chat.js":                      {summary: "The chat as a part of other pages", answers: []answer{sends("text/javascript")}},
	}
}

func otherOperations() map[string]operation {
	wish := json.RawMessage(`{"type": "object", "properties": {"name": {"type": "string"}, "scopes": {"type": "array", "items": {"type": "string"}},
		"expires": {"type": "string"}}, "required": ["name", "scopes"]}`)
	return map[string]operation{
		"POST " + eventsPath:               {summary: "Keep a logged event", body: anyObject, answers: []answer{gives(http.StatusCreated, oneAnswer{}), gives(http.StatusOK, oneAnswer{})}},
		"POST " + eventsPath + "/batch":    {summary: "Keep many", body: json.RawMessage(`{}`), answers: []answer{gives(http.StatusOK, batchAnswer{}), gives(http.StatusMultiStatus, batchAnswer{})}},
		"GET " + tokensPath:                {summary: "List tokens", query: paged(), answers: []answer{gives(http.StatusOK, store.Page[tokenView]{})}},
		"POST " + tokensPath:               {summary: "Make a token", body: wish, answers: []answer{gives(http.StatusCreated, tokenView{})}},
		"DELETE " + tokensPath + "/{name}": {summary: "Remove a token", answers: []answer{{status: http.StatusNoContent}}},
		"GET /metrics":                     {summary: "What Prometheus reads", answers: []answer{sends("text/plain")}},
		"GET " + documentPath:              {summary: "This document", answers: []answer{gives(http.StatusOK, anyObject)}},
		"GET " + docsPath:                  {summary: "This document as a page", answers: []answer{sends("text/html")}},
	}
}
