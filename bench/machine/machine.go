// Package machine is what the benchmark programs share: where they run, what a process took, and the table that they
// print.
package machine

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Description is where something was measured; what cannot be found out is empty.
type Description struct {
	Cores  int    `json:"cores"`
	CPU    string `json:"cpu"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Go     string `json:"go"`
	Load   string `json:"load_average"`
	System string `json:"system"`
}

// This describes the machine that this program runs on, as it is now, its load included.
func This() Description {
	return Description{
		Cores: runtime.NumCPU(), CPU: field("/proc/cpuinfo", "model name", ":"), OS: runtime.GOOS,
		Arch: runtime.GOARCH, Go: runtime.Version(), Load: firstWords("/proc/loadavg", 3),
		System: strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`),
	}
}

// String is the line that stands above the table.
func (m Description) String() string {
	return fmt.Sprintf("%d cores of %s, %s (%s/%s), %s, load average %s at the start",
		m.Cores, orUnknown(m.CPU), orUnknown(m.System), m.OS, m.Arch, m.Go, orUnknown(m.Load))
}

// field returns the value behind the first line of a file that begins with key, or nothing.
func field(path, key, separator string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, separator); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstWords(path string, n int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	words := strings.Fields(string(data))
	return strings.Join(words[:min(n, len(words))], " ")
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
