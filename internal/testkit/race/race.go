// Package race tells tests whether the race detector watches them. It makes heavy simulations ten times slower, and
// finds its races in a few of their rounds as well: such tests hold fewer rounds under it, and all of them without it
// (make simulate).
package race
