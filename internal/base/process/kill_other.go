//go:build !unix

package process

import "os/exec"

// ownGroup does nothing: process groups exist on Unix only. Elsewhere, only the program itself is ended.
func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
