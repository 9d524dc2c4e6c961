package coordinator_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/fleet/coordinator"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// strict returns a server that leads nothing, with rules for what is submitted and a small environment.
func strict(h *house, allowed wire.Submitted, commands bool, environ ...string) *coordinator.Service {
	lookup := func(name string) (string, bool) {
		for _, entry := range environ {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
	return coordinator.New(coordinator.Config{
		Store: h.store, Conn: h.conn, Queue: h.queue, Dir: filepath.Join(h.dir, "strict"), Owner: "strict",
		Setup: wire.Options{NoCommands: !commands, Submitted: &allowed, Environ: environ, LookupEnv: lookup},
	})
}

// written is a spec with a configuration and the keys of a test of its suite.
func written(config, test string) runspec.Spec {
	return runspec.Spec{
		Schema: 1, Suites: []string{"s.suite.yaml"},
		Files: map[string]runspec.File{
			"s.suite.yaml":  {Content: []byte("name: s\ntests:\n  - {id: a, input: hi, " + test + "}\n")},
			"rehearse.yaml": {Content: []byte(config)},
			"bot.yaml":      {Content: []byte("default: {reply: x}\n")},
		},
	}
}

const plainTest = "assertions: [{type: contains, value: x}]"

// code is what a submission is refused with: the code of a RefusedError, `invalid`, or nothing.
func code(err error) string {
	if refused, ok := errors.AsType[*wire.RefusedError](err); ok {
		return refused.Code
	}
	if errors.As(err, new(*coordinator.InvalidError)) {
		return "invalid"
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// An address that a submission names must be public, wherever it stands and however it is written.
func TestRefusedAddresses(t *testing.T) {
	h := newHouse(t)
	s, open := strict(h, wire.Submitted{}, false), strict(h, wire.Submitted{AllowPrivate: true}, false)
	for name, spec := range map[string]runspec.Spec{
		"http":        written("targets: {t: {url: 'http://127.0.0.1:1/chat'}}", plainTest),
		"http, short": written("targets: {t: 'http://127.0.0.1:1/chat'}", plainTest),
		"http, open": written("targets: {t: {url: 'http://shop.example', open: {url: 'http://10.0.0.1', "+
			"session: {path: $.id}}, body: {s: '{{session_id}}'}}}", plainTest),
		"http, close": written("targets: {t: {url: 'http://shop.example', close: {url: 'http://[::1]/end'}}}",
			plainTest),
		"http, by with": written("targets: {t: {url: '{{with.at}}/chat', with: {at: 'http://192.168.1.1'}}}",
			plainTest),
		"a port to be filled": written("targets: {t: {url: 'http://169.254.169.254/{{session_id}}'}}", plainTest),
		"websocket":           written("targets: {t: {url: 'ws://localhost:1/chat'}}", plainTest),
		"websocket, short":    written("targets: {t: 'wss://[fd00::1]/chat'}", plainTest),
		"a2a":                 written("targets: {t: {kind: a2a, url: 'http://0x7f.1/'}}", plainTest),
		"a2a, short":          written("targets: {t: 'a2a:http://2130706433'}", plainTest),
		"execute": written("targets: {t: {kind: execute, url: 'http://user:pw@127.1/execute', flow_id: f}}",
			plainTest),
		"model@URL": written("targets: {t: 'openai:m@http://0.0.0.0:1/v1'}", plainTest),
		"base_url": written("targets: {t: {model: openai:m, base_url: 'http://ip6-localhost/v1'}}",
			plainTest),
		"base_url of a model": written(
			"targets: {t: lexical}\nmodels: {m: {model: openai:m, base_url: 'http://100.64.0.1/v1'}}", plainTest),
		"judge": written(
			"targets: {t: lexical}\njudge: {model: {model: openai:m, base_url: 'http://[::ffff:10.0.0.1]/v1'}}",
			plainTest),
		"panel": written(
			"targets: {t: lexical}\njudge: {panel: [openai:a, {model: openai:m, base_url: 'http://a.localhost/v1'}]}",
			plainTest),
		"user": written(
			"targets: {t: lexical}\nuser: {model: openai:m, base_url: 'http://localhost./v1'}", plainTest),
		"embedder": written(
			"targets: {t: lexical}\nembedder: {model: openai:m, base_url: 'http://127。0。0。1/v1'}", plainTest),
		"not the one asked": written("targets: {t: lexical, other: {url: 'http://127.0.0.1'}}\ntarget: t", plainTest),
		"target of a test": written("targets: {t: lexical}",
			plainTest+", execution: {target: 'http://127.0.0.1:1'}"),
		"grader": written("targets: {t: lexical}",
			"assertions: [{type: http, url: 'http://127.0.0.1:1/grade'}]"),
		"grader inside": written("targets: {t: lexical}",
			"assertions: [{type: composite, assertions: [{type: http, url: 'http://localhost/grade'}]}]"),
		"grader of a turn": written("targets: {t: lexical}", "mode: conversation, turns: [{input: a, assertions: "+
			"[{type: http, url: 'http://[64:ff9b::7f00:1]/grade'}]}]"),
	} {
		if _, err := s.Check(t.Context(), spec, coordinator.Caller{}); code(err) != wire.RefusedAddress {
			t.Errorf("%s: %v", name, err)
		} else if text := err.Error(); strings.Contains(text, "pw") {
			t.Errorf("%s: the error tells a password: %s", name, text)
		}
		if _, err := open.Check(t.Context(), spec, coordinator.Caller{}); code(err) == wire.RefusedAddress {
			t.Errorf("%s is refused although private addresses are allowed: %v", name, err)
		}
	}
	for name, spec := range map[string]runspec.Spec{
		"public": written("targets: {t: {url: 'https://shop.example/chat'}}", plainTest),
		"a name": written("targets: {t: {url: 'http://metadata.google.internal/'}}", plainTest),
		"templated": written("targets: {t: {url: 'http://{{vars.host}}/chat'}}",
			plainTest+", vars: {host: 127.0.0.1}"),
		"no base_url": written("targets: {t: 'openai:m', o: 'ollama:m'}\ntarget: t", plainTest),
		"passed over": written("targets: {t: lexical}\nstore: 'postgres://127.0.0.1/x'\nserver: 'http://127.0.0.1'\n"+
			"queue: 'nats://127.0.0.1'\nwatches: [1]\nenv_file: ../.env\napi_private: true", plainTest),
	} {
		if _, err := s.Check(t.Context(), spec, coordinator.Caller{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	spec := written("targets: {t: lexical}", plainTest)
	spec.Targets = []string{"http://127.0.0.1:1"}
	if _, _, err := s.Submit(t.Context(), spec, "", coordinator.Caller{}); code(err) != wire.RefusedAddress {
		t.Errorf("a target of the spec: %v", err)
	}
	spec.Targets, spec.Judge = nil, "openai:m@http://127.0.0.1:1/v1" // which no test asks
	if _, err := s.Check(t.Context(), spec, coordinator.Caller{}); code(err) != wire.RefusedAddress {
		t.Errorf("a judge of the spec: %v", err)
	}
	spec.Judge, spec.User = "", "openai:m@http://[::1]/v1"
	if _, err := s.Check(t.Context(), spec, coordinator.Caller{}); code(err) != wire.RefusedAddress {
		t.Errorf("a user of the spec: %v", err)
	}
}

// A path that leads out of the files that came with a run is refused with the run, and not found by whoever holds its
// conversations.
func TestRefusedPaths(t *testing.T) {
	h := newHouse(t)
	s := strict(h, wire.Submitted{}, false)
	judged := "assertions: [{type: llm_rubric, value: good}]"
	for name, spec := range map[string]runspec.Spec{
		"model":        written("targets: {t: {model: 'scripted:/etc/hostname'}}", plainTest),
		"model, above": written("targets: {t: {model: 'scripted:../../bot.yaml'}}", plainTest),
		"model, short": written("targets: {t: 'scripted:/etc/hostname'}", plainTest),
		"named model":  written("targets: {t: {model: m}}\nmodels: {m: 'scripted:/etc/hostname'}", plainTest),
		"recording":    written("targets: {t: {model: 'cassette:/etc/hostname'}}", plainTest),
		"flow":         written("targets: {t: {kind: flow, flow: /etc/hostname, model: lexical}}", plainTest),
		"sites":        written("targets: {t: {kind: sitebot, sites: /etc, site: x, model: lexical}}", plainTest),
		"judge":        written("targets: {t: lexical}\njudge: {model: 'scripted:/etc/hostname'}", judged),
		"target of a test": written("targets: {t: lexical}",
			plainTest+", execution: {target: 'scripted:/etc/hostname'}"),
	} {
		if _, err := s.Check(t.Context(), spec, coordinator.Caller{}); code(err) != "invalid" ||
			!strings.Contains(err.Error(), "leads out") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, spec := range map[string]runspec.Spec{
		"beside":   written("targets: {t: {model: 'scripted:bot.yaml'}}", plainTest),
		"not used": written("targets: {t: lexical}\njudge: {model: 'scripted:bot.yaml'}", plainTest),
		// told by who holds the conversation
		"missing": written("targets: {t: {model: 'scripted:none.yaml'}}", plainTest),
	} {
		if _, err := s.Check(t.Context(), spec, coordinator.Caller{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A submission names only the variables of the environment that the server lists.
func TestRefusedEnvironment(t *testing.T) {
	h := newHouse(t)
	s := strict(h, wire.Submitted{AllowEnv: []string{"SHOP_*", "PUBLIC"}}, true, "SHOP_URL=http://127.0.0.1:1",
		"OPENAI_API_KEY=sk-secret", "OTHER_KEY=sk-other")
	for name, spec := range map[string]runspec.Spec{
		"OTHER_KEY, in the configuration": written(
			"targets: {t: {url: 'http://shop.example', headers: {A: '${{ OTHER_KEY }}'}}}", plainTest),
		"OTHER_KEY, with a fallback": written(
			"targets: {t: {url: 'http://shop.example', headers: {A: '${{ OTHER_KEY:-none }}'}}}", plainTest),
		"OTHER_KEY, of another target": written(
			"target: t\ntargets: {t: lexical, o: {url: 'http://shop.example', headers: {A: '${{ OTHER_KEY }}'}}}",
			plainTest),
		"OTHER_KEY, in the suite": written("targets: {t: lexical}", plainTest+", criteria: '${{ OTHER_KEY }}'"),
		"UNSET, in the suite":     written("targets: {t: lexical}", plainTest+", criteria: '${{ UNSET }}'"),
		"OPENAI_API_KEY, as text": written(
			"targets: {t: {url: 'http://shop.example', headers: {A: '${{ OPENAI_API_KEY }}'}}}", plainTest),
		"OPENAI_API_KEY, api_key_env": written(
			"targets: {t: {model: openai:m, base_url: 'http://shop.example/v1', api_key_env: OPENAI_API_KEY}}",
			plainTest),
		"TOKEN, token_env": written(
			"targets: {t: {kind: execute, url: 'http://shop.example', flow_id: f, token_env: TOKEN}}", plainTest),
		"OTHER_KEY, public_env": written("targets: {t: lexical}\npublic_env: [SHOP_URL, OTHER_KEY]",
			plainTest),
		"OTHER_KEY, of a grader": written("targets: {t: lexical}",
			"assertions: [{type: command, command: ./grade, config: {my_key_env: OTHER_KEY}}]"),
	} {
		_, err := s.Check(t.Context(), spec, coordinator.Caller{Commands: true})
		variable, _, _ := strings.Cut(name, ",")
		if code(err) != wire.RefusedEnv || !strings.Contains(fmt.Sprint(err), variable) ||
			strings.Contains(fmt.Sprint(err), "sk-") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, spec := range map[string]runspec.Spec{
		"in the configuration": written("targets: {t: {url: 'http://127.0.0.1:1/chat'}}", plainTest),
		"behind @":             written("targets: {t: 'openai:m@http://127.0.0.1:1'}", plainTest),
		"in the suite": written("targets: {t: lexical}",
			plainTest+", execution: {target: 'http://127.0.0.1:1/chat'}"),
	} {
		if _, err := s.Check(t.Context(), spec, coordinator.Caller{}); code(err) != wire.RefusedAddress {
			t.Errorf("the address of the environment, spelled out %s: %v", name, err)
		}
	}
	part := strict(h, wire.Submitted{AllowEnv: []string{"SHOP_HOST"}}, false, "SHOP_HOST=10.98.76.54")
	_, err := part.Check(t.Context(), written("targets: {t: {url: 'http://${{ SHOP_HOST }}:8080/chat'}}", plainTest),
		coordinator.Caller{})
	if code(err) != wire.RefusedAddress || strings.Contains(err.Error(), "10.98.76.54") {
		t.Errorf("a part of an address: %v", err)
	}
	spec := written("targets: {t: lexical}", plainTest)
	spec.Targets = []string{"http://127.0.0.1:1/chat"}
	if _, err := s.Check(t.Context(), spec, coordinator.Caller{}); code(err) != wire.RefusedAddress {
		t.Errorf("the address of the environment, spelled out as a target: %v", err)
	}
	spec = written("targets: {t: {url: 'http://shop.example', headers: {A: '${{ OTHER_KEY }}', B: '${{ SHOP_URL }}'}}}",
		plainTest+", criteria: '${{ UNSET }}'")
	spec.Env = []string{"SHOP_X", "LISTED_NOT"}
	if _, err := s.Check(t.Context(), spec, coordinator.Caller{}); !strings.Contains(fmt.Sprint(err),
		"read: LISTED_NOT, OTHER_KEY, UNSET") {
		t.Errorf("not all names are told: %v", err)
	}
	for name, spec := range map[string]runspec.Spec{
		"listed": written(
			"targets: {t: {url: 'http://shop.example', headers: {A: '${{ SHOP_X:-x }}', B: '${{ PUBLIC:-y }}'}}}",
			plainTest),
		// Whoever listed the variable has set the address.
		"an address of the environment": written("targets: {t: {url: '${{ SHOP_URL }}/chat'}}", plainTest),
		"a provider's own key":          written("targets: {t: 'openai:m'}", plainTest),
		"data that looks like a key": written(
			"targets: {t: {url: 'http://shop.example', body: {deploy_env: staging, m: '{{message}}'}}}", plainTest),
		"passed over": written("targets: {t: lexical}\nstore: '${{ OTHER_KEY }}'", plainTest),
	} {
		if _, err := s.Check(t.Context(), spec, coordinator.Caller{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A chatbot of a submission follows the same rules.
func TestRefusedChatbots(t *testing.T) {
	h := newHouse(t)
	s := strict(h, wire.Submitted{AllowEnv: []string{"SHOP_*"}}, false)
	sites := func(target, text string) runspec.Spec {
		spec := written("targets: {t: '"+target+"'}", plainTest)
		spec.Files["sites/a.yaml"] = runspec.File{Content: []byte("site: a\nmodels: {default: lexical}\n" + text)}
		return spec
	}
	for name, one := range map[string]struct {
		spec runspec.Spec
		want string
	}{
		"knowledge": {
			sites("site:sites", "knowledge_base: {lightrag: {url: 'http://127.0.0.1:9621'}}"), wire.RefusedAddress,
		},
		"key of knowledge": {
			sites("site:sites", "knowledge_base: {lightrag: {url: 'http://rag.example', api_key_env: RAG_KEY}}"),
			wire.RefusedEnv,
		},
		"webhook": {sites("site:sites", "integrations: {lead_webhook: {url_env: HOOK}}"), wire.RefusedEnv},
		"listed":  {sites("site:sites", "integrations: {lead_webhook: {url_env: SHOP_HOOK}}"), ""},
		"of a test, unused": {
			sites("site:sites#b", "knowledge_base: {lightrag: {url: 'http://localhost'}}"), wire.RefusedAddress,
		},
	} {
		if _, err := s.Check(t.Context(), one.spec, coordinator.Caller{}); code(err) != one.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A submission that starts programs needs the right of whoever sends it, and that of the server.
func TestRefusedCommands(t *testing.T) {
	h := newHouse(t)
	never, may := strict(h, wire.Submitted{}, false), strict(h, wire.Submitted{}, true)
	for name, spec := range map[string]runspec.Spec{
		"target": written("targets: {t: {kind: command, command: [touch, /tmp/x]}}", plainTest),
		"another target": written("target: l\ntargets: {l: lexical, t: {kind: command, command: [touch, /tmp/x]}}",
			plainTest),
		"grader":      written("targets: {t: lexical}", "assertions: [{type: command, command: ./grade}]"),
		"code_grader": written("targets: {t: lexical}", "assertions: [{type: code_grader, command: ./grade}]"),
		"grader inside": written("targets: {t: lexical}",
			"assertions: [{type: composite, assertions: [{type: command, command: ./grade}]}]"),
		"grader, negated": written("targets: {t: lexical}", "assertions: [{type: not-command, command: ./grade}]"),
		"grader of a turn": written("targets: {t: lexical}",
			"mode: conversation, turns: [{input: a, assertions: [{type: command, command: ./grade}]}]"),
		"end of a talk": written("targets: {t: lexical}",
			"user: {goal: buy, stop: {type: command, command: ./grade}}, "+plainTest),
		"in a test by name": written("targets: {l: lexical, t: {kind: command, command: [touch, /tmp/x]}}",
			plainTest+", execution: {target: t}"),
	} {
		for _, by := range []coordinator.Caller{{}, {Commands: true}} {
			if _, err := never.Check(t.Context(), spec, by); code(err) != wire.RefusedCommands {
				t.Errorf("%s, where none may be started: %v", name, err)
			}
		}
		if _, err := may.Check(t.Context(), spec, coordinator.Caller{}); code(err) != wire.RefusedCommands ||
			!strings.Contains(err.Error(), "admin") {
			t.Errorf("%s, without the scope: %v", name, err)
		}
		if _, err := may.Check(t.Context(), spec, coordinator.Caller{Commands: true}); code(err) ==
			wire.RefusedCommands {
			t.Errorf("%s: %v", name, err)
		}
	}
}
