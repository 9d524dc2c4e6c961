package lead

import (
	"context"
	"encoding/json"
	"time"
)

// State is how far a row has come.
type State string

// The states.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed"
)

// Row is one event for one receiver. Its JSON names are published.
type Row struct {
	ID       string `json:"id"`
	Site     string `json:"site"`
	Session  string `json:"session"`
	Event    string `json:"event"`
	Receiver string `json:"receiver"`
	State    State  `json:"state"`
	// Attempts counts the attempts that were begun.
	Attempts int       `json:"attempts"`
	Created  time.Time `json:"created_at"`
	// Next is when a pending row is due, or when the lease of the process that holds it ends; nil for others.
	Next *time.Time `json:"next_at"`
	// Delivered is when the receiver has taken it; nil before.
	Delivered *time.Time `json:"delivered_at"`
	// LastError is why the last attempt failed; nil when none has.
	LastError *string `json:"last_error"`

	// Since is when the row became pending, for the first time or by Resend, and Tries counts the attempts begun since
	// then.
	Since time.Time `json:"-"`
	Tries int       `json:"-"`
	// Body is what the receiver is told; nil once it is no longer kept.
	Body json.RawMessage `json:"-"`
}

// How long rows are kept and leases last.
const (
	// Lease is how long a process holds a row. It is longer than an attempt takes.
	Lease = 15 * time.Second
	// BodyRetention is how long the body of a delivered row is kept.
	BodyRetention = 7 * 24 * time.Hour
	// RowRetention is how long a row is kept after it was delivered or has failed.
	RowRetention = 30 * 24 * time.Hour
	// GiveUp is how long a row is tried.
	GiveUp = 72 * time.Hour
)

// Address is where rows go: a receiver of one site.
type Address struct{ Receiver, Site string }

// Want asks for rows of an address, at most so many.
type Want struct {
	Address
	Most int
}

// Claim is a row that a process holds until its lease is over.
type Claim struct {
	Row
	// Token tells this claim from later ones of the row.
	Token string
}

// Result is what became of an attempt.
type Result struct {
	// State is Delivered, Failed for good, or Pending until Next.
	State State
	At    time.Time
	Next  time.Time
	// Error is why the attempt failed; empty after a success.
	Error string
}

// Outbox is what a Courier needs of a store. Implementations are safe for concurrent use and for several processes.
// Times come from the caller.
type Outbox interface {
	// Claim takes rows that are due and that nobody holds, of the addresses that are wanted, the longest due first.
	// Until now plus Lease nobody else gets them. An attempt counts as begun.
	Claim(ctx context.Context, now time.Time, wants []Want) ([]Claim, error)
	// Finish writes down what became of an attempt. It changes nothing when the row is gone, or when somebody else has
	// claimed it since.
	Finish(ctx context.Context, c Claim, r Result) error
	// Tend makes pending rows of the addresses that nobody holds due now, drops bodies and rows that were kept long
	// enough, and has rows fail that have been due for GiveUp without anybody who delivers them.
	Tend(ctx context.Context, now time.Time, revive []Address) error
}

// Filter selects rows; an empty field selects all.
type Filter struct {
	Site, Session string
	State         State
}

// Ledger is an outbox to look at, and to have rows sent again from.
type Ledger interface {
	// Leads returns rows without their bodies, the oldest first.
	Leads(ctx context.Context, f Filter) ([]Row, error)
	// Resend makes rows pending and due, and returns the ids of those that it could: they are there with their bodies.
	// No ids means every row. A row that somebody holds stays theirs.
	Resend(ctx context.Context, now time.Time, ids ...string) ([]string, error)
}
