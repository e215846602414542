package user

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
)

var usernamePattern = regexp.MustCompile(`^[a-zA-Z0-9_.][a-zA-Z0-9_.-]*$`)

// reservedNames are top-level routes: an account of that name could not be
// reached, or would shadow a page.
var reservedNames = []string{
	"-", ".well-known", "404.html", "422.html", "500.html", "502.html", "503.html", "admin", "api", "assets", "dashboard",
	"explore", "favicon.ico", "favicon.png", "files", "groups", "health_check", "help", "import", "jwt", "login", "oauth",
	"profile", "projects", "public", "robots.txt", "s", "search", "sitemap", "sitemap.xml", "sitemap.xml.gz", "slash-command-logo.png",
	"snippets", "unsubscribes", "uploads", "users", "v2",
}

// reservedExtensions would make a page answer as a file.
var reservedExtensions = []string{
	".json", ".html", ".htm", ".xml", ".rss", ".js", ".mjs", ".css", ".csv", ".txt", ".md", ".svg", ".png", ".gif", ".jpg",
	".jpeg", ".ico", ".webp", ".pdf", ".zip", ".tar", ".gz", ".bz2", ".ics", ".yml", ".yaml", ".text", ".map", ".wasm", ".woff", ".woff2",
}

// weakWords are refused anywhere in a password.
var weakWords = []string{
	"password", "passw0rd", "p@ssw0rd", "12345678", "123456789", "qwertyui", "qwerty123", "11111111", "00000000", "iloveyou",
	"abcdefgh", "abcd1234", "letmein1", "trustno1", "sunshine", "princess", "football", "baseball", "superman", "starwars",
}

// validate holds an account against the rules of its fields.
func validate(u *User, f *fault.Fields) {
	checkUsername(u.Username, f)
	if u.Name == "" {
		f.Add("name", "can't be blank")
	}
	for _, limit := range []struct {
		field, value string
		max          int
	}{
		{"name", u.Name, 255}, {"bio", u.Bio, 255}, {"location", u.Location, 500}, {"skype", u.Skype, 500},
		{"linkedin", u.Linkedin, 500}, {"twitter", u.Twitter, 500}, {"discord", u.Discord, 500}, {"note", u.Note, 65535},
		{"website_url", u.WebsiteURL, 500}, {"organization", u.Organization, 500}, {"job_title", u.JobTitle, 200}, {"pronouns", u.Pronouns, 50},
	} {
		if utf8.RuneCountInString(limit.value) > limit.max {
			f.Add(limit.field, "is too long (maximum is %d characters)", limit.max)
		}
	}
	if u.WebsiteURL != "" && !strings.HasPrefix(u.WebsiteURL, "http://") && !strings.HasPrefix(u.WebsiteURL, "https://") {
		f.Add("website_url", "is not a valid URL")
	}
	for _, number := range []struct {
		field string
		value *int
	}{
		{"projects_limit", &u.ProjectsLimit}, {"shared_runners_minutes_limit", u.SharedRunnersMinutesLimit},
		{"extra_shared_runners_minutes_limit", u.ExtraSharedRunnersMinutesLimit},
	} {
		switch n := number.value; {
		case n == nil:
		case *n < 0:
			f.Add(number.field, "must be greater than or equal to 0")
		case *n > math.MaxInt32:
			f.Add(number.field, "must be less than or equal to %d", math.MaxInt32)
		}
	}
	if u.ThemeID < 1 || u.ThemeID > 10 {
		f.Add("theme_id", "%d is not a valid theme", u.ThemeID)
	}
	if u.ColorSchemeID < 1 || u.ColorSchemeID > 6 {
		f.Add("color_scheme_id", "%d is not a valid color scheme", u.ColorSchemeID)
	}
}

func checkUsername(name string, f *fault.Fields) {
	lower := asciiLower(name)
	switch {
	case name == "":
		f.Add("username", "can't be blank")
		return
	case len(name) > 255:
		f.Add("username", "is too long (maximum is 255 characters)")
		return
	case !usernamePattern.MatchString(name), strings.HasSuffix(name, "."), strings.HasSuffix(lower, ".git"), strings.HasSuffix(lower, ".atom"):
		f.Add("username", "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'.")
		f.Add("username", "can only include non-accented letters, digits, '_', '-' and '.'. It must not start with '-', end in '.', '.git', or '.atom'.")
		return
	}
	if slices.Contains(reservedNames, lower) {
		f.Add("username", "%s is a reserved name", name)
	}
	for _, ext := range reservedExtensions {
		if strings.HasSuffix(lower, ext) {
			f.Add("username", "ending with a reserved file extension is not allowed.")
			break
		}
	}
}

const maxPassword = 128 // bytes

// checkPassword refuses what is short, long, common or made of the account's
// own names.
func checkPassword(password secretbox.Secret, u *User, shortest int, f *fault.Fields) {
	p := password.Reveal()
	if n := utf8.RuneCountInString(p); n < shortest {
		f.Add("password", "is too short (minimum is %d characters)", shortest)
	}
	if len(p) > maxPassword {
		f.Add("password", "is too long (maximum is %d characters)", maxPassword)
	}
	lower := strings.ToLower(p)
	weak := func(word string) bool { return len(word) >= 4 && strings.Contains(lower, strings.ToLower(word)) }
	own := slices.Concat([]string{u.Username}, strings.Fields(u.Name), strings.FieldsFunc(u.Email, func(r rune) bool { return r == '@' }))
	if slices.ContainsFunc(weakWords, weak) || slices.ContainsFunc(own, weak) {
		f.Add("password", "must not contain commonly used combinations of words and letters")
	}
}
