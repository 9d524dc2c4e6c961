package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

var environ = []string{
	"OPENAI_API_KEY=sk-secret-123456", "LONGER_TOKEN=sk-secret-123456-and-more", "DB_PASSWORD=short",
	"QUOTED_SECRET=a\"b\\c123456", "HOME=/home/someone", "MONKEY=banana-banana",
	"DATABASE_URL=postgres://ada:p%40ss:w0rd@db/x", "PATH=/bin",
}

func TestRedactor(t *testing.T) {
	r := redact.New(environ)
	for in, want := range map[string]string{
		"key sk-secret-123456 echoed":    "key [redacted OPENAI_API_KEY] echoed",
		"sk-secret-123456-and-more":      "[redacted LONGER_TOKEN]",
		"the key [redacted MONKEY] is":   "the key [redacted MONKEY] is",
		"a short day at /home/someone":   "a short day at /home/someone",
		"login p@ss:w0rd, p%40ss%3Aw0rd": "login [redacted DATABASE_URL], [redacted DATABASE_URL]",
		`said "a\"b\\c123456"`:           `said "[redacted QUOTED_SECRET]"`,
		"C:\\banana-banana":              "C:\\[redacted MONKEY]",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	var none *redact.Redactor
	if got := none.Text("x"); got != "x" {
		t.Errorf("the nil Redactor changed x to %q", got)
	}
}

// In JSON only strings change; an escape is never cut in half, and words of records stay.
func TestJSON(t *testing.T) {
	r := redact.New([]string{
		"A_TOKEN=nothing1", "B_TOKEN=12345678", "C_TOKEN=assistant", "D_TOKEN=\"quoted\\\" text\"",
	}, result.Words())
	for in, want := range map[string]string{
		`{"x":"a\nothing1 b"}`:                               `{"x":"a\nothing1 b"}`,
		`{"x":"a\\nothing1 b"}`:                              `{"x":"a\\[redacted A_TOKEN] b"}`,
		`{"b":12345678,"a":"12345678"}`:                      `{"b":12345678,"a":"[redacted B_TOKEN]"}`,
		`{"nothing1": 1}`:                                    `{"[redacted A_TOKEN]": 1}`,
		`{"role":"assistant","x":"assistant a"}`:             `{"role":"assistant","x":"[redacted C_TOKEN] a"}`,
		`{"x":"\u006eothing1 <b>"}`:                          `{"x":"[redacted A_TOKEN] <b>"}`,
		"{\"x\":1}\n{\"x\":\"nothing1\"}\n":                  "{\"x\":1}\n{\"x\":\"[redacted A_TOKEN]\"}\n",
		`{"x":"{\"y\":\"a\\nothing1 \\\\nothing1\"}"}`:       `{"x":"{\"y\":\"a\\nothing1 \\\\[redacted A_TOKEN]\"}"}`,
		`{}} 12345678`:                                       `{}} [redacted B_TOKEN]`,
		`{} 12345678`:                                        `{} [redacted B_TOKEN]`,
		`[nothing1] is no JSON`:                              `[[redacted A_TOKEN]] is no JSON`,
		`{"args":"{\"k\":\"\\\"quoted\\\\\\\" text\\\"\"}"}`: `{"args":"{\"k\":\"[redacted D_TOKEN]\"}"}`,
	} {
		if got := string(r.Bytes([]byte(in))); got != want {
			t.Errorf("Bytes(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestLearned(t *testing.T) {
	r := redact.New([]string{
		"LLAMA_AUTH_X=abcd", "LLAMA=wxyz", "CITY=Lyon", "MY_KEYRING=plain-plain", "GITHUB_PATS=patpatpat",
		"API_KEY_OLD=oldoldold", "TINY=abc", "APP_SECRETS=12345678", "FLOW=flowflow", "COUNTRY=France",
	})
	check := func(want string) {
		t.Helper()
		if got := r.Text("abcd wxyz Lyon plain-plain patpatpat oldoldold abc 12345678 flowflow France"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	check("abcd wxyz Lyon plain-plain [redacted GITHUB_PATS] [redacted API_KEY_OLD] abc [redacted APP_SECRETS] " +
		"flowflow France")
	doc, err := source.ParseYAML("x", []byte(`
models: {a: {api_key_env: LLAMA}}
public_env: [COUNTRY, APP_SECRETS]
targets: [{token_env: TINY, headers: {X: "in ${{ CITY }} and ${{COUNTRY:-x}}", Y: "${FLOW}"}, url: "https://u:hidden@host/x?v=1&key=queryquery"}]
tests: [{input: "look at https://example.com/?city=amsterdam and https://a:passpass@b"}]`))
	if err != nil {
		t.Fatal(err)
	}
	r.Read(doc)
	r.Public("COUNTRY", "APP_SECRETS", "LLAMA")
	check("abcd [redacted LLAMA] [redacted CITY] plain-plain [redacted GITHUB_PATS] [redacted API_KEY_OLD] " +
		"abc 12345678 [redacted FLOW] France")
	for in, want := range map[string]string{
		"hidden queryquery":  "[redacted URL_PASSWORD] [redacted URL_QUERY]",
		"amsterdam passpass": "amsterdam [redacted URL_PASSWORD]",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestEnviron(t *testing.T) {
	r := redact.New(append(environ, "COPY=is sk-secret-123456", "SHOWN=shown-value", "SHELL_X=/shown-value/bin"))
	r.Shown("SHOWN")
	config := source.FromAny(map[string]any{
		"command": []any{"grade", "--key", "banana-banana"},
		"config":  map[string]any{"key_env": "DB_PASSWORD"},
	})
	for _, c := range []struct {
		config source.Value
		want   []string
	}{
		{source.Value{}, []string{"HOME=/home/someone", "PATH=/bin", "SHELL_X=/shown-value/bin"}},
		{config, []string{
			"DB_PASSWORD=short", "HOME=/home/someone", "MONKEY=banana-banana", "PATH=/bin", "SHELL_X=/shown-value/bin",
		}},
	} {
		if got := r.Environ(c.config); !slices.Equal(got, c.want) {
			t.Errorf("Environ = %q, want %q", got, c.want)
		}
	}
}

// forms are the ways in which a text may hold a secret.
func forms(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	all := map[string]string{
		"plain": secret, "query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"json": strings.Trim(string(quoted), `"`), "html": html.EscapeString(secret),
		"hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for _, by := range []byte(secret) {
		all["every byte"] += fmt.Sprintf("%%%02x", by)
		all["EVERY BYTE"] += fmt.Sprintf("%%%02X", by)
	}
	for _, r := range secret {
		all["entities"] += fmt.Sprintf("&#%d;", r)
	}
	for name, encoding := range map[string]*base64.Encoding{
		"std": base64.StdEncoding, "raw std": base64.RawStdEncoding, "url": base64.URLEncoding,
		"raw url": base64.RawURLEncoding,
	} {
		for before := range 4 {
			for _, after := range []string{"", "~", "?!", "end"} {
				all[fmt.Sprint(name, before, after)] = encoding.EncodeToString(
					[]byte(strings.Repeat(":", before) + secret + after))
			}
		}
	}
	return all
}

// Whatever the secret and the text around it, no form of it is left, also when it comes in pieces; all else stays.
func TestNoFormIsLeft(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const alphabet = "abcXYZ019 -_/+=\"\\<&%:@{}é字"
	word := func(n int) string {
		var b strings.Builder
		for range n {
			letters := []rune(alphabet)
			b.WriteRune(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	for round := range 300 {
		secret := "s" + word(3+random.IntN(20)) + "t"
		r := redact.New([]string{"SOME_VAR=" + secret})
		r.Named("SOME_VAR")
		before, after := word(random.IntN(9))+" ", " "+word(random.IntN(9))
		for name, form := range forms(secret) {
			text := before + form + after
			got := r.Text(text)
			if strings.Contains(got, form) || !strings.Contains(got, "[redacted SOME_VAR]") ||
				strings.Contains(got, strings.TrimSuffix(form, "=")) {
				t.Fatalf("round %d: %s of %q in %q leaves %q", round, name, secret, text, got)
			}
			if again := r.Text(got); again != got {
				t.Fatalf("masked twice, %q becomes %q", got, again)
			}
			line, _ := json.Marshal(map[string]any{"a": text, "n": 1})
			masked := r.Bytes(line)
			var decoded map[string]any
			if err := json.Unmarshal(masked, &decoded); err != nil || decoded["a"] != got {
				t.Fatalf("round %d: %s of %q in %s is %s, want %q", round, name, secret, line, masked, got)
			}
			if pieces := inPieces(r, text, random); strings.Contains(pieces, form) ||
				!strings.Contains(pieces, "[redacted SOME_VAR]") {
				t.Fatalf("round %d: %s of %q in pieces leaves %q", round, name, secret, pieces)
			}
		}
		if clean := strings.ReplaceAll(word(200), "s", "x"); r.Text(clean) != clean {
			t.Fatalf("%q without %q is changed to %q", clean, secret, r.Text(clean))
		}
	}
}

// inPieces writes a text in pieces of random lengths.
func inPieces(r *redact.Redactor, text string, random *rand.Rand) string {
	var out strings.Builder
	w := r.Writer(&out)
	for rest := text; rest != ""; {
		n := min(1+random.IntN(9), len(rest))
		_, _ = w.Write([]byte(rest[:n]))
		rest = rest[n:]
	}
	_ = w.Flush()
	return out.String()
}

// What holds no secret is given back as it is.
func TestUnchanged(t *testing.T) {
	r := redact.New(environ)
	line := []byte(`{"x":"nothing to see\n","y":[1,2]}`)
	if got := r.Bytes(line); &got[0] != &line[0] {
		t.Error("a line without secrets was copied")
	}
}

func BenchmarkRedact(b *testing.B) {
	var line strings.Builder
	line.WriteString(`{"output":[`)
	for i := range 400 {
		fmt.Fprintf(&line, `{"role":"assistant","content":"Your order %d ships on \"Monday\".\nAnything else? See https://shop.example/%d?x=%%20"},`, i, i)
	}
	line.WriteString(`{}]}`)
	r := redact.New(environ)
	data := []byte(line.String())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r.Bytes(data)
	}
}

// Of an HTTP address, user info without a password is a token. A database's is the name of a user.
func TestTokenAsUser(t *testing.T) {
	r := redact.New(nil)
	r.Address("https://ghp-token-123456@host.example/v1")
	r.Address("https://sk-blank-654321:@host.example/v1")
	r.Address("https://@host.example/v1 postgres://postgres@db/x http://ada@host/")
	for in, want := range map[string]string{
		"run --target-url=https://ghp-token-123456@host.example/v1": "run --target-url=https://[redacted " +
			"URL_PASSWORD]@host.example/v1",
		"key sk-blank-654321": "key [redacted URL_PASSWORD]",
		"ada asks postgres":   "ada asks postgres",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// HTTP sends the user info of an address in base64, which shows no part of it. A user that looks like a token is one.
func TestBasicCredentials(t *testing.T) {
	r := redact.New([]string{"PROXY=http://carol:s%40cret7@proxy.example"})
	r.Address("https://ghp0token1token2:x@host.example/v1")
	r.Address("https://bob:pw12345@host.example/v1")
	r.Address("https://ghp-token-123456@host.example/v1")
	for in, want := range map[string]string{
		"run --target-url=https://ghp0token1token2:x@host.example/v1": "run --target-url=https://[redacted " +
			"URL_PASSWORD]:x@host.example/v1",
		"run --target-url=https://bob:pw12345@host.example/v1": "run --target-url=https://bob:[redacted " +
			"URL_PASSWORD]@host.example/v1",
		"bob:pw12345": "bob:[redacted URL_PASSWORD]",
		"got Basic " +
			base64.StdEncoding.EncodeToString([]byte("ghp0token1token2:x")): "got Basic [redacted URL_PASSWORD]",
		"got Basic " +
			base64.StdEncoding.EncodeToString([]byte("bob:pw12345")): "got Basic [redacted URL_PASSWORD]",
		"got Basic " +
			base64.StdEncoding.EncodeToString([]byte("ghp-token-123456:")): "got Basic [redacted URL_PASSWORD]",
		"got Basic " + base64.StdEncoding.EncodeToString([]byte("carol:s@cret7")) +
			", x": "got Basic [redacted PROXY], x",
	} {
		if got := r.Text(in); strings.TrimRight(got, "=") != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}
