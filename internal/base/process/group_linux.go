package process

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the program lead a process group, and end when this process is killed.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
