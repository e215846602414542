package project

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"stithy/internal/group"
	"stithy/internal/kit/fault"
	"stithy/internal/platform/secretbox"
)

var (
	namePattern = regexp.MustCompile(`^[\p{L}\p{N}\x{00A9}-\x{1f9ff}_][\p{L}\p{N}\p{Pd}+\x{00A9}-\x{1f9ff}_. ]*$`)
	pathPattern = regexp.MustCompile(`^[a-zA-Z0-9_.][a-zA-Z0-9_.-]*$`)
	pathRuns    = regexp.MustCompile(`^[a-zA-Z0-9]+([._-][a-zA-Z0-9]+)*$`)
	notInPath   = regexp.MustCompile(`[^a-z0-9_]+`)
)

// misleading characters change how the text around them reads.
const misleading = "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

const (
	badName = "can contain only letters, digits, emoji, '_', '.', '+', dashes, or spaces. It must start with a letter, digit, emoji, or '_'."
	badPath = "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'"
	badRuns = "must not start or end with a special character and must not contain consecutive special characters."
)

// pathFrom makes a path of a name: the name itself where it is one.
func pathFrom(name string) string {
	if wellFormed(name) && pathRuns.MatchString(name) {
		return name
	}
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(name))
	return strings.Trim(notInPath.ReplaceAllString(strings.ToLower(plain), "-"), "-_")
}

func wellFormed(path string) bool {
	lower := strings.ToLower(path)
	return pathPattern.MatchString(path) && !strings.HasSuffix(lower, ".git") && !strings.HasSuffix(lower, ".atom")
}

// checkNames holds a name and a path against their rules.
func checkNames(p *Project, f *fault.Fields) {
	switch {
	case p.Name == "":
		f.Add("name", "can't be blank")
	case utf8.RuneCountInString(p.Name) > 255:
		f.Add("name", "is too long (maximum is 255 characters)")
	case !namePattern.MatchString(p.Name), strings.ContainsAny(p.Name, misleading):
		f.Add("name", badName)
	}
	switch {
	case p.Path == "":
		f.Add("path", "can't be blank")
	case len(p.Path) > 255:
		f.Add("path", "is too long (maximum is 255 characters)")
	case !wellFormed(p.Path):
		f.Add("path", badPath)
	case !pathRuns.MatchString(p.Path):
		f.Add("path", badRuns)
	case slices.Contains(group.ReservedBelow, strings.ToLower(p.Path)):
		f.Add("path", "%s is a reserved name", p.Path)
	}
}

// checkSettings holds the rest against its rules.
func checkSettings(p *Project, f *fault.Fields) {
	for _, limit := range []struct {
		field string
		value *string
		max   int
	}{
		{"description", &p.Description, 2000}, {"default_branch", p.DefaultBranch, 255},
		{"ci_config_path", p.Settings.CIConfigPath, 255}, {"suggestion_commit_message", p.Settings.SuggestionCommitMessage, 255},
		{"merge_commit_template", p.Settings.MergeCommitTemplate, 500}, {"squash_commit_template", p.Settings.SquashCommitTemplate, 500},
		{"issue_branch_template", p.Settings.IssueBranchTemplate, 255}, {"import_url", &p.Settings.ImportURL, 2048},
	} {
		if limit.value != nil && utf8.RuneCountInString(*limit.value) > limit.max {
			f.Add(limit.field, "is too long (maximum is %d characters)", limit.max)
		}
	}
	if path := p.Settings.CIConfigPath; path != nil && (strings.HasPrefix(*path, "/") || strings.Contains(*path, "..")) {
		f.Add("ci_config_path", "cannot include leading slash or directory traversal.")
	}
	if t := p.Settings.BuildTimeout; t < 600 || t > 30*24*3600 {
		f.Add("build_timeout", "needs to be between 10 minutes and 1 month")
	}
	if depth := p.Settings.CIDefaultGitDepth; depth != nil && (*depth < 0 || *depth > 1000) {
		f.Add("ci_default_git_depth", "must be between 0 and 1000")
	}
	if len(p.Topics) > 100 {
		f.Add("topics", "are too many (maximum is 100)")
	}
	for _, topic := range p.Topics {
		if utf8.RuneCountInString(topic) > 255 {
			f.Add("topics", "name is too long (maximum is 255 characters)")
			break
		}
	}
}

// cleanTopics sorts topics and drops blanks and repetitions.
func cleanTopics(topics []string) []string {
	clean := []string{}
	for _, topic := range topics {
		if topic = strings.TrimSpace(topic); topic != "" {
			clean = append(clean, topic)
		}
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}

// openness orders levels.
var openness = map[Level]int{Off: 0, Members: 1, Everyone: 2, Strangers: 3}

// checkFeatures keeps what lives in the repository no more open than it:
// what was asked for is refused, the rest closes with the repository.
func checkFeatures(p *Project, asked Features, f *fault.Fields) {
	repository := p.Features.Repository
	for _, part := range []struct {
		field string
		asked Level
		level *Level
	}{
		{"merge_requests_access_level", asked.MergeRequests, &p.Features.MergeRequests},
		{"builds_access_level", asked.Builds, &p.Features.Builds},
	} {
		switch {
		case openness[*part.level] <= openness[repository]:
		case part.asked != "":
			f.Add(part.field, "cannot have higher visibility level than repository access level")
		default:
			*part.level = repository
		}
	}
}

// Import is a repository elsewhere that a project begins as a copy of.
type Import struct {
	URL      string // without a login
	User     string
	Password secretbox.Secret
}

// parseImport reads the address of a repository elsewhere and takes the login
// out of it, so that it stands where nobody shows it.
func parseImport(address string) (*Import, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fault.Field("import_url", "is blocked: Only allowed schemes are http, https")
	}
	i := &Import{User: u.User.Username()}
	if password, ok := u.User.Password(); ok {
		i.Password = secretbox.Secret(password)
	}
	u.User = nil
	i.URL = u.String()
	return i, nil
}
