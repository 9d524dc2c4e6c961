//go:build !unix

package grader

import "os/exec"

// Process groups are a Unix notion; elsewhere only the program itself is ended.
func ownGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
