package datasetimport

import (
	"regexp"
	"strings"
)

// Rasa's stories have what users say with its intent, and the names of the actions that answer.

func isRasa(root any) bool { return list(mapping(root)["stories"]) != nil }

// entity is a part of what a user says that is marked as [value](entity), or as [value]{"entity": …}.
var entity = regexp.MustCompile(`\[([^\]]*)\](\([^)]*\)|\{[^}]*\})`)

func readRasa(f *file, root any) (all []conversation) {
	f.rest(mapping(root), "stories", "version")
	for i, v := range list(mapping(root)["stories"]) {
		story := mapping(v)
		f.rest(story, "story", "steps")
		c := conversation{name: numbered(text(story["story"]), i)}
		for _, v := range list(story["steps"]) {
			step := mapping(v)
			if said := strings.TrimSpace(text(step["user"])); said != "" {
				f.rest(step, "user", "intent")
				f.lose("entities in what users say", len(entity.FindAllString(said, -1)))
				t := turn{query: entity.ReplaceAllString(said, "$1")}
				if intent := text(step["intent"]); intent != "" {
					t.expected = map[string]any{"intent": intent}
				}
				c.turns = append(c.turns, t)
				continue
			}
			for name := range step {
				f.lose(name, 1)
			}
		}
		all = append(all, c)
	}
	return all
}
