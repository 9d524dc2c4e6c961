// Command size counts the source of the repository: tokens of Go by group of packages, bytes of web and embedded files,
// files, packages, long lines and imports. It counts a base commit in the same way beside it, so that both columns have
// one definition.
//
//	go run -C bench ./size -root .. -base COMMIT
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/rehearse-dev/rehearse/bench/checkout"
	"github.com/rehearse-dev/rehearse/bench/machine"
)

func main() {
	root := flag.String("root", ".", "root folder of the repository")
	base := flag.String("base", "", "commit to count as well")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *root, *base); err != nil {
		fmt.Fprintln(os.Stderr, "size: "+err.Error())
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, root, base string) (err error) {
	now, err := measure(root)
	if err != nil {
		return err
	}
	var before *sizes
	if base != "" {
		dir, hash, remove, err := checkout.At(ctx, root, base)
		if err != nil {
			return err
		}
		before, err = measure(dir)
		if err := errors.Join(err, remove()); err != nil {
			return err
		}
		fmt.Fprintf(out, "base %.12s\n\n", hash)
	}
	print(out, now, before)
	if len(now.unlisted) > 0 {
		names := slices.Sorted(maps.Keys(now.unlisted))
		fmt.Fprintf(out, "\nno group in bench/size/groups.go: %s\n", strings.Join(names, ", "))
	}
	return nil
}

// line is one figure of a tree.
type line struct {
	name string
	of   func(*sizes) float64
	unit string // a verb of fmt
}

// print writes two tables: Go by group, and the other figures. Where before is nil, its columns and ratios are left
// out.
func print(out io.Writer, now, before *sizes) {
	head := []string{"Go", "tokens", "files", "packages"}
	if before != nil {
		head = append(head, "tokens of base", "ratio")
	}
	table := [][]string{head}
	add := func(name string, of func(*sizes) *count) {
		c := of(now)
		cells := []string{name, fmt.Sprint(c.tokens), fmt.Sprint(c.files), fmt.Sprint(len(c.packages))}
		if before != nil {
			b := of(before).tokens
			cells = append(cells, fmt.Sprint(b), ratio(float64(c.tokens), float64(b)))
		}
		table = append(table, cells)
	}
	for _, g := range groups {
		add(g.name, func(s *sizes) *count { return s.sum(g.name) })
	}
	add("product", (*sizes).product)
	add("product and kits", func(s *sizes) *count { return s.sum(append(groupNames(), kits)...) })
	for _, name := range []string{kits, generated, toolRow, tests} {
		add(name, func(s *sizes) *count { return s.sum(name) })
	}
	machine.WriteTable(out, table)
	fmt.Fprintln(out)

	head = []string{"product", "this tree"}
	if before != nil {
		head = append(head, "base", "ratio")
	}
	table = [][]string{head}
	for _, l := range figures() {
		cells := []string{l.name, fmt.Sprintf(l.unit, l.of(now))}
		if before != nil {
			cells = append(cells, fmt.Sprintf(l.unit, l.of(before)), ratio(l.of(now), l.of(before)))
		}
		table = append(table, cells)
	}
	machine.WriteTable(out, table)
}

func figures() []line {
	all := []line{}
	for _, kind := range []string{"JS", "CSS", "HTML", embedded} {
		all = append(all, line{kind + ", bytes", func(s *sizes) float64 { return float64(s.bytes[kind]) }, "%.0f"})
	}
	return append(all,
		line{"Go string literals, bytes", func(s *sizes) float64 { return float64(s.literals) }, "%.0f"},
		line{"files", func(s *sizes) float64 { return float64(s.product().files) }, "%.0f"},
		line{"packages", func(s *sizes) float64 { return float64(len(s.product().packages)) }, "%.0f"},
		line{"files of the largest package", func(s *sizes) float64 { return float64(s.product().largest()) }, "%.0f"},
		line{"imports between packages", func(s *sizes) float64 { return float64(len(s.arrows)) }, "%.0f"},
		line{"imports between groups", func(s *sizes) float64 { return float64(len(s.groupArrows)) }, "%.0f"},
		line{"package and import headers, % of lines", (*sizes).headerShare, "%.1f"},
		line{"long lines, all Go", func(s *sizes) float64 { return float64(s.long) }, "%.0f"},
	)
}

// ratio prints how a value compares with the base, a dash where the base has none of it.
func ratio(now, before float64) string {
	if before == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3f", now/before)
}

// sum returns the counts of some rows together.
func (s *sizes) sum(names ...string) *count {
	c := &count{packages: map[string]int{}}
	for _, name := range names {
		if row := s.rows[name]; row != nil {
			c.tokens += row.tokens
			c.files += row.files
			maps.Copy(c.packages, row.packages)
		}
	}
	return c
}

// product returns the counts of all groups.
func (s *sizes) product() *count { return s.sum(groupNames()...) }

func (c *count) largest() (most int) {
	for _, files := range c.packages {
		most = max(most, files)
	}
	return most
}

func (s *sizes) headerShare() float64 { return 100 * float64(s.headers) / float64(max(s.lines, 1)) }
