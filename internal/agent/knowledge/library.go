// Package knowledge finds passages of documents. It cuts files into passages, indexes their words and vectors, and
// ranks passages by what they share with a question: words by bm25, vectors by cosine, and both rankings joined by
// reciprocal rank. Libraries are in memory, made from a folder, or in the SQLite database of a store.
package knowledge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Library is a set of knowledge bases with a full-text index and, with an embedder, vectors. It is safe for concurrent
// use. Open reads the bases of a folder; New uses those of a database.
type Library struct {
	db     Database
	limits limits
	// hint says how a user makes a base here.
	hint string
	// own is the database if Close ends it; else nil.
	own io.Closer

	// vectors is nil when passages are found by their words only.
	vectors *Vectors
	matrix  *matrix
}

var _ flow.Knowledge = (*Library)(nil)

// Database is a SQLite database with the tables that CreatePassages and CreateVectors make. It must be safe for
// concurrent use.
type Database interface {
	// Read returns the database for statements that change nothing.
	Read() *sql.DB
	// Write runs f in a transaction, one at a time, and undoes it when f fails.
	Write(ctx context.Context, f func(*sql.Tx) error) error
	// Explain makes an error for the user of an operation that failed, such as "write knowledge to"; nil stays nil.
	Explain(op string, err error) error
}

// Option changes how knowledge bases are searched.
type Option func(*Library)

// limits bound what is taken in.
type limits struct {
	file     int64 // bytes of a file
	passages int   // in a base
	text     int64 // bytes of all passages; 0 is no limit
}

const (
	maxFile     = 64 << 20
	maxPassages = 1_000_000
	// maxMemory bounds the texts of a folder. With their index they stay below the 1 GB that SQLite holds in memory.
	maxMemory = 128 << 20
)

// New returns the knowledge bases that a database keeps. They end with the database; closing them is not needed.
func New(db Database, options ...Option) *Library {
	k := &Library{
		db: db, limits: limits{file: maxFile, passages: maxPassages},
		hint: "add one with `rehearse kb add --kb NAME FILE…`",
	}
	k.apply(options)
	return k
}

func (k *Library) apply(options []Option) {
	for _, option := range options {
		option(k)
	}
}

// Close ends the bases of a folder. Those of New end with their database.
func (k *Library) Close() error {
	if k.own == nil {
		return nil
	}
	return k.own.Close()
}

// Bases returns the bases, ordered by name.
func (k *Library) Bases(ctx context.Context) (bases []Base, err error) {
	err = k.each(ctx, func(scan func(...any) error) error {
		var b Base
		err := scan(&b.Name, &b.Files, &b.Passages)
		bases = append(bases, b)
		return err
	}, `SELECT b.name, count(f.id), coalesce(sum(f.passages), 0)
		FROM knowledge_bases b LEFT JOIN knowledge_files f ON f.base = b.id GROUP BY b.id ORDER BY b.name`)
	return bases, k.db.Explain("list the knowledge bases of", err)
}

// each calls f for every row of a query.
func (k *Library) each(ctx context.Context, f func(scan func(...any) error) error, query string, args ...any) error {
	return eachRow(ctx, k.db.Read(), f, query, args...)
}

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func eachRow(ctx context.Context, db queryer, f func(scan func(...any) error) error, query string,
	args ...any) (err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// unknown makes the error for a name that no base has.
func (k *Library) unknown(ctx context.Context, name string) error {
	bases, err := k.Bases(ctx)
	if err != nil {
		return err
	}
	e := &UnknownBaseError{Name: name, Hint: k.hint}
	for _, b := range bases {
		e.Known = append(e.Known, b.Name)
	}
	return e
}

const maxBaseName = 100

// Base describes one base.
type Base struct {
	Name     string `json:"kb"`
	Files    int    `json:"files"`
	Passages int    `json:"passages"`
}

// UnknownBaseError is what Search and Remove return for a name that no knowledge base has.
type UnknownBaseError struct {
	Name  string
	Known []string
	// Hint says how a base is made.
	Hint string
}

// Error names the known bases, and a similar name if there is one.
func (e *UnknownBaseError) Error() string {
	s := fmt.Sprintf("there is no knowledge base called %q: ", firstRunes(e.Name, maxBaseName))
	if len(e.Known) == 0 {
		return s + "there are none yet; " + e.Hint
	}
	const most = 20
	suggestion := source.Suggest(e.Name, e.Known[:min(most, len(e.Known))])
	if near, ok := source.Nearest(e.Name, e.Known); ok {
		suggestion = fmt.Sprintf("did you mean %q? known: %s", near,
			strings.Join(e.Known[:min(most, len(e.Known))], ", "))
	}
	if more := len(e.Known) - most; more > 0 {
		suggestion += fmt.Sprintf(" and %d more", more)
	}
	return s + suggestion
}

// wrongName says what is wrong with the name of a base. A name must be readable in a list and possible to type on a
// command line.
func wrongName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "the knowledge base has no name"
	case !utf8.ValidString(name), strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("%q cannot be the name of a knowledge base: it has characters that cannot be seen",
			firstRunes(name, maxBaseName))
	case utf8.RuneCountInString(name) > maxBaseName:
		return fmt.Sprintf("the name of a knowledge base has more than %d characters", maxBaseName)
	}
	return ""
}

// firstRunes returns the first n characters of s, with a mark when there are more.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
