package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func TestReadEnvFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".env")
	read := func(text string) ([]string, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.ReadEnvFile(source.Files{}, path)
	}
	const text = "\ufeff# first\r\nA=1\r\n export B = two words # more\nC='a # $B \\n'\n" +
		"D=\"x\\n\\\"y\\\" \\\\ \\$z\" # end\nE=\nF=a#b\nG==x=\nH=#none\n\nI=\"\""
	got, err := read(text)
	want := []string{"A=1", "B=two words", `C=a # $B \n`, "D=x\n\"y\" \\ $z", "E=", "F=a#b", "G==x=", "H=", "I="}
	if err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, %v\nwant %q", got, err, want)
	}
	for text, want := range map[string]string{
		"A=1\nhush hush":   ":2: the line is no NAME=VALUE",
		"1A=hush":          ":1: the line is no NAME=VALUE",
		"A='hush":          ":1: the quote of A is not closed",
		`A="hush\"`:        ":1: the quote of A is not closed",
		`A="hush" 'hush'`:  ":1: the quote of A is not closed on its line, or something stands behind it",
		"A=\"hush\nhush\"": ":1: the quote of A is not closed",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := config.ReadEnvFile(source.Files{}, filepath.Dir(path)); err == nil {
		t.Error("a folder was read")
	}
}
