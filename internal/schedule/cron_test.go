package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestTheNextTimesOfACronExpression(t *testing.T) {
	t.Parallel()
	const layout = "2006-01-02 15:04 MST"
	for _, c := range []struct{ text, zone, after, want string }{
		{"30 16 * * *", "UTC", "2024-05-02 16:29", "2024-05-02 16:30 UTC, 2024-05-03 16:30 UTC"},
		{"30 16 * * *", "UTC", "2024-05-02 16:30", "2024-05-03 16:30 UTC"},
		{"*/20 9-10 * * *", "UTC", "2024-05-02 09:50", "2024-05-02 10:00 UTC, 2024-05-02 10:20 UTC, 2024-05-02 10:40 UTC, 2024-05-03 09:00 UTC"},
		{"5/25 0 * * *", "UTC", "2024-05-02 00:00", "2024-05-02 00:05 UTC, 2024-05-02 00:30 UTC, 2024-05-02 00:55 UTC, 2024-05-03 00:05 UTC"},
		{"0 0 1,15 JAN,jul *", "UTC", "2024-05-02 00:00", "2024-07-01 00:00 UTC, 2024-07-15 00:00 UTC, 2025-01-01 00:00 UTC"},
		{"00 08 1-20/9 * *", "UTC", "2024-05-02 00:00", "2024-05-10 08:00 UTC, 2024-05-19 08:00 UTC, 2024-06-01 08:00 UTC"},
		{"0 0 31 * *", "UTC", "2024-05-02 00:00", "2024-05-31 00:00 UTC, 2024-07-31 00:00 UTC"},
		// Words.
		{"@hourly", "UTC", "2024-05-02 23:30", "2024-05-03 00:00 UTC, 2024-05-03 01:00 UTC"},
		{" @Daily ", "UTC", "2024-05-02 23:30", "2024-05-03 00:00 UTC, 2024-05-04 00:00 UTC"},
		{"@midnight", "UTC", "2024-05-02 23:30", "2024-05-03 00:00 UTC"},
		{"@weekly", "UTC", "2024-05-02 23:30", "2024-05-05 00:00 UTC, 2024-05-12 00:00 UTC"},
		{"@monthly", "UTC", "2024-05-02 23:30", "2024-06-01 00:00 UTC"},
		{"@yearly", "UTC", "2024-05-02 23:30", "2025-01-01 00:00 UTC"},
		{"@annually", "UTC", "2024-05-02 23:30", "2025-01-01 00:00 UTC"},
		// Sunday has two numbers and a name.
		{"0 0 * * 0", "UTC", "2024-05-02 00:00", "2024-05-05 00:00 UTC"},
		{"0 0 * * 7", "UTC", "2024-05-02 00:00", "2024-05-05 00:00 UTC"},
		{"0 0 * * SUN", "UTC", "2024-05-02 00:00", "2024-05-05 00:00 UTC"},
		{"0 0 * * fri-7", "UTC", "2024-05-02 00:00", "2024-05-03 00:00 UTC, 2024-05-04 00:00 UTC, 2024-05-05 00:00 UTC, 2024-05-10 00:00 UTC"},
		// Of a day and a weekday that are both named, either will do; where one has a star, both must fit.
		{"0 0 13 * 5", "UTC", "2024-05-02 00:00", "2024-05-03 00:00 UTC, 2024-05-10 00:00 UTC, 2024-05-13 00:00 UTC"},
		{"0 0 */2 * 1", "UTC", "2024-05-02 00:00", "2024-05-13 00:00 UTC, 2024-05-27 00:00 UTC"},
		{"0 0 1 * */2", "UTC", "2024-05-02 00:00", "2024-06-01 00:00 UTC, 2024-08-01 00:00 UTC"},
		{"0 0 14 * *,5", "UTC", "2024-05-02 00:00", "2024-05-14 00:00 UTC"},
		// The 29th of February, over a century without one; nothing is looked for beyond nine years.
		{"0 0 29 2 *", "UTC", "2024-05-02 00:00", "2028-02-29 00:00 UTC, 2032-02-29 00:00 UTC"},
		{"0 0 29 2 *", "UTC", "2097-01-01 00:00", "2104-02-29 00:00 UTC"},
		{"0 0 29 2 */7", "UTC", "2024-05-02 00:00", "2032-02-29 00:00 UTC, never"},
		{"0 0 30 2 *", "UTC", "2024-05-02 00:00", "never"},
		{"0 0 31 4,6,9,11 *", "UTC", "2024-05-02 00:00", "never"},
		// Zones.
		{"30 4 * * *", "Asia/Kolkata", "2024-05-02 04:29", "2024-05-02 04:30 IST"},
		{"0 0 * * 1", "Pacific/Auckland", "2024-05-03 12:00", "2024-05-06 00:00 NZST"},
		// In spring, what the clock leaves out has no time.
		{"30 2 * * *", "America/New_York", "2024-03-09 12:00", "2024-03-11 02:30 EDT"},
		{"30 2 * * *", "Europe/Berlin", "2024-03-30 12:00", "2024-04-01 02:30 CEST"},
		{"*/30 1-3 * * *", "Europe/Berlin", "2024-03-31 01:00", "2024-03-31 01:30 CET, 2024-03-31 03:00 CEST, 2024-03-31 03:30 CEST"},
		{"15 2 * * *", "Australia/Lord_Howe", "2024-10-05 12:00", "2024-10-07 02:15 +11"},
		{"45 2 * * *", "Australia/Lord_Howe", "2024-10-05 12:00", "2024-10-06 02:45 +11"},
		// Some days begin at one o'clock.
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00", "2018-11-05 00:00 -02, 2018-11-06 00:00 -02"},
		{"0 4 * * *", "America/Santiago", "2024-09-07 12:00", "2024-09-08 04:00 -03, 2024-09-09 04:00 -03"},
		{"30 0,1 * * *", "Africa/Cairo", "2024-04-25 12:00", "2024-04-26 01:30 EEST, 2024-04-27 00:30 EEST"},
		{"0 3 * * 0", "America/Havana", "2024-03-04 12:00", "2024-03-10 03:00 CDT"},
		// One day never was.
		{"0 12 * * *", "Pacific/Apia", "2011-12-29 13:00", "2011-12-31 12:00 +14"},
		// In autumn, what the clock shows twice has one time.
		{"30 1 * * *", "America/New_York", "2024-11-02 12:00", "2024-11-03 01:30 EDT, 2024-11-04 01:30 EST"},
		{"30 2 * * *", "Europe/Berlin", "2024-10-26 12:00", "2024-10-27 02:30 CET, 2024-10-28 02:30 CET"},
		{"*/30 * * * *", "America/New_York", "2024-11-03 00:30", "2024-11-03 01:00 EDT, 2024-11-03 01:30 EDT, 2024-11-03 02:00 EST"},
	} {
		when, err := parseCron(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		zone := zoneOf(t, c.zone)
		at, err := time.ParseInLocation("2006-01-02 15:04", c.after, zone)
		if err != nil {
			t.Fatal(err)
		}
		for want := range strings.SplitSeq(c.want, ", ") {
			next, ok := when.next(at, zone)
			got := next.Format(layout)
			if !ok {
				got = "never"
			}
			if got != want {
				t.Errorf("%q in %s after %s: %s, want %s", c.text, c.zone, at.Format(layout), got, want)
				break
			}
			at = next
		}
	}
}

func TestSecondsDoNotCount(t *testing.T) {
	t.Parallel()
	when, err := parseCron("* * * * *")
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, 1, time.Second, time.Minute - 1} {
		from := time.Date(2024, 5, 2, 15, 4, 0, 0, time.UTC)
		if next, ok := when.next(from.Add(after), time.UTC); !ok || !next.Equal(from.Add(time.Minute)) {
			t.Errorf("%v after the minute: %v", after, next)
		}
	}
}

