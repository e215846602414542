package changelog

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// strftime writes a date as the format of C has it, with the flags -, 0, _, ^
// before the letter. What it does not know it leaves as it stands.
func strftime(format string, t time.Time) string {
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out.WriteByte(format[i])
			continue
		}
		j := i + 1
		for j < len(format) && strings.IndexByte("-0_^", format[j]) >= 0 {
			j++
		}
		if j == len(format) {
			out.WriteString(format[i:])
			break
		}
		flags := format[i+1 : j]
		text, known := directive(format[j], flags, t)
		if !known {
			out.WriteString(format[i : j+1])
			i = j
			continue
		}
		if strings.Contains(flags, "^") {
			text = strings.ToUpper(text)
		}
		out.WriteString(text)
		i = j
	}
	return out.String()
}

func directive(letter byte, flags string, t time.Time) (text string, known bool) {
	number := func(n, width int, fill string) string {
		switch {
		case strings.Contains(flags, "-"):
			return strconv.Itoa(n)
		case strings.Contains(flags, "_"):
			fill = " "
		case strings.Contains(flags, "0"):
			fill = "0"
		}
		digits := strconv.Itoa(n)
		return strings.Repeat(fill, max(0, width-len(digits))) + digits
	}
	twelve := (t.Hour()+11)%12 + 1
	switch letter {
	case 'Y':
		return number(t.Year(), 4, "0"), true
	case 'C':
		return number(t.Year()/100, 2, "0"), true
	case 'y':
		return number(t.Year()%100, 2, "0"), true
	case 'm':
		return number(int(t.Month()), 2, "0"), true
	case 'd':
		return number(t.Day(), 2, "0"), true
	case 'e':
		return number(t.Day(), 2, " "), true
	case 'j':
		return number(t.YearDay(), 3, "0"), true
	case 'H':
		return number(t.Hour(), 2, "0"), true
	case 'k':
		return number(t.Hour(), 2, " "), true
	case 'I':
		return number(twelve, 2, "0"), true
	case 'l':
		return number(twelve, 2, " "), true
	case 'M':
		return number(t.Minute(), 2, "0"), true
	case 'S':
		return number(t.Second(), 2, "0"), true
	case 'L':
		return number(t.Nanosecond()/1e6, 3, "0"), true
	case 'u':
		return number((int(t.Weekday())+6)%7+1, 1, "0"), true
	case 'w':
		return number(int(t.Weekday()), 1, "0"), true
	case 'V':
		_, week := t.ISOWeek()
		return number(week, 2, "0"), true
	case 'G':
		year, _ := t.ISOWeek()
		return number(year, 4, "0"), true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	}
	for letters, layout := range map[string]string{
		"B": "January", "bh": "Jan", "A": "Monday", "a": "Mon", "p": "PM", "P": "pm", "Z": "MST", "z": "-0700", "F": "2006-01-02",
		"D": "01/02/06", "x": "01/02/06", "T": "15:04:05", "X": "15:04:05", "R": "15:04", "c": "Mon Jan _2 15:04:05 2006",
		"r": "03:04:05 PM", "v": "_2-Jan-2006",
	} {
		if strings.IndexByte(letters, letter) >= 0 {
			return t.Format(layout), true
		}
	}
	switch letter {
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case '%':
		return "%", true
	}
	return fmt.Sprintf("%%%c", letter), false
}
