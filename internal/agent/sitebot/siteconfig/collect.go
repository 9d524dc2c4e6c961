package siteconfig

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Limits of a table. They bound what a table that is not one of sites can cost.
const (
	maxRows   = 10_000
	maxConfig = 1 << 20 // as for files
	maxTotal  = 64 << 20
)

// row is one row of the table.
type row struct {
	site string
	// config is JSON; nil when it is too large to be sent, or NULL.
	config []byte
	// size is that of the configuration in bytes.
	size int
}

// collection holds the rows of a table as they were read.
type collection struct {
	where, table string
	rows         []row
	bytes        int
}

// add keeps a row, to be parsed when all rows are there.
func (c *collection) add(r row) error {
	if len(c.rows) == maxRows {
		return fmt.Errorf("%s: the table holds more than %d rows: keep sites only in it", c.where, maxRows)
	}
	if c.bytes += len(r.site) + len(r.config); c.bytes > maxTotal {
		return fmt.Errorf("%s: the table holds more than %d MB: keep long texts in prompts and in the knowledge base",
			c.where, maxTotal>>20)
	}
	c.rows = append(c.rows, r)
	return nil
}

// label names a row as problems name files.
func label(table, name string) string { return table + "[" + clip(name, 253) + "]" }

// clip makes a text short and printable: names of rows and texts of servers may hold anything.
func clip(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// library returns the sites, or the problems of all rows.
func (c *collection) library() (*site.Library, error) {
	var sites []*site.Site
	var problems source.Problems
	for _, r := range c.rows {
		s, faults := readRow(label(c.table, r.site), r)
		if len(faults) > 0 {
			problems = append(problems, faults...)
			continue
		}
		sites = append(sites, s)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if len(sites) == 0 {
		return nil,
			fmt.Errorf("there is no site in %s: insert a row with its name and its configuration as JSON", c.where)
	}
	library, err := site.NewLibrary(sites...)
	return library, unplaced(err)
}

// unplaced drops lines and columns, which a row does not have. The path of keys says where a fault is.
func unplaced(err error) error {
	if faults, ok := errors.AsType[source.Problems](err); ok {
		return withoutPositions(faults)
	}
	return err
}

func withoutPositions(faults source.Problems) source.Problems {
	for i := range faults {
		faults[i].Line, faults[i].Column = 0, 0
	}
	return faults
}