func TestWhatIsNoCronExpression(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "every day", "* * * *", "* * * * * *", "0 0 1 1 * 2030", "@always", "@5minutes", "@everysecond", "@reboot", "@every 1h",
		"60 * * * *", "0 24 * * *", "0 0 0 * *", "0 0 32 * *", "0 0 * 0 *", "0 0 * 13 *", "0 0 * * 8", "-1 * * * *", "000 * * * *", "1.5 * * * *",
		"5-1 * * * *", "22-2 * * * *", "0 0 * * sat-sun", "0 0 * * 7-2", "*-5 * * * *", "1-2-3 * * * *", "5-60 * * * *", "*/5,70 * * * *",
		"*/0 * * * *", "*/61 * * * *", "*/-5 * * * *", "*/ * * * *", "/5 * * * *", "1/2/3 * * * *",
		", * * * *", "1, * * * *", "0 0 * * 1,,2", "- * * * *", "0 0 L * *", "0 0 15W * *", "0 0 * * 5L",
		"0 0 * * 1#2", "0 0 ? * *", "0 0 * * ?", "H * * * *",
		"sun 0 * * *", "0 jan * * *", "0 0 mon * *", "0 0 * fri *", "0 0 * * may", "0 0 * * monday", "0 0 * january *",
		"0 0 * * " + strings.Repeat("1,", 124) + "1",
	} {
		if _, err := parseCron(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if _, err := parseCron("0 0 * * " + strings.Repeat("1,", 123) + "1"); err != nil {
		t.Error("255 characters:", err)
	}
}

// What never comes is found out fast: a thousand schedules may be looked at in one
// transaction.
func TestWhatNeverComesIsFoundOutFast(t *testing.T) {
	t.Parallel()
	zone := zoneOf(t, "America/Santiago")
	for _, text := range []string{"0 0 30 2 *", "* * 31 2,4,6,9,11 *", "* * 30,31 2 */1", "59 23 31 4 *"} {
		when, err := parseCron(text)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if next, ok := when.next(begin, zone); ok {
			t.Errorf("%s comes at %v", text, next)
		}
		if took := time.Since(begin); took > time.Second { // less than a thousandth of it, usually
			t.Errorf("%s took %v", text, took)
		}
	}
}

// field draws one of the five fields, and all numbers that it stands for.
func field(t *rapid.T, least, most int, names []string) (text string, all map[int]bool) {
	all = map[int]bool{}
	var parts []string
	number := func(label string, least int) (int, string) {
		n := rapid.IntRange(least, most).Draw(t, label)
		if n < len(names) && names[n] != "" && rapid.Bool().Draw(t, "named") {
			return n, names[n]
		}
		return n, strconv.Itoa(n)
	}
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		from, to, step, part := least, most, 1, "*"
		if !rapid.Bool().Draw(t, "star") {
			from, part = number("from", least)
			to = from
			if rapid.Bool().Draw(t, "range") {
				last, end := number("to", from)
				to, part = last, part+"-"+end
			}
		}
		if (part == "*" || to != from) && rapid.Bool().Draw(t, "step") {
			step = rapid.IntRange(1, 60).Draw(t, "every")
			part += "/" + strconv.Itoa(step)
		}
		if part[0] == '*' && most == 7 {
			to = 6
		}
		for n := from; n <= to; n += step {
			all[n] = true
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ","), all
}

// The next time is later, fits the expression, and none that fits comes before
// it, but for those that the clock shows a second time.
func TestTheNextTimeIsTheFirstThatFits(t *testing.T) {
	t.Parallel()
	var zones []*time.Location
	for _, name := range []string{
		"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Africa/Cairo", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia",
	} {
		zones = append(zones, zoneOf(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		minute, minutes := field(t, 0, 59, nil)
		hour, hours := field(t, 0, 23, nil)
		day, days := field(t, 1, 31, nil)
		month, months := field(t, 1, 12, monthNames)
		weekday, weekdays := field(t, 0, 7, dayNames)
		weekdays[0] = weekdays[0] || weekdays[7]
		text := fmt.Sprintf("%s %s %s %s %s", minute, hour, day, month, weekday)
		fits := func(at time.Time) bool {
			ofMonth, ofWeek := days[at.Day()], weekdays[int(at.Weekday())]
			onDay := ofMonth && ofWeek
			if day[0] != '*' && weekday[0] != '*' {
				onDay = ofMonth || ofWeek
			}
			return onDay && minutes[at.Minute()] && hours[at.Hour()] && months[int(at.Month())]
		}
		when, err := parseCron(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		from := time.Unix(rapid.Int64Range(1_300_000_000, 1_900_000_000).Draw(t, "from"), 0).In(zone)
		next, ok := when.next(from, zone)
		if ok && (!next.After(from) || !fits(next) || next.Second() != 0) {
			t.Fatalf("%s after %v: %v", text, from, next)
		}
		end := from.AddDate(0, 0, 40)
		if ok && next.Before(end) {
			end = next
		}
		for at := from.Truncate(time.Minute).Add(time.Minute); at.Before(end); at = at.Add(time.Minute) {
			again := !time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, zone).Equal(at)
			if fits(at) && !again {
				t.Fatalf("%s after %v: %v, which is later than %v", text, from, next, at)
			}
		}
	})
}
