package redact_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/redact"
)

func TestPrivate(t *testing.T) {
	const e, n = "[redacted EMAIL]", "[redacted PHONE]"
	p := redact.New([]string{"SHOP_TOKEN=tok/en-1234567"}).Private(regexp.MustCompile(`CUST-\d+`),
		regexp.MustCompile(`Müller`), regexp.MustCompile(`say "\w+"`))
	for text, want := range map[string]string{
		"write to jo.smith+x@mail.shop.example.":           "write to " + e + ".",
		"<o'neil@shop.example>":                            "<" + e + ">",
		"ünal@bücher.example and a@xn--bcher-kva.xn--p1ai": e + " and " + e,
		"q=1&mail=jo%40shop.example&x=2":                   "q=1&mail=" + e + "&x=2",
		`{"a":"jo\u0040shop.example"}`:                     `{"a":"` + e + `"}`,
		`{"a":"hi\njo@shop.example"}`:                      `{"a":"hi\n` + e + `"}`,
		`{"a":"{\"b\":\"\\njo@shop.example\"}"}`:           `{"a":"{\"b\":\"\\n` + e + `\"}"}`,
		"jo@localhost, a @ b.c, @name, x@1.2":              "jo@localhost, a @ b.c, @name, x@1.2",

		"+49 170 1234567":                              n,
		"+49 (0) 170 / 123 45 67":                      n,
		"0049-170-1234567":                             n,
		"tel:+15551234567":                             "tel:" + n,
		"form=%2B49+170+1234567&x=1":                   "form=" + n + "&x=1",
		"0170 1234567, 030-123456":                     n + ", " + n,
		"06 12 34 56 78":                               n,
		"(020) 7946 0958":                              n,
		"015112345678":                                 n,
		"(555) 223-4567":                               n,
		"555-223-4567 or 555.223.4567 or 555 223 4567": n + " or " + n + " or " + n,
		"1-555-223-4567":                               n,
		"call 555-0199.":                               "call " + n + ".",
		"98765 43210, 612 345 678":                     n + ", " + n,
		`{"text":"5552234567"}`:                        `{"text":"` + n + `"}`,
		"call 12 +49 170 1234567 13":                   "call 12 " + n,

		"2026-11-23T04:07:00.123456789+01:00":                      "2026-11-23T04:07:00.123456789+01:00",
		"01.02.2026, 0001-01-01, 03/04/26":                         "01.02.2026, 0001-01-01, 03/04/26",
		`{"score":0.123456789,"at":1732333333,"ms":1732333333123}`: `{"score":0.123456789,"at":1732333333,"ms":1732333333123}`,
		"order 4711-0815, 127.0.0.1:8090, v1.22.333":               "order 4711-0815, 127.0.0.1:8090, v1.22.333",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01":  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"123e4567-e89b-12d3-a456-426614174000":                     "123e4567-e89b-12d3-a456-426614174000",
		"ORD-555-223-4567-X":                                       "ORD-555-223-4567-X",

		"CUST-77 M\u00fcller":                   "[redacted PATTERN] [redacted PATTERN]",
		`{"a":"M\u00fcller","b":"say \"yes\""}`: `{"a":"[redacted PATTERN]","b":"[redacted PATTERN]"}`,
		"POST /x HTTP/1.1\r\nETag: \"x\r\n\r\n{\"a\":\"M\\u00fcller\"}": "POST /x HTTP/1.1\r\nETag: \"x\r\n\r\n" +
			"{\"a\":\"[redacted PATTERN]\"}",
		"tok/en-1234567, tok%2Fen-1234567":     "[redacted SHOP_TOKEN], [redacted SHOP_TOKEN]",
		`{"a":"{\"b\":\"tok\\/en-1234567\"}"}`: `{"a":"{\"b\":\"[redacted SHOP_TOKEN]\"}"}`,
	} {
		if got := string(p.Bytes([]byte(text))); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestPrivateAnywhere holds that what is nobody's business is found behind any number of layers of JSON, and that JSON
// stays JSON.
func TestPrivateAnywhere(t *testing.T) {
	p := redact.New([]string{"MY_SECRET=h\"ush/hush\\9é"}).Private(regexp.MustCompile(`CUST "\d+"`))
	texts := []string{"h\"ush/hush\\9é", "jo@shop.example", "+49 170 1234567", `CUST "77"`}
	for layers := range 5 {
		for _, hidden := range texts {
			text := "before\t\"" + hidden + "\" behind"
			for range layers {
				data, err := json.Marshal(map[string]any{"ü": text})
				if err != nil {
					t.Fatal(err)
				}
				text = string(data)
			}
			for _, framed := range []string{text, "HTTP/1.1 200 OK\r\nX: \"\r\n\r\n" + text} {
				got := string(p.Bytes([]byte(framed)))
				if !strings.Contains(got, "[redacted ") || strings.Contains(got, "hush") ||
					strings.Contains(got, "77") || strings.Contains(got, "jo@") || strings.Contains(got, "170") {
					t.Errorf("%d layers: %s", layers, got)
				}
				if layers > 0 && framed == text && !json.Valid([]byte(got)) {
					t.Errorf("%d layers: no JSON: %s", layers, got)
				}
			}
		}
	}
}

func FuzzPrivate(f *testing.F) {
	f.Add(`{"a":"jo@shop.example \" +49 170 1234567"}`)
	p := redact.New(nil).Private()
	f.Fuzz(func(t *testing.T, text string) {
		if got := p.Bytes([]byte(fmt.Sprintf("%s jo@shop.example ", text))); strings.Contains(string(got),
			"jo@shop.example ") {
			t.Errorf("%q: %q", text, got)
		}
	})
}
