package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
)

// widgetParts are the files of chat.js in their order. They are one script: a page of another site loads it with one
// request.
var widgetParts = []string{"words", "look", "panel", "events", "start"}

// widgetTexts are what the script says by itself, before it knows the site, or when the site's configuration cannot be
// read.
var widgetTexts = []string{"open", "close", "refused", "open_page"}

// widgetScript is chat.js.
var widgetScript = sync.OnceValues(func() ([]byte, error) {
	all, err := chatTexts()
	if err != nil {
		return nil, err
	}
	words := map[string]map[string]string{}
	for language, texts := range all {
		words[language] = map[string]string{}
		for _, key := range widgetTexts {
			words[language][key] = texts[key]
		}
	}
	table, err := json.Marshal(words)
	if err != nil {
		return nil, err
	}
	var script bytes.Buffer
	script.WriteString("(() => {\n\"use strict\";\nconst texts = ")
	script.Write(table)
	script.WriteString(";\n")
	for _, part := range widgetParts {
		data, err := chatAssets.ReadFile("assets/chat/widget/" + part + ".js")
		if err != nil {
			return nil, err
		}
		script.Write(data)
	}
	script.WriteString("})();\n")
	return script.Bytes(), nil
})

// widget is GET /chat.js. Pages of any site may load it, but the chat is shown only on pages of the origins.
func (s *Chats) widget(w http.ResponseWriter, r *http.Request) {
	script, err := widgetScript()
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	serveContent(w, r, mediaTypes[".js"], script)
}
