//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the program lead a process group. When this process is killed, the program sees the end of its input
// and no more.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
