package joblog

// Stamp is what a runner writes before each line: the time, the number of the
// stream, and O for its output or E for its errors. The character behind it says
// how the line begins: a space, or + where it goes on from the last line of the
// same stream. Runners cut a line in this way when it is long, and whenever a
// program returns to its beginning to write over it.
//
// Whether a log has stamps is decided by its first line: a runner writes them
// before all lines or before none, and what a job prints in their form is text.
type Stamp string

const (
	// stampForm is a stamp with the character behind it. 0 stands for a digit, x
	// for a hexadecimal one, ? for a stream, + for how the line begins.
	stampForm = "0000-00-00T00:00:00.000000Z xx?+"
	stampSize = len(stampForm) - 1
	clockFrom = len("0000-00-00T")
	clockTo   = len("0000-00-00T00:00:00.000")
	streamAt  = len("0000-00-00T00:00:00.000000Z ")
)

// fitsStamp reports whether a byte can stand at a place of a stamp.
func fitsStamp(c byte, at int) bool {
	switch form := stampForm[at]; form {
	case '0':
		return c >= '0' && c <= '9'
	case 'x':
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
	case '?':
		return c == 'O' || c == 'E'
	case '+':
		return c == ' ' || c == '+'
	default:
		return c == form
	}
}

// Clock is the time of day, in UTC and to the millisecond.
func (s Stamp) Clock() string {
	if len(s) != stampSize {
		return ""
	}
	return string(s[clockFrom:clockTo])
}

// Errors reports whether the line was written to standard error.
func (s Stamp) Errors() bool { return len(s) == stampSize && s[stampSize-1] == 'E' }

// sameStream reports whether both lines were written to one stream.
func (s Stamp) sameStream(other Stamp) bool {
	return len(s) == stampSize && len(other) == stampSize && s[streamAt:] == other[streamAt:]
}
