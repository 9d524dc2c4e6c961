package runspec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// The three forms of a file are read and written again as they were.
func TestFiles(t *testing.T) {
	digest := strings.Repeat("0a", 32)
	text := `{"schema":1,"files":{"a/b.yaml":"name: x\n","c.png":{"base64":"/w=="},"d":{"sha256":"` + digest +
		`"}},"suites":["a/b.yaml"]}`
	s, err := runspec.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if string(s.Files["a/b.yaml"].Content) != "name: x\n" || string(s.Files["c.png"].Content) != "\xff" ||
		s.Files["d"].Hash() != digest {
		t.Errorf("%+v", s.Files)
	}
	if data, err := json.Marshal(s); err != nil || string(data) != text {
		t.Errorf("%s, %v", data, err)
	}
}

func TestRefusesFiles(t *testing.T) {
	for _, file := range []string{
		`"/etc/x": ""`, `"../x": ""`, `"a/../../x": ""`, `"a//b": ""`, `"": ""`, `".": ""`, `"a\\b": ""`, `"x": 1`,
		`"x": {}`, `"x": {"sha256": "0A"}`, `"` + strings.Repeat("x", 256) + `": ""`,
		`"` + strings.Repeat("x/", 512) + `x": ""`, `"a": "", "a/b": ""`, `"a/b/c": "", "a": ""`, `"x": null`,
		`"x": {"base64": "", "sha256": ""}`, `"x": {"base64": "", "y": 1}`,
	} {
		if _, err := runspec.Read([]byte(`{"schema": 1, "suites": ["x"], "files": {` + file + `}}`)); err == nil ||
			!source.IsInvalid(err) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// A file that is sent by its hash is the same file.
func TestFingerprintOfFiles(t *testing.T) {
	sent := runspec.File{Content: []byte("name: x")}
	inline := runspec.Spec{Schema: 1, Suites: []string{"a"}, Files: map[string]runspec.File{"a": sent}}
	named := runspec.Spec{Schema: 1, Suites: []string{"a"}, Files: map[string]runspec.File{"a": {SHA256: sent.Hash()}}}
	other := runspec.Spec{
		Schema: 1, Suites: []string{"a"}, Files: map[string]runspec.File{"a": {Content: []byte("name: y")}},
	}
	if inline.Fingerprint() != named.Fingerprint() || inline.Fingerprint() == other.Fingerprint() {
		t.Error("the fingerprint depends on how a file was sent, or not on what it holds")
	}
}
