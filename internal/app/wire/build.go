package wire

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Build says what a program was built from, with and for.
type Build struct {
	Version string `json:"version"`
	// Commit is what the checkout was at, "unknown" without a stamp; Dirty is true when it had changes.
	Commit string `json:"commit"`
	Dirty  bool   `json:"dirty"`
	// Date is when the commit was made, empty without a stamp.
	Date string `json:"date"`
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

// commitDigits is how much of a commit is shown.
const commitDigits = 12

// BuildOf reads the stamp of a program of a version; info is nil where there is none.
func BuildOf(version string, info *debug.BuildInfo) Build {
	b := Build{Version: version, Commit: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			if len(s.Value) >= commitDigits {
				b.Commit = s.Value[:commitDigits]
			}
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		case "vcs.time":
			b.Date = s.Value
		}
	}
	return b
}

// String says it on one line.
func (b Build) String() string {
	commit, date := b.Commit, b.Date
	if b.Dirty {
		commit += "+dirty"
	}
	if date == "" {
		date = "date unknown"
	}
	return fmt.Sprintf("rehearse %s (commit %s, %s, %s, %s/%s)", b.Version, commit, date, b.Go, b.OS, b.Arch)
}
