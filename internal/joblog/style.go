package joblog

import (
	"strconv"
	"strings"
)

// after is the style that a code for styles leaves.
func (s Style) after(code string) Style {
	if strings.IndexByte(code, ';') < 0 && strings.IndexByte(code, ':') < 0 { // as most are
		if n, ok := number(code); ok && !takesColour(n) {
			return s.with(n)
		}
		return s
	}
	groups := strings.Split(code, ";")
	for i := 0; i < len(groups); i++ {
		parts := strings.Split(groups[i], ":")
		n, ok := number(parts[0])
		if !ok {
			return s // no code for styles at all
		}
		if n == 4 && len(parts) > 1 && parts[1] == "0" {
			n = 24 // a kind of underline, which is none
		}
		if !takesColour(n) {
			s = s.with(n)
			continue
		}
		// A colour of many: its numbers are in this group, or are the next ones.
		var c Colour
		if len(parts) > 1 {
			c, ok = manyColon(parts[1:])
		} else {
			var used int
			c, used, ok = many(groups[i+1:])
			i += used
		}
		if !ok {
			return s
		}
		switch n {
		case 38:
			s.Ink = c
		case 48:
			s.Ground = c
		}
	}
	return s
}

// takesColour reports whether a number is followed by a colour of many: that
// of the text, of its ground, or of the line below it.
func takesColour(n int) bool { return n == 38 || n == 48 || n == 58 }

func number(text string) (int, bool) {
	if text == "" {
		return 0, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0
}

func (s Style) with(n int) Style {
	switch {
	case n == 0:
		return Style{}
	case n >= 30 && n <= 37:
		s.Ink = Black + Colour(n-30)
	case n >= 40 && n <= 47:
		s.Ground = Black + Colour(n-40)
	case n >= 90 && n <= 97:
		s.Ink = bright(n - 90)
	case n >= 100 && n <= 107:
		s.Ground = bright(n - 100)
	}
	switch n {
	case 1:
		s.Look |= bold
	case 2:
		s.Look |= faint
	case 3:
		s.Look |= italic
	case 4, 21:
		s.Look |= underline
	case 7:
		s.Look |= inverse
	case 9:
		s.Look |= strike
	case 22:
		s.Look &^= bold | faint
	case 23:
		s.Look &^= italic
	case 24:
		s.Look &^= underline
	case 27:
		s.Look &^= inverse
	case 29:
		s.Look &^= strike
	case 39:
		s.Ink = Plain
	case 49:
		s.Ground = Plain
	}
	return s
}

// bright colours are those that their plain ones are: a page chooses tones
// that can be read.
func bright(n int) Colour {
	if n == 0 {
		return Grey
	}
	return Black + Colour(n)
}

// many reads 5;n or 2;r;g;b, and says how many numbers that were.
func many(rest []string) (c Colour, used int, ok bool) {
	if len(rest) == 0 {
		return 0, 0, false
	}
	count := map[string]int{"5": 2, "2": 4}[rest[0]]
	if count == 0 || len(rest) < count {
		return 0, 0, false
	}
	c, ok = manyColon(rest[:count])
	return c, count, ok
}

// manyColon reads 5:n, 2:r:g:b, or 2::r:g:b with the name of a colour space.
func manyColon(parts []string) (Colour, bool) {
	if len(parts) == 5 && parts[0] == "2" {
		parts = append([]string{"2"}, parts[2:]...)
	}
	var n [4]int
	if len(parts) > len(n) {
		return 0, false
	}
	for i, text := range parts {
		var ok bool
		if n[i], ok = number(text); !ok || n[i] > 255 {
			return 0, false
		}
	}
	switch {
	case n[0] == 5 && len(parts) == 2:
		return indexed(n[1]), true
	case n[0] == 2 && len(parts) == 4:
		return nearest(n[1], n[2], n[3]), true
	}
	return 0, false
}

// indexed is a colour of the palette of 256.
func indexed(n int) Colour {
	switch {
	case n < 8:
		return Black + Colour(n)
	case n < 16:
		return bright(n - 8)
	case n >= 232:
		v := 8 + 10*(n-232)
		return nearest(v, v, v)
	}
	level := [6]int{0, 95, 135, 175, 215, 255}
	n -= 16
	return nearest(level[n/36], level[n/6%6], level[n%6])
}

// nearest is the colour of the same hue.
func nearest(r, g, b int) Colour {
	most, least := max(r, g, b), min(r, g, b)
	if most-least < 40 {
		switch {
		case most < 64:
			return Black
		case most < 200:
			return Grey
		}
		return White
	}
	// The hue in degrees, rounded to one of six.
	span := most - least
	var hue int
	switch most {
	case r:
		hue = (60*(g-b)/span + 360) % 360
	case g:
		hue = 60*(b-r)/span + 120
	default:
		hue = 60*(r-g)/span + 240
	}
	return [6]Colour{Red, Yellow, Green, Cyan, Blue, Magenta}[(hue+30)%360/60]
}

// Class is the names of the style in the style sheet. A ground brings its own
// ink, for no sheet could make every pair readable.
func (s Style) Class() string {
	ink, under := s.Ink, s.Ground
	var names []string
	if s.Look&inverse != 0 {
		if ink, under = under, ink; under == Plain {
			names = append(names, "inv")
		}
	}
	switch {
	case under != Plain:
		names = append(names, "g"+strconv.Itoa(int(under-Black)))
	case len(names) > 0:
	case ink >= Red && ink <= Cyan, ink == Grey:
		names = append(names, "c"+strconv.Itoa(int(ink-Black)))
	case s.Look&faint != 0:
		names = append(names, "c8")
	}
	for i, name := range []string{"bold", "", "italic", "under", "strike"} {
		if name != "" && s.Look&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}
