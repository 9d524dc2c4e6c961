package enrich

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"
)

// TTL is how long a cache remembers a company.
const TTL = 24 * time.Hour

// Cache remembers profiles for a while. Implementations are safe for concurrent use.
type Cache interface {
	// Get returns the profile of a key and whether there is one; an expired one is none.
	Get(ctx context.Context, key string) (Profile, bool, error)
	// Set remembers a profile for ttl, in place of what the key had. The owner is who has it remembered.
	Set(ctx context.Context, key, owner string, p Profile, ttl time.Duration) error
	// Forget drops what an owner has had remembered last.
	Forget(ctx context.Context, owner string) error
}

// Cached is the source that asks a Cache. Keys are "enrich:" + site + ":" + Hash: what the browsers of one site claim
// never reaches another.
type Cached struct {
	cache Cache
	salt  string
}

// NewCached returns the source cache. The salt is that of Hash; a cache within the process can do with
// crypto/rand.Text().
func NewCached(cache Cache, salt string) (*Cached, error) {
	if salt == "" {
		return nil, errNoSalt
	}
	return &Cached{cache, salt}, nil
}

var errNoSalt = errors.New(
	"enrichment.ip_hash_salt_env: no salt: set the variable that it names to a secret text, the same in every process")

func (c *Cached) key(v Visitor) string { return "enrich:" + v.Site + ":" + Hash(c.salt, v.IP) }

// Lookup returns what the cache has for the visitor's address.
func (c *Cached) Lookup(ctx context.Context, v Visitor) (Profile, error) {
	p, found, err := c.cache.Get(ctx, c.key(v))
	if err != nil || !found {
		return Profile{}, err
	}
	return p, nil
}

// Save puts a company into the cache for TTL.
func (c *Cached) Save(ctx context.Context, v Visitor, p Profile) error {
	return c.cache.Set(ctx, c.key(v), owner(v.Site, v.SessionID), p.company(), TTL)
}

// Forget drops what a session of a site has had remembered.
func (c *Cached) Forget(ctx context.Context, site, session string) error {
	return c.cache.Forget(ctx, owner(site, session))
}

// owner names a session in the cache. Sites have no colons in their names, but for one before a port.
func owner(site, session string) string { return strconv.Itoa(len(site)) + ":" + site + ":" + session }

// memoryMost is how many profiles a Memory holds: some ten megabytes.
const memoryMost = 10_000

// Memory is a Cache within the process. It holds the 10,000 profiles that were set last. The zero Memory is empty and
// ready; it is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	entries map[string]*list.Element // of memoryEntry
	// order has the entries from the one that was set first to the one that was set last.
	order list.List
}

type memoryEntry struct {
	key     string
	owner   string
	profile Profile
	until   time.Time
}

// Get implements Cache; it never fails.
func (m *Memory) Get(_ context.Context, key string) (Profile, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.entries[key]
	if !ok {
		return Profile{}, false, nil
	}
	entry := element.Value.(memoryEntry)
	if !time.Now().Before(entry.until) {
		m.drop(element)
		return Profile{}, false, nil
	}
	p := entry.profile
	p.FeatureList = slices.Clone(p.FeatureList)
	return p, true, nil
}

// Set implements Cache; it never fails.
func (m *Memory) Set(_ context.Context, key, owner string, p Profile, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[string]*list.Element{}
	}
	if old, ok := m.entries[key]; ok {
		m.drop(old)
	}
	for m.order.Len() >= memoryMost {
		m.drop(m.order.Front())
	}
	p.FeatureList = slices.Clone(p.FeatureList)
	m.entries[key] = m.order.PushBack(memoryEntry{key, owner, p, time.Now().Add(ttl)})
	return nil
}

// Forget implements Cache; it never fails.
func (m *Memory) Forget(_ context.Context, owner string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for element := m.order.Front(); element != nil; {
		next := element.Next()
		if element.Value.(memoryEntry).owner == owner {
			m.drop(element)
		}
		element = next
	}
	return nil
}

func (m *Memory) drop(element *list.Element) {
	delete(m.entries, m.order.Remove(element).(memoryEntry).key)
}
