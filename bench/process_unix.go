//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a stop reach the children of the program too.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endGroup kills what is left of the group of a program that has ended, and reports whether anything was.
func endGroup(pid int) bool { return syscall.Kill(-pid, syscall.SIGKILL) == nil }
