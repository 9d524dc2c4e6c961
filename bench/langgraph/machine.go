package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine is where it was measured.
type machine struct {
	Cores  int    `json:"cores"`
	CPU    string `json:"cpu"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Go     string `json:"go"`
	Load   string `json:"load_average"`
	System string `json:"system"`
}

func describeMachine() machine {
	return machine{
		Cores: runtime.NumCPU(), CPU: field("/proc/cpuinfo", "model name", ":"), OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(),
		Load: firstWords("/proc/loadavg", 3), System: strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`),
	}
}

// String is the line that stands above the tables.
func (m machine) String() string {
	return fmt.Sprintf("%d cores of %s, %s (%s/%s), %s, load average %s at the start", m.Cores, m.CPU, m.System, m.OS, m.Arch, m.Go, m.Load)
}

// field returns the value behind the first line of a file that begins with key, or "unknown".
func field(path, key, separator string) string {
	data, _ := os.ReadFile(path) // what can be had will do
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, separator); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func firstWords(path string, n int) string {
	data, _ := os.ReadFile(path)
	words := strings.Fields(string(data))
	if len(words) < n {
		return "unknown"
	}
	return strings.Join(words[:n], " ")
}
