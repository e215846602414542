// Package memory keeps in memory what can be computed again, bounded by its weight.
//
// It is a cache of one type below, whatever it keeps: the code of the library is compiled for each pair of types that it is used with,
// and seven of them were a megabyte of the program.
package memory

import "github.com/maypok86/otter/v2"

// Key names what is kept: a name below a path in a place, as the caller sees fit.
type Key struct{ Place, Path, Name string }

// Cache keeps values of one type.
type Cache[V any] struct{ kept *otter.Cache[Key, any] }

// New returns a cache that holds values up to a weight. The library has tables as long as that is, so a large cache counts in larger units
// than bytes.
func New[V any](most uint64, weigh func(Key, V) uint32) *Cache[V] {
	return &Cache[V]{otter.Must(&otter.Options[Key, any]{
		MaximumWeight: most,
		Weigher:       func(k Key, v any) uint32 { value, _ := v.(V); return weigh(k, value) },
	})}
}

// Get returns what is kept under a key.
func (c *Cache[V]) Get(k Key) (value V, known bool) {
	v, known := c.kept.GetIfPresent(k)
	value, _ = v.(V)
	return value, known
}

// Set keeps a value, if it is not too heavy.
func (c *Cache[V]) Set(k Key, value V) { c.kept.Set(k, value) }

// Forget drops what has one of some keys.
func (c *Cache[V]) Forget(one func(Key) bool) {
	for k := range c.kept.Keys() {
		if one(k) {
			c.kept.Invalidate(k)
		}
	}
}

// Close ends what works for the cache.
func (c *Cache[V]) Close() { c.kept.StopAllGoroutines() }
