package template_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/template"
)

func values() *template.Values {
	return &template.Values{
		Message: "a \"b\" & ü\n%", ConversationID: "C-1", SessionID: "s/1", Turn: 2, Trial: 3, TestID: "te st",
		History: []chat.Message{
			chat.NewMessage(chat.System, "Be\nkind"), chat.NewMessage(chat.User, "hi"),
			chat.NewMessage(chat.Assistant, "ho"),
		},
		Vars:   map[string]any{"name": "Åsa", "n": 7, "deep": map[string]any{"list": []any{"x", true}}},
		MCPURL: "http://127.0.0.1:1/mcp",
	}
}

func read(t *testing.T, yaml string, s template.Scope) (*template.Template, error) {
	t.Helper()
	v, err := source.ParseYAML("rehearse.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	r := &source.Reader{File: "rehearse.yaml"}
	return template.Read(r.Node(v, "body"), s), r.Problems.Err()
}

// Every placeholder stands in every place, as the whole value and inside a text.
func TestPlaceholdersInPlaces(t *testing.T) {
	messages := `[{"role":"system","content":"Be\nkind"},{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}`
	now := `{"role":"user","content":"a \"b\" & ü\n%"}]`
	part := func(id, role, text string) string {
		return `{"id":"C-1-` + id + `","role":"` + role + `","parts":[{"type":"text","text":"` + text + `"}]}`
	}
	before := "system: Be\nkind\nuser: hi\nassistant: ho"
	for name, want := range map[string]struct{ json, text, address, header string }{
		"message": {
			`"a \"b\" & ü\n%"`, "a \"b\" & ü\n%", "a%20%22b%22%20%26%20%C3%BC%0A%25", `a "b" & %C3%BC%0A%`,
		},
		"messages": {messages + "," + now, before + "\nuser: a \"b\" & ü\n%", "", ""},
		"history": {
			messages + "]", before, "system%3A%20Be%0Akind%0Auser%3A%20hi%0Aassistant%3A%20ho",
			"system: Be%0Akind%0Auser: hi%0Aassistant: ho",
		},
		"messages_parts": {
			"[" + part("1", "system", `Be\nkind`) + "," + part("2", "user", "hi") +
				"," + part("3", "assistant", "ho") + "," + part("4", "user", `a \"b\" & ü\n%`) + "]",
			before + "\nuser: a \"b\" & ü\n%", "", "",
		},
		"system":          {`"Be\nkind"`, "Be\nkind", "Be%0Akind", "Be%0Akind"},
		"conversation_id": {`"C-1"`, "C-1", "C-1", "C-1"},
		"session_id":      {`"s/1"`, "s/1", "s%2F1", "s/1"},
		"turn":            {"2", "2", "2", "2"},
		"trial":           {"3", "3", "3", "3"},
		"test_id":         {`"te st"`, "te st", "te%20st", "te st"},
		"vars.name":       {`"Åsa"`, "Åsa", "%C3%85sa", "%C3%85sa"},
		"vars.n":          {"7", "7", "7", "7"},
		"vars.deep": {
			`{"list":["x",true]}`, `{"list":["x",true]}`, "%7B%22list%22%3A%5B%22x%22%2Ctrue%5D%7D",
			`{"list":["x",true]}`,
		},
		"vars.deep.list.1": {"true", "true", "true", "true"},
		"with.model":       {`"gpt x"`, "gpt x", "gpt x", "gpt x"},
		"with.n":           {"0.5", "0.5", "0.5", "0.5"},
		"mcp_url": {
			`"http://127.0.0.1:1/mcp"`, "http://127.0.0.1:1/mcp", "http%3A%2F%2F127.0.0.1%3A1%2Fmcp",
			"http://127.0.0.1:1/mcp",
		},
	} {
		scope := template.Scope{MCP: true, With: source.FromAny(map[string]any{"model": "gpt x", "n": 0.5})}
		whole, err := template.Of(" {{ "+name+" }} ", scope)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		inside, err := template.Of("<{{"+name+"}}>", scope)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, ok, err := whole.JSON(values())
		if d := cmp.Diff(want.json, string(got)); d != "" || !ok || err != nil || !json.Valid(got) {
			t.Errorf("%s as JSON: %v %v %s", name, ok, err, d)
		}
		got, _, err = inside.JSON(values())
		var text string
		if json.Unmarshal(got, &text) != nil || text != "<"+want.text+">" || err != nil {
			t.Errorf("%s in a text of JSON: %s, %v", name, got, err)
		}
		for place, want := range map[template.Context]string{
			template.Plain: want.text, template.Address: want.address, template.Header: want.header,
		} {
			if want == "" { // of lists with the message, the parts have been seen
				continue
			}
			if got, ok, err := inside.Text(values(), place); got != "<"+want+">" || !ok || err != nil {
				t.Errorf("%s in place %d: %q, %v", name, place, got, err)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	for yaml, want := range map[string]string{
		"a: '{{ mesage }}'":           `rehearse.yaml:1:4: body.a: unknown placeholder {{ mesage }} (did you mean "message"?; write \{{ for a plain {{)`,
		"- x\n- 'q {{ message|up }}'": `rehearse.yaml:2:3: body[1]: unknown placeholder {{ message|up }}`,
		"'{{}}'":                      "unknown placeholder {{  }}",
		"'{{vars}}'":                  "unknown placeholder {{ vars }}",
		"'{{vars.NAME.}}'":            "unknown placeholder {{ vars.NAME. }}",
		"'{{with.model}}'":            "there is no value for {{ with.model }} (add `with: {model: …}` to the target)",
		"'x{{with.a.b}}'":             "there is no value for {{ with.a.b }}",
		"'{{with.self}}'":             "there is no value for {{ with.self }}",
		"'{{mcp_url}}'":               "{{ mcp_url }} needs a server of tools",
		"'${{ 1 }}'":                  "${{ 1 }} names no environment variable",
	} {
		_, err := read(t, yaml, template.Scope{With: source.FromAny(map[string]any{"a": "b", "self": "{{with.self}}"})})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", yaml, err, want)
		}
	}
}

func TestSessionIsLeftOutUntilThereIsOne(t *testing.T) {
	tmpl, err := read(t, "{a: '{{session_id}}', b: {c: ' {{ session_id }} '}, d: 'x{{session_id}}', e: 1}",
		template.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	v := values()
	v.SessionID = ""
	data, _, _ := tmpl.JSON(v)
	if got, want := string(data), `{"b":{},"d":"x","e":1}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if form, _ := tmpl.Form(v); form != "b=%7B%7D&d=x&e=1" {
		t.Errorf("the form is %s", form)
	}
	whole, _ := template.Of("{{session_id}}", template.Scope{})
	if _, ok, _ := whole.Text(v, template.Header); ok || !whole.Only("session_id") || tmpl.Only("session_id") ||
		!tmpl.Uses("session_id") {
		t.Error("a header that is nothing but the id is there without one")
	}
}

// A body that is written as a text is JSON when it reads as JSON.
func TestReadBody(t *testing.T) {
	for written, want := range map[string]string{
		`{"text": "{{message}}", "n": 1.25}`:               `{"text":"a \"b\" & ü\n%","n":1.25}`,
		`[{{turn}}, "say \"{{turn}}\"", {"v":{{vars.n}}}]`: `[2,"say \"2\"",{"v":7}]`,
		`"{{test_id}}"`: `"te st"`,
		`{{message}}`:   "", `say {{message}}`: "", `{"broken": {{message}}`: "", `123`: "", ``: "",
	} {
		r := &source.Reader{}
		tmpl := template.ReadBody(r.Node(source.Text(written), "body"), template.Scope{})
		if err := r.Problems.Err(); err != nil {
			t.Errorf("%s: %v", written, err)
		}
		data, _, err := tmpl.JSON(values())
		if tmpl.IsText() != (want == "" || written[0] == '"') || err != nil || want != "" && string(data) != want {
			t.Errorf("%s: text %v, %s, %v", written, tmpl.IsText(), data, err)
		}
	}
}

func TestForm(t *testing.T) {
	tmpl, err := read(t, "{q: '{{message}}', 'a b': [1, '{{turn}}'], n: null, m: {x: '{{turn}}'}}", template.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := tmpl.Form(values()); got != "q=a%20%22b%22%20%26%20%C3%BC%0A%25&a%20b=1&a%20b=2&m=%7B%22x%22%3A2%7D" {
		t.Errorf("got %s", got)
	}
}

func TestMissingVariable(t *testing.T) {
	tmpl, _ := template.Of(map[string]any{"a": "{{vars.other}}"}, template.Scope{})
	if _, _, err := tmpl.JSON(values()); err == nil || !strings.Contains(err.Error(), "te st") ||
		!strings.Contains(err.Error(), "vars.other") {
		t.Errorf("got %v", err)
	}
	if _, ok := template.Var(map[string]any{"l": []any{1}}, "l.1"); ok {
		t.Error("an element beyond a list was found")
	}
}

func TestSilent(t *testing.T) {
	tmpl, _ := template.Of("{{messages}}", template.Scope{})
	data, _, _ := tmpl.JSON(&template.Values{Silent: true})
	if string(data) != "[]" {
		t.Errorf("a request that says nothing has %s", data)
	}
}

// Whatever is said, JSON stays JSON with the very text, and an address holds nothing but what an address may.
func TestValuesStayInTheirPlace(t *testing.T) {
	inside, _ := template.Of(map[string]any{"a": "<{{message}}>"}, template.Scope{})
	path, _ := template.Of("/x/{{message}}/y", template.Scope{})
	rapid.Check(t, func(r *rapid.T) {
		v := &template.Values{Message: rapid.String().Draw(r, "message")}
		data, _, _ := inside.JSON(v)
		var got map[string]string
		if err := json.Unmarshal(data, &got); err != nil || got["a"] != "<"+v.Message+">" {
			r.Fatalf("%s: %v", data, err)
		}
		address, _, _ := path.Text(v, template.Address)
		header, _, _ := path.Text(v, template.Header)
		if strings.Count(address, "/") != 3 || strings.ContainsAny(address, " ?#&\r\n") ||
			strings.ContainsAny(header, "\r\n\x00") {
			r.Fatalf("%q %q", address, header)
		}
	})
}
