package curl_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/eval/target/curl"
)

// target parses a line and returns the target as JSON.
func target(line string) (string, error) {
	r, err := curl.Parse(line)
	if err != nil {
		return "", err
	}
	v, err := r.Target()
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(v.Any())
	return string(data), err
}

func TestTarget(t *testing.T) {
	for _, tc := range []struct{ name, line, want string }{
		{
			"JSON",
			`curl https://a.example/chat -H 'Content-Type: application/json' -d '{"message":"hi","session_id":"7"}'`,
			`{"kind":"http","url":"https://a.example/chat","headers":{"Content-Type":"application/json"},"body":{"message":"{{message}}","session_id":"{{conversation_id}}"}}`,
		},
		{
			"several lines",
			"curl -sSL -X POST \\\n  'http://h:8/x' \\\n  --data-raw $'{\"text\":\"it\\'s\"}' --compressed",
			`{"kind":"http","url":"http://h:8/x","headers":{"Content-Type":"application/json"},"body":{"text":"{{message}}"}}`,
		},
		{
			"a prompt before it", `$ curl h/x --json '{"prompt":"hi"}'`,
			`{"kind":"http","url":"http://h/x","headers":{"Content-Type":"application/json","Accept":"application/json"},"body":{"prompt":"{{message}}"}}`,
		},
		{
			"messages", `curl h --json '{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}'`, `{"kind":"http","url":"http://h","headers":{"Content-Type":"application/json","Accept":"application/json"},"body":{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"{{message}}"}]}}`,
		},
		{
			"parts", `curl h --json '{"id":"1","messages":[{"role":"user","parts":[{"type":"text","text":"a"}]}],"threadId":null}'`, `{"kind":"http","url":"http://h","headers":{"Content-Type":"application/json","Accept":"application/json"},"body":{"id":"1","messages":[{"role":"user","parts":[{"type":"text","text":"{{message}}"}]}],"threadId":"{{conversation_id}}"}}`,
		},
		{
			"the shallow name first",
			`curl h --json '{"options":{"message":"deep"},"question":"q","nested":{"session":{"id":"x"},"sender":5}}'`,
			`{"kind":"http","url":"http://h","headers":{"Content-Type":"application/json","Accept":"application/json"},"body":{"options":{"message":"deep"},"question":"{{message}}","nested":{"session":{"id":"x"},"sender":"{{conversation_id}}"}}}`,
		},
		{
			"a list as input", `curl h --json '{"metadata":{"text":"no"},"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]}]}'`, `{"kind":"http","url":"http://h","headers":{"Content-Type":"application/json","Accept":"application/json"},"body":{"metadata":{"text":"no"},"input":[{"role":"user","content":[{"type":"input_text","text":"{{message}}"}]}]}}`,
		},
		{
			"a form", `curl h -d 'msg=hi+there' -d chatId=4`,
			`{"kind":"http","url":"http://h","headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":{"msg":"{{message}}","chatId":"{{conversation_id}}"}}`,
		},
		{
			"a query",
			`curl -G 'h/ask?lang=en' --data-urlencode 'query=what is it?' -d sessionId=1 -b 'a=1; b=2' -A me -e from`,
			`{"kind":"http","url":"http://h/ask","query":{"lang":"en","query":"{{message}}","sessionId":"{{conversation_id}}"},"method":"GET","headers":{"Cookie":"a=1; b=2","User-Agent":"me","Referer":"from"}}`,
		},
		{
			"a name twice", `curl 'h/ask?tag=a&tag=b+c&query=x'`,
			`{"kind":"http","url":"http://h/ask?tag=a&tag=b+c&query={{message}}","method":"GET"}`,
		},
		{
			"a form with a name twice", `curl h -d 'tag=a&message=x&tag=b&tag=c'`,
			`{"kind":"http","url":"http://h","headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":{"tag":["a","b","c"],"message":"{{message}}"}}`,
		},
		{
			"no body", `curl -X POST 'h/ask?message=x' -H 'Accept-Encoding: gzip, br'`,
			`{"kind":"http","url":"http://h/ask","query":{"message":"{{message}}"},"body":""}`,
		},
		{"an empty body", `curl 'h/ask?message=x' -d ''`, `{"kind":"http","url":"http://h/ask","query":{"message":"{{message}}"},"headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":""}`},
		{
			"a user without a password", `curl h -u me -d message=x`,
			`{"kind":"http","url":"http://h","headers":{"Authorization":"Basic bWU6","Content-Type":"application/x-www-form-urlencoded"},"body":{"message":"{{message}}"}}`,
		},
		{
			"placeholders as written", `curl 'h/{{conversation_id}}/say' -XPUT -H'Content-Type: text/plain' --data-binary 'say {{message}} session=1'`, `{"kind":"http","url":"http://h/{{conversation_id}}/say","method":"PUT","headers":{"Content-Type":"text/plain"},"body":"say {{message}} session=1"}`,
		},
		{
			"numbers stay exact", `curl h --json '{"text":"a","n":12345678901234567890}'`,
			`{"kind":"http","url":"http://h","headers":{"Content-Type":"application/json","Accept":"application/json"},"body":{"text":"{{message}}","n":12345678901234567890}}`,
		},
	} {
		got, err := target(tc.line)
		var want any
		if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
			t.Fatal(tc.name, err)
		}
		var have any
		if err == nil {
			err = json.Unmarshal([]byte(got), &have)
		}
		if diff := cmp.Diff(want, have); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", tc.name, err, diff)
		}
	}
	if got, err := target(`curl h --json '{"text":"a","n":12345678901234567890}'`); err != nil ||
		!strings.Contains(got, "12345678901234567890") {
		t.Errorf("%s %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	for line, want := range map[string]string{
		"":                                    "does not begin with curl",
		"wget h":                              "does not begin with curl",
		"curl":                                "no address",
		"curl h -k -d message=x":              "-k of curl is not understood",
		"curl h --insecure":                   "--insecure of curl is not understood",
		"curl h -sk":                          "-k of curl is not understood",
		"curl h -d":                           "-d of curl needs a value",
		"curl h -d @body.json":                "-d @FILE",
		"curl h --json @b":                    "--json @FILE",
		"curl h -b jar":                       "-b FILE",
		"curl h -H @headers":                  "-H @FILE",
		"curl h --data-urlencode a@f":         "--data-urlencode with @FILE",
		"curl h g -d message=x":               "two addresses",
		"curl h -d message=x | jq .":          `"|" at column 21 is for a shell`,
		"curl h?a=b&message=x":                `"&" at column 11 is for a shell`,
		"curl h -d message=x\ncurl g":         "two addresses",
		`curl h -d "message=$TEXT"`:           `"$" at column 20 begins a variable`,
		"curl h -d message=x # with a key":    `"#" at column 21 begins a comment`,
		"A=b curl h -d message=x":             "does not begin with curl",
		"curl h --help -d message=x":          "--help of curl is not understood",
		"curl h --no-compressed":              "--no-compressed of curl is not understood",
		"curl h --json":                       "--json of curl needs a value",
		"curl h -sX":                          "-X of curl needs a value",
		"curl h -d message=x --=x":            "--=x of curl is not understood",
		"curl ftp://h -d message=x":           "not http or https",
		"curl http:///x -d message=x":         "no host",
		"curl \"h\" ^\n -d message=x":         "for cmd of Windows",
		"curl ^\"h^\" ^\n -d message=x":       "for cmd of Windows",
		"curl h -d 'hello'":                   "no place for the user's message",
		"curl h":                              "no place for the user's message",
		`curl h --json '{"message":{"a":1}}'`: "no place for the user's message",
		"curl h -d 'x":                        "a ' at column 11 is never closed",
		"curl " + strings.Repeat("h", 1<<20):  "longer than",
	} {
		if _, err := target(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", line, err, want)
		}
	}
}

