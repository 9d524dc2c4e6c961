//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// killGroup kills every process of the group. The group may be gone already.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
