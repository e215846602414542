package deps_test

import (
	"io"
	"testing"

	"stithy/internal/platform/deps"
)

type room struct {
	Pointer   *int
	Interface io.Reader
	Func      func()
	Map       map[string]int
	Chan      <-chan struct{}
	Slice     []string
	Within    struct{ io.Reader }
	Text      string
	Number    int
}

func full() room {
	return room{
		Pointer: new(int), Interface: io.MultiReader(), Func: func() {}, Map: map[string]int{}, Chan: make(chan struct{}), Slice: []string{},
		Within: struct{ io.Reader }{io.MultiReader()},
	}
}

func TestWhatIsCompleteComesBack(t *testing.T) {
	t.Parallel()
	d := full()
	if got := deps.Complete(d); got.Pointer != d.Pointer {
		t.Error("it is another one")
	}
}

func TestAFieldThatWasForgottenIsNamed(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*room){
		"Pointer":       func(d *room) { d.Pointer = nil },
		"Interface":     func(d *room) { d.Interface = nil },
		"Func":          func(d *room) { d.Func = nil },
		"Map":           func(d *room) { d.Map = nil },
		"Chan":          func(d *room) { d.Chan = nil },
		"Slice":         func(d *room) { d.Slice = nil },
		"Within.Reader": func(d *room) { d.Within.Reader = nil },
	} {
		d := full()
		forget(&d)
		func() {
			defer func() {
				want := "deps_test.room." + name + " is nil: give it where the application is put together"
				if got := recover(); got != want {
					t.Errorf("got %v, want %q", got, want)
				}
			}()
			deps.Complete(d)
		}()
	}
}
