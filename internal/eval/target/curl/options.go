package curl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// option is an option of curl with a value, and what it does.
type option struct {
	name, letter string
	set          func(l *parsed, value string) error
}

// options are the options with a value (curl.se/docs/manpage.html).
var options = [...]option{
	{"request", "X", func(l *parsed, v string) error { l.method = v; return nil }},
	{"header", "H", (*parsed).header},
	{"data", "d", (*parsed).plainData},
	{"data-ascii", "", (*parsed).plainData},
	{"data-binary", "", (*parsed).plainData},
	{"data-raw", "", func(l *parsed, v string) error { return l.add(v, "&") }},
	{"data-urlencode", "", (*parsed).encoded},
	{"json", "", (*parsed).jsonData},
	{"user", "u", func(l *parsed, v string) error { l.user = v; return nil }},
	{"cookie", "b", (*parsed).cookie},
	{"user-agent", "A", func(l *parsed, v string) error { return l.header("User-Agent: " + v) }},
	{"referer", "e", func(l *parsed, v string) error { return l.header("Referer: " + strings.TrimSuffix(v, ";auto")) }},
	{"url", "", (*parsed).target},
}

// value is an option on the line that is read.
type value struct {
	option

	line *parsed
}

func (v value) Set(text string) error { return v.set(v.line, text) }
func (v value) String() string        { return "" }
func (v value) Type() string          { return "string" }

// read reads the words behind curl.
func (l *parsed) read(words []string) error {
	flags := pflag.NewFlagSet("curl", pflag.ContinueOnError)
	flags.Usage = func() {}
	for _, o := range options {
		flags.VarP(value{o, l}, o.name, o.letter, "")
	}
	flags.BoolVarP(&l.get, "get", "G", false, "")
	for name, letter := range map[string]string{ // which change nothing of a request
		"silent": "s", "show-error": "S", "location": "L", "include": "i", "show-headers": "", "verbose": "v",
		"no-buffer": "N", "compressed": "",
	} {
		flags.BoolP(name, letter, false, "")
	}
	if err := explain(flags.Parse(words)); err != nil {
		return err
	}
	for _, word := range flags.Args() {
		if strings.HasPrefix(word, "^") {
			return errors.New("the curl line is quoted for cmd of Windows: copy it as cURL for bash")
		}
		if err := l.target(word); err != nil {
			return err
		}
	}
	return nil
}

// explain returns the error of reading options in terms of curl.
func explain(err error) error {
	var unknown string
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		unknown = dashed(missing.GetSpecifiedName(), missing.GetSpecifiedShortnames())
	} else if malformed, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		unknown = malformed.GetSpecifiedFlag()
	} else if errors.Is(err, pflag.ErrHelp) {
		unknown = "--help"
	}
	if unknown != "" {
		return fmt.Errorf("%s of curl is not understood here: leave it out, or write the target into rehearse.yaml",
			unknown)
	}
	if lacking, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("%s of curl needs a value",
			dashed(lacking.GetSpecifiedName(), lacking.GetSpecifiedShortnames()))
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return invalid.Unwrap()
	}
	return err
}

// dashed returns an option as it was written: by its letter, if it was in a group of letters.
func dashed(name, letters string) string {
	if letters != "" {
		return "-" + name
	}
	return "--" + name
}
