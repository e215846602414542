package dispatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/platform/secretbox"
	"stithy/internal/runner"
)

// The names of these headers are in every runner, whatever the service is
// called.
const (
	headerLastUpdate = "X-GitLab-Last-Update"
	headerInterval   = "X-GitLab-Trace-Update-Interval"
	headerStatus     = "Job-Status"
	headerJobToken   = "Job-Token"
	headerRunner     = "Runner-Token"
)

// Endpoints of the room.
func (s *Service) Endpoints() []httpapi.Endpoint {
	return slices.Concat([]httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "POST /jobs/request", Needs: access.BySecret, Status: http.StatusCreated, Summary: "Ask for a job, as a runner.",
			ExtraRefusals: "needs the token of a runner", Note: "Waits for a job for a while; 204 when there is none.",
		}, s.handleRequest),
	}, s.jobEndpoints(), s.tokenEndpoints())
}

type infoParams struct {
	Name         string         `param:"name" doc:"Name of the program"`
	Version      string         `param:"version" doc:"Its version"`
	Revision     string         `param:"revision" doc:"Its revision"`
	Platform     string         `param:"platform" doc:"Operating system"`
	Architecture string         `param:"architecture" doc:"Architecture"`
	Executor     string         `param:"executor" doc:"How jobs are run"`
	Shell        string         `param:"shell" doc:"What scripts are run by"`
	Features     map[string]any `param:"features" doc:"What the runner can do"`
	Config       map[string]any `param:"config" doc:"How the runner is set up"`
}

type requestParams struct {
	Token      string         `param:"token" doc:"Token of the runner"`
	SystemID   string         `param:"system_id" doc:"ID of the machine"`
	LastUpdate string         `param:"last_update" doc:"Value of the header X-GitLab-Last-Update of the last answer"`
	Info       infoParams     `param:"info" doc:"What the machine says of itself"`
	Session    map[string]any `param:"session" doc:"Where the job can be watched"`
}

func (p *infoParams) features() Features {
	f := Features{}
	for name, value := range p.Features {
		f[name] = value == true
	}
	return f
}

// jobReply is a job, or that there is none and when that was.
type jobReply = httpapi.WithHeaders[httpapi.Either[Payload, httpapi.NothingAvailable]]

func (s *Service) handleRequest(ctx context.Context, call httpapi.Call[httpapi.None, requestParams]) (reply httpapi.Later[jobReply], _ error) {
	p := call.Params
	secret := p.Token
	if secret == "" {
		secret = call.Header(headerRunner)
	}
	r, _, err := s.deps.Runners.Authenticate(ctx, secret, p.SystemID, runner.Info{
		Name: p.Info.Name, Version: p.Info.Version, Revision: p.Info.Revision, Platform: p.Info.Platform, Architecture: p.Info.Architecture,
		Executor: p.Info.Executor, Address: call.Actor.Address.String(),
	})
	if err != nil {
		return reply, err
	}
	v := s.poll(JobRequest{Runner: r, Features: p.Info.features(), Cursor: p.LastUpdate, Secret: secretbox.Secret(secret)})
	return v.answer(v.first(ctx))
}

// answer is what a runner hears after a look: its job, or that there is none.
// Before that it waits, and then there is another look.
func (v *poll) answer(given *Payload, over bool, err error) (reply httpapi.Later[jobReply], _ error) {
	var now jobReply
	switch {
	case errors.Is(err, context.Canceled):
		return reply, fault.New(fault.Unavailable)
	case err != nil:
		return reply, err
	case given != nil:
		now.Body = now.Body.One(*given)
		return reply.Now(now), nil
	case over:
		now.Body, now.Header = now.Body.Other(httpapi.NothingAvailable{}), map[string]string{headerLastUpdate: v.cursor()}
		return reply.Now(now), nil
	}
	return reply.Wait(httpapi.Wait[jobReply]{
		Of: fmt.Sprint("runner ", v.request.Runner.ID), Hold: v.until.Sub(v.s.deps.Clock.Now()), Begin: v.place.listen,
		Then: func(ctx context.Context) (httpapi.Later[jobReply], error) { return v.answer(v.next(ctx)) },
	}), nil
}
