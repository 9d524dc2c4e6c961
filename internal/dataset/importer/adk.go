package importer

import (
	"fmt"
	"strings"
)

// ADK has two forms: lists of {query, reference}, also in evalsets with a name, and {eval_cases: [{conversation}]}.

func isADK(root any) bool {
	if list(mapping(root)["eval_cases"]) != nil {
		return true
	}
	one := first(root)
	return text(one["query"]) != "" || list(one["data"]) != nil
}

func readADK(f *file, root any) (all []conversation) {
	if set := mapping(root); set != nil {
		f.rest(set, "eval_set_id", "name", "description", "eval_cases", "creation_timestamp")
		for _, v := range list(set["eval_cases"]) {
			all = append(all, evalCase(f, mapping(v)))
		}
		return all
	}
	if list(first(root)["data"]) == nil {
		return []conversation{queries(f, "conversation", list(root))}
	}
	for _, v := range list(root) {
		set := mapping(v)
		f.rest(set, "name", "data")
		all = append(all, queries(f, text(set["name"]), list(set["data"])))
	}
	return all
}

// queries reads the older form.
func queries(f *file, name string, all []any) conversation {
	c := conversation{name: name}
	for _, v := range all {
		one := mapping(v)
		f.rest(one, "query", "reference")
		c.turns = append(c.turns, expecting(text(one["query"]), text(one["reference"])))
	}
	return c
}

// evalCase reads a conversation of the newer form.
func evalCase(f *file, m map[string]any) conversation {
	f.rest(m, "eval_id", "conversation", "creation_timestamp")
	c := conversation{name: text(m["eval_id"])}
	if i := strings.LastIndexByte(c.name, '/'); i >= 0 { // it is the path of the file
		c.name = c.name[i+1:]
	}
	for _, v := range list(m["conversation"]) {
		one := mapping(v)
		f.rest(one, "invocation_id", "user_content", "final_response", "creation_timestamp", "intermediate_data")
		f.rest(mapping(one["intermediate_data"]))
		c.turns = append(c.turns, expecting(parts(f, one["user_content"]), parts(f, one["final_response"])))
	}
	return c
}

// parts joins the texts of a content.
func parts(f *file, content any) string {
	var said []string
	for _, v := range list(mapping(content)["parts"]) {
		part := mapping(v)
		f.rest(part, "text")
		if s := strings.TrimSpace(text(part["text"])); s != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, "\n")
}

// expecting is a turn whose reference is both what is expected and what the conversation goes on with.
func expecting(query, reference string) turn {
	t := turn{query: query, answer: reference}
	if reference != "" {
		t.expected = map[string]any{"response": reference}
	}
	return t
}

// numbered names a conversation that has no name.
func numbered(name string, i int) string {
	if name != "" {
		return name
	}
	return fmt.Sprintf("conversation-%d", i+1)
}
