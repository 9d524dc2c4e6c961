package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"

	"rehearse/internal/flow"
)

// Knowledge is a set of knowledge bases with a full-text index and, if there is an embedder, vectors. It is safe for concurrent use.
// Store.Knowledge gives the bases that a store keeps, OpenKnowledge those of a folder.
type Knowledge struct {
	store  *Store
	limits knowledgeLimits
	// hint says how a base comes into being here.
	hint string
	// pinned keeps a database in memory alive, which ends with its last connection; nil when the store outlives this Knowledge.
	pinned *sql.Conn

	// vectors are nil when passages are found by their words only.
	vectors *Vectors
	matrix  *matrix
}

var _ flow.Knowledge = (*Knowledge)(nil)

// knowledgeLimits bound what is taken in.
type knowledgeLimits struct {
	file     int64 // bytes of a file
	passages int   // in a base
	text     int64 // bytes of all passages; 0 is no limit
}

const (
	maxKnowledgeFile     = 64 << 20
	maxKnowledgePassages = 1_000_000
	// maxKnowledgeMemory bounds the texts of a folder. With their index they stay below the 1 GB that SQLite holds in memory.
	maxKnowledgeMemory = 128 << 20
)

// Knowledge returns the knowledge bases that the store keeps. They end with the store; closing them is not needed.
func (s *Store) Knowledge(options ...KnowledgeOption) *Knowledge {
	k := &Knowledge{
		store: s, limits: knowledgeLimits{file: maxKnowledgeFile, passages: maxKnowledgePassages},
		hint: "add one with `rehearse kb add --kb NAME FILE…`",
	}
	k.apply(options)
	return k
}

func (k *Knowledge) apply(options []KnowledgeOption) {
	for _, option := range options {
		option(k)
	}
}

// newMemory returns knowledge bases in memory, none yet. The place is what errors call them by.
func newMemory(ctx context.Context, place string) (*Knowledge, error) {
	// A name of its own lets several connections, and so several searches at once, share one database.
	db, err := connectTo("file:/"+rand.Text(), url.Values{"vfs": {"memdb"}})
	if err != nil {
		return nil, explain("open", place, err)
	}
	k := &Knowledge{
		store:  &Store{db: db, path: place, keep: keepVerdicts},
		limits: knowledgeLimits{maxKnowledgeFile, maxKnowledgePassages, maxKnowledgeMemory},
		hint:   "put a file NAME.md or a folder NAME into " + place,
	}
	if k.pinned, err = db.Conn(ctx); err == nil {
		err = migrate(ctx, db, place)
	}
	k.store.verdicts.start(k.store.writeVerdicts)
	if err != nil {
		return nil, errors.Join(explain("open", place, err), k.Close())
	}
	return k, nil
}

// Close lets go of bases in memory. Those of a store end with the store.
func (k *Knowledge) Close() error {
	if k.pinned == nil {
		return nil
	}
	err := k.pinned.Close()
	if errors.Is(err, sql.ErrConnDone) { // closed before
		err = nil
	}
	return errors.Join(err, k.store.Close())
}

// Bases returns what bases there are, by name.
func (k *Knowledge) Bases(ctx context.Context) (bases []KnowledgeBase, err error) {
	err = k.each(ctx, func(scan func(...any) error) error {
		var b KnowledgeBase
		err := scan(&b.Name, &b.Files, &b.Passages)
		bases = append(bases, b)
		return err
	}, `SELECT b.name, count(f.id), coalesce(sum(f.passages), 0)
		FROM knowledge_bases b LEFT JOIN knowledge_files f ON f.base = b.id GROUP BY b.id ORDER BY b.name`)
	return bases, explain("list the knowledge bases of", k.store.path, err)
}

// each calls f for every row of a query.
func (k *Knowledge) each(ctx context.Context, f func(scan func(...any) error) error, query string, args ...any) error {
	return eachRow(ctx, k.store.db, f, query, args...)
}

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func eachRow(ctx context.Context, db queryer, f func(scan func(...any) error) error, query string, args ...any) (err error) {
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
func (k *Knowledge) unknown(ctx context.Context, name string) error {
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
