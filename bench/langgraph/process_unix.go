//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// cpuUsed returns the processor time that this process has taken, user and system.
func cpuUsed() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // cannot fail for oneself
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// peakRSS returns the peak resident memory in bytes, as wait4 gave it. Linux counts what the parent held when it forked, so a value is
// never below the peak of this program, which therefore holds little.
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
