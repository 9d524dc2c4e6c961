package langfusetest

import (
	"net/http"
	"slices"
	"strconv"
)

// AddPrompt adds a version of a prompt with labels: a text, or a list of messages such as {"role": …, "content": …}.
// The version has the label latest, too, until there is a later one.
func (s *Server) AddPrompt(name string, prompt any, labels ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "chat"
	if _, ok := prompt.(string); ok {
		kind = "text"
	}
	version := 1
	for _, o := range s.prompts {
		if o["name"] != name {
			continue
		}
		version++
		o["labels"] = slices.DeleteFunc(o["labels"].([]string), func(l string) bool {
			return l == "latest" || slices.Contains(labels, l)
		})
	}
	s.prompts = append(s.prompts, object{
		"name": name, "version": version, "type": kind, "prompt": prompt, "config": object{},
		"labels": append([]string{"latest"}, labels...), "tags": []string{}, "updatedAt": s.moment(),
	})
}

func (s *Server) getPrompt(in input) (int, any) {
	version, label := in.param("version"), in.param("label")
	if version == "" && label == "" {
		label = "production"
	}
	for _, o := range s.prompts {
		if o["name"] != in.path("promptName") {
			continue
		}
		if version == strconv.Itoa(o["version"].(int)) ||
			label != "" && slices.Contains(o["labels"].([]string), label) {
			return http.StatusOK, o
		}
	}
	return missing("Prompt")
}
