//go:build unix

package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// ownGroup makes a stop reach the children of the program too.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// peakRSS returns the peak resident memory in bytes, as wait4 gave it.
func peakRSS(p *os.ProcessState) int64 {
	used, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return used.Maxrss
	}
	return used.Maxrss * 1024
}
