package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"stithy/internal/kit/fault"
	"stithy/internal/kit/paging"
)

// maxPage keeps page × per_page within an int. No list is that long.
const maxPage = 1 << 32

// Paging is embedded in the params of every list.
type Paging struct {
	Page    int `param:"page" default:"1" doc:"Page of the list, from 1"`
	PerPage int `param:"per_page" default:"20" doc:"Items on a page, 100 at the most"`

	maxOffset int // how deep the list goes by offset; 0 has no end
}

// reach is told what the instance allows.
func (p *Paging) reach(maxOffset int) { p.maxOffset = maxOffset }

// Request checks what the client asked for.
func (p Paging) Request() (paging.Request, error) {
	if p.PerPage == 0 {
		return paging.Request{}, fault.WithMessage(fault.BadParams, "per_page has a value not allowed")
	}
	if p.PerPage < 0 {
		return paging.Request{}, fault.WithMessage(fault.BadParams, "per_page does not have a valid value")
	}
	req := paging.Request{Page: min(max(p.Page, 1), maxPage), PerPage: min(p.PerPage, 100)}
	if p.maxOffset > 0 && req.Page*req.PerPage > p.maxOffset {
		return req, fault.WithMessage(fault.MethodNotAllowed, "Offset pagination has a maximum allowed offset of %d for this type of request.", p.maxOffset)
	}
	return req, nil
}

// KeysetPaging is embedded in the params of lists that offer both ways.
type KeysetPaging struct {
	Paging
	Pagination string `param:"pagination" doc:"keyset turns pages by cursor"`
	Cursor     string `param:"cursor" doc:"Where the page starts; taken from the Link header"`
}

// TokenPaging is embedded in the params of lists whose items have names that
// pages are turned by.
type TokenPaging struct {
	Paging
	Pagination string `param:"pagination" doc:"keyset turns pages by name"`
	PageToken  string `param:"page_token" doc:"Name after which the page begins; with keyset"`
}

// Request checks what the client asked for.
func (p TokenPaging) Request() (paging.Request, error) {
	req, err := p.Paging.Request()
	if req.Keyset = p.Pagination == "keyset"; req.Keyset && fault.Is(err, fault.MethodNotAllowed) {
		err = nil
	}
	return req, err
}

// Offer is what a list allows of keyset paging.
type Offer struct {
	Model   string   // the noun in refusals
	OrderBy []string // orders that have a cursor
	Sort    string   // the only direction, if there is one
}

// Request checks what the client asked for against what the list offers.
func (p KeysetPaging) Request(orderBy, sort string, offer Offer) (paging.Request, error) {
	req, err := p.Paging.Request()
	req.OrderBy, req.Desc = orderBy, sort != "asc"
	if p.Pagination != "keyset" {
		if fault.Is(err, fault.MethodNotAllowed) {
			return req, fault.WithMessage(fault.MethodNotAllowed, "Offset pagination has a maximum allowed offset of %d for requests that return objects of type %s. Remaining records can be retrieved using keyset pagination.", p.maxOffset, offer.Model)
		}
		return req, err
	}
	if fault.Is(err, fault.BadParams) {
		return req, err
	}
	offered := false
	for _, name := range offer.OrderBy {
		offered = offered || name == orderBy
	}
	if !offered || (offer.Sort != "" && offer.Sort != sort) {
		return req, fault.WithMessage(fault.MethodNotAllowed, "Keyset pagination is not yet available for this type of request")
	}
	req.Keyset = true
	if p.Cursor != "" {
		if req.Cursor, err = paging.Parse(p.Cursor); err != nil || req.Cursor.OrderBy != orderBy || req.Cursor.Desc != req.Desc {
			return req, fault.WithMessage(fault.BadParams, "cursor is invalid")
		}
	}
	return req, nil
}

// List is the reply of a list endpoint.
type List[T any] struct {
	paging.Result[T]
	Request paging.Request
}

// ListOf joins a page to what was asked for, each item presented.
func ListOf[T, U any](req paging.Request, res paging.Result[T], present func(T) U) List[U] {
	return List[U]{Result: paging.Map(res, present), Request: req}
}

// lister is a List of any item.
type lister interface {
	items() any
	position() position
}

// position is which part of a list a reply is, whatever it is a list of: the code for it is there once, not for each kind of item.
type position struct {
	paging.Result[struct{}]
	request paging.Request
	empty   bool
}

func (l List[T]) items() any {
	if l.Items == nil {
		return []T{}
	}
	return l.Items
}

func (l List[T]) position() position {
	return position{
		Result:  paging.Result[struct{}]{Total: l.Total, More: l.More, Next: l.Next, Token: l.Token, Last: l.Last},
		request: l.Request, empty: len(l.Items) == 0,
	}
}

// writeHeaders tells where the other pages are.
func (l position) writeHeaders(h http.Header, here *url.URL) {
	var links []string
	link := func(rel string, change func(url.Values)) {
		query := here.Query()
		change(query)
		for _, name := range secretParams {
			query.Del(name)
		}
		u := *here
		u.RawQuery = query.Encode()
		links = append(links, fmt.Sprintf(`<%s>; rel="%s"`, u.String(), rel))
	}
	if l.request.Keyset && l.request.ByID {
		if l.Last != 0 {
			after := "id_after"
			if l.request.Desc {
				after = "id_before"
			}
			link("next", func(q url.Values) {
				q.Set(after, strconv.FormatInt(l.Last, 10))
			})
			h["Link"] = links
		}
		return
	}
	if l.request.Keyset {
		switch {
		case l.Token != "":
			link("next", func(q url.Values) { q.Set("page_token", l.Token) })
		case l.Next != nil:
			link("next", func(q url.Values) { q.Set("cursor", l.Next.String()) })
		default:
			return
		}
		h["Link"] = links
		return
	}
	page, perPage := l.request.Page, l.request.PerPage
	pageLink := func(rel string, page int) {
		link(rel, func(q url.Values) {
			q.Set("page", strconv.Itoa(page))
			q.Set("per_page", strconv.Itoa(perPage))
		})
	}
	prev, next := "", ""
	if page > 1 && !l.empty {
		prev = strconv.Itoa(page - 1)
		pageLink("prev", page-1)
	}
	if l.More {
		next = strconv.Itoa(page + 1)
		pageLink("next", page+1)
	}
	pageLink("first", 1)
	if l.Counted() {
		pages := max(1, (l.Total+perPage-1)/perPage)
		pageLink("last", pages)
		h["X-Total"] = []string{strconv.Itoa(l.Total)}
		h["X-Total-Pages"] = []string{strconv.Itoa(pages)}
	}
	h["Link"] = []string{strings.Join(links, ", ")}
	h["X-Next-Page"] = []string{next}
	h["X-Page"] = []string{strconv.Itoa(page)}
	h["X-Per-Page"] = []string{strconv.Itoa(perPage)}
	h["X-Prev-Page"] = []string{prev}
}
