package grader

import (
	"fmt"
	"strings"
)

// sameSequence wants the same calls in the same order.
func sameSequence(wanted []wantedCall, actual []actualCall) string {
	for i := range max(len(wanted), len(actual)) {
		switch {
		case i >= len(actual):
			return "missing: " + callsText(wanted[i:])
		case i >= len(wanted):
			return "not wanted: " + callsText(actual[i:])
		case !wanted[i].fits(actual[i]):
			return fmt.Sprintf("call %d is %s, not %s", i+1, actual[i], wanted[i])
		}
	}
	return ""
}

// inOrder wants each call somewhere after the one before. Taking the first match never prevents a later one.
func inOrder(wanted []wantedCall, actual []actualCall) string {
	next := 0
	for _, call := range actual {
		if next < len(wanted) && wanted[next].fits(call) {
			next++
		}
	}
	switch {
	case next == len(wanted):
		return ""
	case next == 0:
		return "missing: " + wanted[0].String()
	}
	return fmt.Sprintf("missing: %s after %s", wanted[next], wanted[next-1])
}

func sameBag(wanted []wantedCall, actual []actualCall) string {
	missing, extra := leftOver(wanted, actual)
	return strings.Trim(missingText(missing)+"; "+extraText(extra), "; ")
}

func noneMissing(wanted []wantedCall, actual []actualCall) string {
	missing, _ := leftOver(wanted, actual)
	return missingText(missing)
}

func noneExtra(wanted []wantedCall, actual []actualCall) string {
	_, extra := leftOver(wanted, actual)
	return extraText(extra)
}

func missingText(calls []wantedCall) string {
	if len(calls) == 0 {
		return ""
	}
	return "missing: " + callsText(calls)
}

func extraText(calls []actualCall) string {
	if len(calls) == 0 {
		return ""
	}
	return "not wanted: " + callsText(calls)
}

// leftOver pairs as many wanted calls as possible with one actual call each, and returns the calls without a partner.
func leftOver(wanted []wantedCall, actual []actualCall) (missing []wantedCall, extra []actualCall) {
	partner := pair(len(wanted), len(actual), func(i, j int) bool { return wanted[i].fits(actual[j]) })
	paired := make([]bool, len(actual))
	for i, j := range partner {
		if j < 0 {
			missing = append(missing, wanted[i])
		} else {
			paired[j] = true
		}
	}
	for j, call := range actual {
		if !paired[j] {
			extra = append(extra, call)
		}
	}
	return missing, extra
}

// pair gives as many of n things as possible a partner among m others, each used once, and returns each one's partner
// or -1. It is a maximum matching by augmenting paths (C. Berge, 1957). Taking the first partner that fits would be
// wrong: a call with any args could take the only partner of another call.
func pair(n, m int, fits func(i, j int) bool) []int {
	candidates := make([][]int, n)
	for i := range n {
		for j := range m {
			if fits(i, j) {
				candidates[i] = append(candidates[i], j)
			}
		}
	}
	owner, partner := filled(m), filled(n)
	var find func(i int, seen []bool) bool
	find = func(i int, seen []bool) bool {
		for _, j := range candidates[i] {
			if seen[j] {
				continue
			}
			seen[j] = true
			if owner[j] < 0 || find(owner[j], seen) {
				owner[j], partner[i] = i, j
				return true
			}
		}
		return false
	}
	for i := range n {
		find(i, make([]bool, m))
	}
	return partner
}

// filled returns n times -1.
func filled(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = -1
	}
	return list
}
