//go:build !unix

package main

import (
	"os"
	"time"
)

// cpuUsed is not known here.
func cpuUsed() time.Duration { return 0 }

// peakRSS is not known here.
func peakRSS(*os.ProcessState) int64 { return 0 }
