//go:build race

package race

// Enabled is true in a program that was built with -race.
const Enabled = true
