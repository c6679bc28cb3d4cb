package memory

// Cache keeps values that follow from their keys and from a source, so that the next
// Step need not work them out again. Where the source is another one, or a Step does
// not ask for a value, it is forgotten. A Step uses its own copy and leaves the one it
// was given as it is. The zero Cache is empty; with it a Step decides the same.
type Cache[S, K comparable, V any] struct {
	source       S
	before, used map[K]V
}

// Next returns what the Step has used, for the next one.
func (c *Cache[S, K, V]) Next() Cache[S, K, V] {
	return Cache[S, K, V]{source: c.source, before: c.used}
}

// Get returns the value of the key, which it works out where it is not known.
func (c *Cache[S, K, V]) Get(source S, key K, workOut func() V) V {
	if c.source != source {
		*c = Cache[S, K, V]{source: source}
	}
	v, known := c.used[key]
	if known {
		return v
	}
	if v, known = c.before[key]; !known {
		v = workOut()
	}
	if c.used == nil {
		c.used = map[K]V{}
	}
	c.used[key] = v
	return v
}
