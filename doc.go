// Package rehearse is the root of the module; it holds the test of the architecture and nothing else.
// The program is cmd/rehearse, the way through the code is docs/ARCHITECTURE.md.
package rehearse