func TestSecrets(t *testing.T) {
	r, err := curl.Parse(`curl 'https://h/x?api_key=QUERYKEY&lang=en' -u me:PASSWORD -H 'Authorization: Bearer BEARER' -H 'X-Api-Key: XKEY' -H 'Accept: a' ` +
		`-b 'sid=COOKIE; theme={{vars.theme}}' -d '{"message":"hi","auth":{"access_token":"DEEP"},"session_id":"s"}'`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range r.Secrets {
		got = append(got, s.Value)
	}
	want := []string{"PASSWORD", "BEARER", "XKEY", "COOKIE", "bWU6UEFTU1dPUkQ=", "QUERYKEY", "DEEP"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A key that takes the place of the user is a secret; a name is none, because it stands in many texts.
	for user, secrets := range map[string]int{"sk_live_0123:": 2, "sk_live_0123": 2, "admin:": 1, "me": 1} {
		if r, err := curl.Parse("curl h -d message=x -u " + user); err != nil || len(r.Secrets) != secrets {
			t.Errorf("%s: %v %v", user, r.Secrets, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`curl -sX POST h/x?a=b -H 'A: b' -d '{"message":"x"}'`)
	f.Fuzz(func(t *testing.T, line string) {
		r, err := curl.Parse(line)
		if err != nil {
			return
		}
		v, err := r.Target()
		if err != nil {
			return
		}
		if _, err := json.Marshal(v.Any()); err != nil {
			t.Error(err)
		}
	})
}
