package store

import (
	"context"
	"fmt"
	"time"
)

// Lease is the right to do something alone, such as to lead a run, until it expires.
type Lease struct {
	Name, Owner string
	// Number grows whenever the lease goes to an owner anew.
	Number int64
	// Until is when the owner must have stopped if it could not renew the lease: the time by this process's clock
	// before it asked, and the ttl. The store's own clock says later, so that nobody else has the lease before.
	Until time.Time
}

// Fence returns what writes demand, so that they happen only while the lease has not gone to somebody else.
func (l Lease) Fence() Fence { return Fence{Lease: l.Name, Number: l.Number} }

// AcquireLease gives the lease with the name to an owner for a time, without waiting. ok is false while another owner
// holds it; lease then says who, and has no Until. Who holds it already keeps it with the same Number, and gets it
// renewed. An owner's name must be that of one process, such as a random one. Leases expire by the clock of the
// database; in a file by the clock of the process, which is its only one.
func (f *Fleet) AcquireLease(ctx context.Context, name, owner string,
	ttl time.Duration) (lease Lease, ok bool, err error) {
	check := rowCheck{what: "lease", id: name}
	check.key("name", name)
	check.key("owner", owner)
	if check.err != nil {
		return Lease{}, false, check.err
	}
	name, owner = plainText(name), plainText(owner)
	asked := time.Now()
	err = f.write(ctx, "take a lease in", func(tx transaction) error {
		if err := tx.lock(ctx, "lease "+name); err != nil {
			return err
		}
		now, err := tx.now(ctx)
		if err != nil {
			return err
		}
		holder, number, expires, err := readLease(ctx, tx, name)
		if err != nil {
			return err
		}
		ok = holder == owner || holder == "" || expires <= micros(now)
		if lease = (Lease{Name: name, Owner: holder, Number: number}); !ok {
			return nil
		}
		if holder != owner || expires <= micros(now) {
			lease.Number++
		}
		lease.Owner, lease.Until = owner, asked.Add(ttl)
		_, err = tx.exec(ctx,
			`INSERT INTO exp.fleet_leases AS known (name, owner, fence, expires_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, fence = excluded.fence, expires_at = excluded.expires_at`,
			name, owner, lease.Number, micros(now.Add(ttl)))
		return err
	})
	if err != nil {
		return Lease{}, false, err
	}
	return lease, ok, nil
}

// readLease reads who has a lease; the number is 0 if nobody ever had it.
func readLease(ctx context.Context, tx transaction, name string) (owner string, number, expires int64, err error) {
	err = tx.read(ctx, `SELECT owner, fence, expires_at FROM exp.fleet_leases WHERE name = $1`, []any{name},
		func(row scanner) error { return row.Scan(&owner, &number, &expires) })
	return owner, number, expires, err
}

// RenewLease makes a lease last for ttl from now. One that has expired is renewed as long as nobody else took it; else
// the error is ErrLeaseLost.
func (f *Fleet) RenewLease(ctx context.Context, lease Lease, ttl time.Duration) (Lease, error) {
	asked := time.Now()
	err := f.write(ctx, "renew a lease in", func(tx transaction) error {
		if err := f.demand(ctx, tx, lease.Fence()); err != nil {
			return err
		}
		now, err := tx.now(ctx)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE exp.fleet_leases SET expires_at = $2 WHERE name = $1`, plainText(lease.Name),
			micros(now.Add(ttl)))
		return err
	})
	if err != nil {
		return Lease{}, err
	}
	lease.Until = asked.Add(ttl)
	return lease, nil
}

// GiveUpLease lets anybody have the lease at once. It is no error if it went to somebody else before. Its fence holds
// no longer.
func (f *Fleet) GiveUpLease(ctx context.Context, lease Lease) error {
	return f.write(ctx, "give up a lease in", func(tx transaction) error {
		if err := tx.lock(ctx, "lease "+plainText(lease.Name)); err != nil {
			return err
		}
		_, err := tx.exec(ctx, `UPDATE exp.fleet_leases SET owner = '' WHERE name = $1 AND fence = $2`,
			plainText(lease.Name), lease.Number)
		return err
	})
}

// GiveUpAllLeases takes the leases, also those of conversations, from all owners at once. A server that is alone on its
// store calls it when it starts, as the owners are earlier processes of its own, which have died.
func (f *Fleet) GiveUpAllLeases(ctx context.Context) error {
	return f.write(ctx, "give up leases in", func(tx transaction) error {
		return tx.batch(ctx, statement{`UPDATE exp.fleet_leases SET owner = '', expires_at = 0`, nil},
			statement{`UPDATE exp.fleet_conversations SET holder = '', held_until = 0 WHERE held_until > 0`, nil})
	})
}

// demand refuses with ErrLeaseLost where a fence does not hold, and lets nobody take the lease until the transaction
// ends.
func (f *Fleet) demand(ctx context.Context, tx transaction, fence Fence) error {
	if fence == (Fence{}) {
		return nil
	}
	name := plainText(fence.Lease)
	if err := tx.lock(ctx, "lease "+name); err != nil {
		return err
	}
	owner, number, _, err := readLease(ctx, tx, name)
	if err == nil && (owner == "" || number != fence.Number) {
		err = f.fault("write to", fmt.Sprintf("the lease %q went to another server", shortened(name)),
			"stop: that server goes on", ErrLeaseLost)
	}
	return err
}
