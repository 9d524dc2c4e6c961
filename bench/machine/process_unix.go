//go:build unix

package machine

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// CPUUsed returns the processor time that this process has taken, user and system.
func CPUUsed() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // cannot fail for oneself
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// PeakRSS returns the peak resident memory in bytes of a process that has ended, as wait4 gave it. Linux counts what
// the parent held when it forked, so a value is never below the peak of this program, which therefore should hold
// little.
func PeakRSS(p *os.ProcessState) int64 {
	used, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return used.Maxrss
	}
	return used.Maxrss * 1024
}
