package memory_test

import (
	"strconv"
	"testing"

	"stithy/internal/platform/memory"
)

func TestWhatIsKeptIsFoundUnderItsKeyAlone(t *testing.T) {
	t.Parallel()
	c := memory.New(100, func(memory.Key, []int) uint32 { return 1 })
	t.Cleanup(c.Close)
	k := memory.Key{Place: "p", Path: "a", Name: "n"}
	c.Set(k, []int{1})
	if v, known := c.Get(k); !known || len(v) != 1 {
		t.Errorf("got %v, %t", v, known)
	}
	for _, other := range []memory.Key{{Place: "q", Path: "a", Name: "n"}, {Place: "p", Path: "b", Name: "n"}, {Place: "p", Path: "a", Name: "m"}, {Place: "pa", Name: "n"}} {
		if v, known := c.Get(other); known {
			t.Errorf("%v has %v", other, v)
		}
	}
	c.Forget(func(k memory.Key) bool { return k.Path == "a" })
	if _, known := c.Get(k); known {
		t.Error("what was to be forgotten is known")
	}
}

func TestAnInterfaceIsKeptToo(t *testing.T) {
	t.Parallel()
	c := memory.New(100, func(memory.Key, any) uint32 { return 1 })
	t.Cleanup(c.Close)
	c.Set(memory.Key{Name: "none"}, nil)
	c.Set(memory.Key{Name: "one"}, 1)
	if v, known := c.Get(memory.Key{Name: "none"}); v != nil || !known {
		t.Errorf("got %v, %t", v, known)
	}
	if v, known := c.Get(memory.Key{Name: "one"}); v != 1 || !known {
		t.Errorf("got %v, %t", v, known)
	}
}

func TestNoMoreIsKeptThanTheWeightAllows(t *testing.T) {
	t.Parallel()
	c := memory.New(50, func(k memory.Key, _ int) uint32 { return uint32(len(k.Place)) })
	t.Cleanup(c.Close)
	for n := range 1000 {
		c.Set(memory.Key{Place: "ten bytes.", Name: strconv.Itoa(n)}, n)
	}
	kept := 0
	c.Forget(func(memory.Key) bool { kept++; return false }) // which waits for what is being dropped
	if kept > 500 {
		t.Errorf("%d are kept", kept)
	}
}
