package page

import (
	"net/url"
	"strconv"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
)

// Pager leads from one part of a list to its neighbours.
type Pager struct {
	Note       string // which part this is
	Back       URL    // empty on the first
	BackText   string
	BackRel    string
	Onward     URL // empty on the last
	OnwardText string
	Last       URL // where there is a way to the last part at once
	LastText   string
}

// Numbered is which page of a list is asked for under a name, so many to a page.
func (x *Request) Numbered(name string, perPage int) paging.Request {
	n, err := strconv.Atoi(x.Form.Get(name))
	if err != nil || n < 1 || n > paging.MaxTotal || !x.Reading() {
		n = 1
	}
	return paging.Request{Page: n, PerPage: perPage}
}

// NumberedPager leads to the pages before and after one, at a path with a query and perhaps a fragment.
func (x *Request) NumberedPager(path string, query url.Values, name, fragment string, req paging.Request, more bool) Pager {
	at := func(n int) URL {
		q := url.Values{}
		for key, values := range query {
			q[key] = values
		}
		q.Set(name, strconv.Itoa(n))
		return x.Link(path + "?" + q.Encode() + fragment)
	}
	p := Pager{BackText: "Newer", BackRel: "prev", OnwardText: "Older"}
	if req.Page > 1 {
		p.Back = at(req.Page - 1)
	}
	if more {
		p.Onward = at(req.Page + 1)
	}
	return p
}

// ByCursor is which part of a list is asked for, the newest first.
func (x *Request) ByCursor(perPage int) (paging.Request, error) {
	req := paging.Request{PerPage: perPage, Keyset: true, OrderBy: "id", Desc: true}
	text := x.Form.Get("cursor")
	if text == "" {
		return req, nil
	}
	var err error
	if req.Cursor, err = paging.Parse(text); err != nil {
		return req, fault.WithMessage(fault.BadParams, "This part of the list is not there.")
	}
	return req, nil
}

// CursorPager leads to the first part of a list and to the next, at a path with the filters that are not empty.
func (x *Request) CursorPager(path string, filter url.Values, req paging.Request, next *paging.Cursor) Pager {
	address := func(cursor *paging.Cursor) URL {
		q := url.Values{}
		for name, values := range filter {
			if values[0] != "" {
				q[name] = values
			}
		}
		if cursor != nil {
			q.Set("cursor", cursor.String())
		}
		return x.Link(strings.TrimSuffix(path+"?"+q.Encode(), "?"))
	}
	p := Pager{BackText: "Newest", BackRel: "first", OnwardText: "Older"}
	if req.Cursor != nil {
		p.Back = address(nil)
	}
	if next != nil {
		p.Onward = address(next)
	}
	return p
}
