package prompt

import "sync"

// maxKept bounds every cache. There are fewer sites, and fewer questions to a site, wherever this runs; more only cost
// time.
const maxKept = 256

// cache keeps what is dear to make. The zero value is ready; it is safe for concurrent use and must not be copied once
// used.
type cache[K comparable, V any] struct {
	mu   sync.RWMutex
	kept map[K]V
}

func (c *cache[K, V]) get(key K) (V, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	value, ok := c.kept[key]
	return value, ok
}

// put keeps a value, and forgets any other one when there are too many.
func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[K]V{}
	}
	if _, known := c.kept[key]; !known && len(c.kept) >= maxKept {
		for other := range c.kept {
			delete(c.kept, other)
			break
		}
	}
	c.kept[key] = value
}
