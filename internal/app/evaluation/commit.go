package evaluation

import "runtime/debug"

// unstamped is the commit of a program whose build left no stamp.
const unstamped = "unknown"

// Commit returns the revision that the program was built from, as the build stamped it, with "+dirty" behind it where
// files had been changed since; "unknown" without a stamp.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unstamped
	}
	return commitOf(info.Settings)
}

func commitOf(stamp []debug.BuildSetting) string {
	revision, dirty := unstamped, ""
	for _, s := range stamp {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision == unstamped {
		return unstamped
	}
	return revision + dirty
}
