package commandline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/cmd/rehearse/commandline"
)

// flags are some of every kind that a command has.
func flags(line ...string) *pflag.FlagSet {
	f := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.Int("trials", 0, "")
	f.Bool("quiet", false, "")
	f.String("out", "", "")
	f.StringSlice("tag", []string{"default"}, "")
	f.StringArray("filter", nil, "")
	if err := f.Parse(line); err != nil {
		panic(err)
	}
	return f
}

func TestOf(t *testing.T) {
	hostile := "a,b \"c\"\nd"
	for _, test := range []struct{ typed, want []string }{
		{nil, []string{"run", "--"}},
		{[]string{"a.yaml", "--trials", "3", "--quiet"}, []string{"run", "--quiet=true", "--trials=3", "--", "a.yaml"}},
		{[]string{"--out", "x", "--", "--odd"}, []string{"run", "--", "--odd"}},
		{[]string{"--tag", "a,b", "--filter", "x,y"}, []string{"run", "--filter=x,y", "--tag=a", "--tag=b", "--"}},
		{
			[]string{`--tag="a,b ""c""` + "\n" + `d"`, "--filter", hostile},
			[]string{"run", "--filter=" + hostile, `--tag="a,b ""c""` + "\n" + `d"`, "--"},
		},
	} {
		given := flags(test.typed...)
		line := commandline.Of("run", given, given.Args(), "out")
		if !slices.Equal(line, test.want) {
			t.Errorf("%q is kept as %q, want %q", test.typed, line, test.want)
		}
		again := flags(line[1:]...)
		if twice := commandline.Of("run", again, again.Args()); !slices.Equal(twice, line) {
			t.Errorf("%q given again is %q", line, twice)
		}
	}
}

func TestSet(t *testing.T) {
	then, now := flags("--tag=old", "--filter=old", "--trials=3"), flags("--tag=a,b", "--filter=x", "--filter=y")
	now.Visit(func(flag *pflag.Flag) {
		if err := commandline.Set(then, flag); err != nil {
			t.Error(err)
		}
	})
	if got, want := strings.Join(commandline.Of("run", then, nil), " "),
		"run --filter=x --filter=y --tag=a --tag=b --trials=3 --"; got != want {
		t.Errorf("on top of the old flags: %s, want %s", got, want)
	}
	if err := commandline.Set(pflag.NewFlagSet("other", pflag.ContinueOnError), now.Lookup("out")); err == nil {
		t.Error("a flag that the other set lacks is set")
	}
}

func TestLost(t *testing.T) {
	then := flags("--out=[redacted A_KEY]", "--tag=x,[redacted B_KEY]", "--filter=c")
	for _, test := range []struct {
		given *pflag.FlagSet
		only  []string
		want  string
	}{
		{flags(), nil, "--out and --tag"},
		{flags("--tag=x"), nil, "--out"},
		{flags(), []string{"tag", "filter"}, "--tag"},
		{flags("--tag=x", "--out=y"), nil, ""},
	} {
		if got := commandline.Lost(then, test.given, test.only...); got != test.want {
			t.Errorf("lost of %q: %q, want %q", test.only, got, test.want)
		}
	}
}
