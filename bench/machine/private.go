package machine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	sampleEvery = 2 * time.Millisecond
	// Children are listed once in this many samples, because that costs more than reading one process.
	listEvery = 8
)

// PrivatePeak samples the private memory (RssAnon) of a running process and its descendants until ended is closed. It
// returns the highest sum in bytes. 0 means unknown: the system does not report it, or no sample was taken in time.
// A peak between two samples is missed, and the system's own counters may lag by some pages per thread.
func PrivatePeak(pid int, ended <-chan struct{}) (peak int64) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	pids := []int{pid}
	for n := 1; ; n++ {
		sum := int64(0)
		for _, p := range pids {
			sum += private(p)
		}
		peak = max(peak, sum)
		if n%listEvery == 0 {
			pids = descendants([]int{pid}, pid)
		}
		select {
		case <-ended:
			return peak
		case <-tick.C:
		}
	}
}

// private returns the RssAnon of a process in bytes, 0 where it is unknown.
func private(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(data, []byte("RssAnon:"))
	size, _, _ := bytes.Cut(after, []byte("kB"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(size)), 10, 64) // a process that has ended has no such line
	return n * 1024
}

// descendants appends the children of a process, and theirs, to found.
func descendants(found []int, pid int) []int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is valid
	for _, list := range lists {
		data, _ := os.ReadFile(list) // a thread that has ended has no children
		for _, child := range bytes.Fields(data) {
			if n, err := strconv.Atoi(string(child)); err == nil {
				found = descendants(append(found, n), n)
			}
		}
	}
	return found
}
