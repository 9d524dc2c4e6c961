package importer

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// isTargets reports whether a document lists targets and nothing else.
func isTargets(root source.Value) bool {
	list := listOfTargets(root)
	one := first(list)
	return !has(root, "tests") && !has(root, "prompts") && list.Kind == source.List &&
		(has(one, "name") && (has(one, "provider") || has(one, "use_target")) ||
			has(one, "id") && has(one, "label") && !has(one, "messages"))
}

// listOfTargets returns the targets of a document, which a list of them may be itself.
func listOfTargets(root source.Value) source.Value {
	for _, name := range []string{"targets", "providers"} {
		if list, ok := root.Get(name); ok {
			return list
		}
	}
	return root
}

// readTargets reads the targets of a project.
func readTargets(r *reader, root source.Value) {
	if root.Kind == source.Map {
		top := r.settings(root, "")
		top.keep("targets")
		if !has(root, "targets") {
			top.keep("providers")
		}
		top.rest()
	}
	for _, v := range listOfTargets(root).Items {
		if len(r.targets) >= maxTargets {
			r.lose(v.Line, "targets", "there are more than %d", maxTargets)
			return
		}
		r.agentvTarget(v)
	}
}

// agentvTarget makes a target, and returns its name; it is empty when there is none.
func (r *reader) agentvTarget(v source.Value) string {
	if config, ok := v.Get("config"); ok && config.Kind == source.Map { // version 5 has its keys there
		config.Fields = slices.DeleteFunc(slices.Clone(config.Fields), func(f source.Field) bool {
			return has(v, f.Name)
		})
		v.Fields = slices.Concat(slices.DeleteFunc(slices.Clone(v.Fields), func(f source.Field) bool {
			return f.Name == "config"
		}), config.Fields)
	}
	e := r.settings(v, "target")
	e.keep("runtime")
	name := e.text("name", "label", "id")
	provider := e.text("provider", "id")
	e.what = "target " + name
	if use := e.text("use_target"); use != "" {
		r.lose(v.Line, e.what, "it stands for another target: name that one with --target")
		return ""
	}
	var keys pairs
	known := providersByName()[provider]
	switch {
	case provider == "cli":
		keys = r.cliTarget(e)
	case known != "":
		model := e.text("model", "deployment")
		if model == "" {
			r.lose(v.Line, e.what, "it names no model")
			return ""
		}
		keys = pairs{{"provider", known}, {"model", environmentIn(model)}}
		keys = keys.with("base_url", environmentIn(e.text("base_url", "endpoint"))).with("api_version",
			environmentIn(e.text("version", "api_version")))
		if key := e.text("api_key"); key != "" {
			if variable := variableOf(key); variable != "" {
				keys = append(keys, pair{"api_key_env", variable})
			} else {
				r.lose(e.lineOf("api_key"), e.name("api_key"),
					"keys of providers come from the environment: name the variable in api_key_env")
			}
		}
		for _, key := range []string{"temperature", "seed", "top_p"} {
			keys = keys.with(key, e.get(key))
		}
		keys = keys.with("max_tokens", e.get("max_tokens", "max_output_tokens"))
		switch api := e.text("api_format"); api {
		case "responses":
			keys = append(keys, pair{"api", api})
		case "", "chat":
		default:
			r.lose(e.lineOf("api_format"), e.name("api_format"), "it is chat or responses")
		}
	default:
		r.lose(v.Line, e.what, "the provider %s drives no chat agent that a target could be", provider)
		return ""
	}
	if keys == nil {
		return ""
	}
	e.drop("the judge is that of the configuration", "grader_target", "judge_target")
	e.rest()
	return r.target(name, keys)
}

// variableOf returns the variable that a text names and nothing else.
func variableOf(s string) string {
	name, ok := strings.CutPrefix(environmentIn(strings.TrimSpace(s)), "${{ ")
	if name, rest, _ := strings.Cut(name, " }}"); ok && rest == "" {
		return strings.TrimSpace(name)
	}
	return ""
}

// cliTarget returns a program that is started for each turn.
func (r *reader) cliTarget(e *entry) pairs {
	command := environmentIn(e.text("command"))
	if strings.TrimSpace(command) == "" || strings.Contains(command, "{OUTPUT_FILE}") ||
		strings.Contains(command, "{FILES}") || strings.Contains(command, "{PROMPT_FILE}") {
		r.lose(e.lineOf("command"), e.name("command"),
			"a program gets the message and answers on its standard output, without files")
		return nil
	}
	command = strings.NewReplacer("{PROMPT}", "{{message}}", "{EVAL_ID}", "{{test_id}}").Replace(command)
	return pairs{{"kind", "command"}, {"command", command}, {"process", "turn"}}.with("cwd", e.text("cwd"))
}
