package account

import (
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/web/page"
)

type sessionRow struct {
	Browser, Address string
	Seen, Began      *page.DisplayTime
	Here             bool
	End              *page.Form
}

func showSessions(x *request) error {
	all, err := x.deps.Tokens.Sessions(x.Context(), x.account.ID)
	if err != nil {
		return err
	}
	var rows []sessionRow
	for _, s := range all {
		row := sessionRow{
			Browser: browserName(s.UserAgent), Address: s.Address, Seen: x.Time(&s.LastSeenAt), Began: x.Time(&s.CreatedAt),
			Here: s.ID == x.Actor.Credential.ID,
		}
		if !row.Here {
			row.End = x.Button(sessionsPath+"/"+strconv.FormatInt(s.ID, 10)+"/end", "Sign out", page.Danger, row.Browser+" at "+row.Address)
		}
		rows = append(rows, row)
	}
	return x.Show(http.StatusOK, settings(x, "Sessions", sessionsPath), sessionsPage(rows))
}

// browserName is what people call what a browser says of itself.
func browserName(agent string) string {
	find := func(otherwise string, marks ...[2]string) string {
		for _, m := range marks {
			if strings.Contains(agent, m[0]) {
				return m[1]
			}
		}
		return otherwise
	}
	name := find("", [2]string{"Edg", "Edge"}, [2]string{"OPR/", "Opera"}, [2]string{"Firefox/", "Firefox"}, [2]string{"FxiOS", "Firefox"},
		[2]string{"Chrome/", "Chrome"}, [2]string{"CriOS", "Chrome"}, [2]string{"Safari/", "Safari"})
	system := find("", [2]string{"Android", "Android"}, [2]string{"iPhone", "iOS"}, [2]string{"iPad", "iOS"}, [2]string{"Windows", "Windows"},
		[2]string{"Mac OS", "macOS"}, [2]string{"Linux", "Linux"})
	switch {
	case name != "" && system != "":
		return name + " on " + system
	case name != "":
		return name
	case agent == "":
		return "Unknown browser"
	}
	if runes := []rune(agent); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return agent
}

func endSession(x *request) error {
	id, err := x.ID()
	if err != nil {
		return err
	}
	if err := x.deps.Tokens.EndSessionOf(x.Context(), x.account.ID, id); err != nil {
		return err
	}
	return x.Done(sessionsPath, "That browser is signed out.")
}
