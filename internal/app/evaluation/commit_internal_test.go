package evaluation

import (
	"runtime/debug"
	"testing"
)

func TestCommitOf(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	for _, tc := range []struct {
		name  string
		stamp []debug.BuildSetting
		want  string
	}{
		{"no stamp", nil, "unknown"},
		{"an empty revision", []debug.BuildSetting{{Key: "vcs.revision"}}, "unknown"},
		{"changed files of an unknown revision", []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, "unknown"},
		{"a clean tree", []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, revision, {Key: "vcs.modified", Value: "false"},
		}, revision.Value},
		{
			"changed files", []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, revision},
			revision.Value + "+dirty",
		},
	} {
		if got := commitOf(tc.stamp); got != tc.want {
			t.Errorf("%s: commitOf = %q, want %q", tc.name, got, tc.want)
		}
	}
	if Commit() == "" {
		t.Error("Commit is empty")
	}
}
