package api

import (
	"embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
)

// chatAssets are the chat page, its texts, and the script that embeds it in other pages.
//
//go:embed assets/chat
var chatAssets embed.FS

// chatTexts are what the page itself says, by language and key. Every language has the same keys.
var chatTexts = sync.OnceValues(func() (map[string]map[string]string, error) {
	all := map[string]map[string]string{}
	for _, language := range site.Languages() {
		data, err := chatAssets.ReadFile("assets/chat/texts/" + language + ".json")
		if err != nil {
			return nil, err
		}
		texts := map[string]string{}
		if err := json.Unmarshal(data, &texts); err != nil {
			return nil, fmt.Errorf("the texts in %s: %w", language, err)
		}
		all[language] = texts
	}
	return all, nil
})
