package dispatch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"stithy/internal/artifact"
	"stithy/internal/kit/access"
	"stithy/internal/kit/fault"
	"stithy/internal/kit/httpapi"
	"stithy/internal/pipeline"
)

// jobEndpoints are what a runner says and asks while it has a job. Each is
// bound to the job by its token; nothing else of the runner counts.
func (s *Service) jobEndpoints() []httpapi.Endpoint {
	const also = "needs the token of the job, while it runs"
	return []httpapi.Endpoint{
		httpapi.Do(httpapi.Spec{
			Route: "PATCH /jobs/{id:digits}/trace", Needs: access.BySecret, Status: http.StatusAccepted, Streams: true, ExtraRefusals: also,
			Summary: "Append to the log of a job, as its runner.",
		}, s.handleTrace),
		httpapi.Do(httpapi.Spec{
			Route: "PUT /jobs/{id:digits}", Needs: access.BySecret, ExtraRefusals: also, Summary: "Say how a job fares, as its runner.",
		}, s.handleState),
		httpapi.Do(httpapi.Spec{
			Route: "POST /jobs/{id:digits}/artifacts/authorize", Needs: access.BySecret, ExtraRefusals: also,
			Summary: "Ask whether a file of a job would be taken.",
		}, s.handleAuthorize),
		httpapi.Do(httpapi.Spec{
			Route: "POST /jobs/{id:digits}/artifacts", Needs: access.BySecret, Status: http.StatusCreated, Streams: true, ExtraRefusals: also,
			Summary: "Hand in a file of a job, as its runner.", Note: "The file is the part `file` of a multipart body.",
		}, s.handleUpload),
		httpapi.Do(httpapi.Spec{
			Route: "GET /jobs/{id:digits}/artifacts", Needs: access.BySecret, ExtraRefusals: "needs the token of a running job that may read them",
			Summary: "Fetch the archive of a job, for one that depends on it.",
		}, s.handleDownload),
	}
}

type jobRef struct {
	ID int64 `param:"id" doc:"ID of the job"`
}

// presented is the token of a request: in a header, or among its parameters.
func presented[P any](call httpapi.Call[httpapi.None, P], param string) string {
	if param != "" {
		return param
	}
	return call.Header(headerJobToken)
}

// answer is what every answer to a runner says of its job.
func answer(status pipeline.Status, more ...string) map[string]string {
	h := map[string]string{headerStatus: string(status)}
	for i := 0; i+1 < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return h
}

// toRunner is a failure with what a runner has to know of its job.
func toRunner(err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		return httpapi.FaultWith(r.error, answer(r.status))
	}
	return err
}

type traceParams struct {
	jobRef
	DebugTrace bool   `param:"debug_trace" doc:"The log may hold more than the job wrote"`
	Token      string `param:"token" doc:"Token of the job, instead of the header JOB-TOKEN"`
}

// maxPatch is more than a runner sends at once.
const maxPatch = 32 << 20

func (s *Service) handleTrace(ctx context.Context, call httpapi.Call[httpapi.None, traceParams]) (httpapi.WithHeaders[int], error) {
	none := httpapi.WithHeaders[int]{}
	r, err := s.runOf(ctx, call.Params.ID, presented(call, call.Params.Token))
	if err != nil {
		return none, toRunner(err)
	}
	given := call.Header("Content-Range")
	if given == "" {
		return none, fault.WithMessage(fault.BadParams, "400 Missing header Content-Range")
	}
	start, _, _ := strings.Cut(given, "-")
	offset, err := strconv.ParseInt(start, 10, 64)
	if err != nil || offset < 0 {
		return none, fault.WithMessage(fault.BadParams, "400 Missing header Content-Range")
	}
	piece, err := io.ReadAll(call.Body(maxPatch))
	if err != nil {
		return none, fault.New(fault.TooLarge)
	}
	if call.Params.DebugTrace {
		if err := s.deps.Pipelines.MarkDebugLog(ctx, r.JobID); err != nil {
			return none, err
		}
	}
	size, err := s.append(ctx, r, offset, piece)
	if at, moved := errors.AsType[*artifact.OffsetError](err); moved {
		return none, httpapi.FaultWith(fault.New(fault.OutOfRange), answer(r.Status, "Range", span(at.Size)))
	}
	if err != nil {
		return none, toRunner(err)
	}
	return httpapi.WithHeaders[int]{
		Body: http.StatusAccepted, Header: answer(r.Status, "Range", span(size), headerInterval, s.interval(r)),
	}, nil
}

// span is the part of a log that is there. Runners take its end for the size.
func span(size int64) string { return "0-" + strconv.FormatInt(size, 10) }

type stateParams struct {
	jobRef
	Token         string           `param:"token" doc:"Token of the job"`
	State         string           `param:"state" doc:"running, success or failed"`
	FailureReason string           `param:"failure_reason" doc:"Why it failed"`
	Checksum      string           `param:"checksum" doc:"Deprecated, use output"`
	Output        outputParams     `param:"output" doc:"The log that was sent"`
	ExitCode      httpapi.Opt[int] `param:"exit_code" doc:"What the script ended with"`
	DebugTrace    bool             `param:"debug_trace" doc:"The log may hold more than the job wrote"`
	Info          infoParams       `param:"info" doc:"What the machine says of itself"`
}

type outputParams struct {
	Checksum string             `param:"checksum" doc:"CRC32 of the log"`
	Bytesize httpapi.Opt[int64] `param:"bytesize" doc:"Size of the log"`
}

func (s *Service) handleState(ctx context.Context, call httpapi.Call[httpapi.None, stateParams]) (httpapi.WithHeaders[int], error) {
	p := call.Params
	none := httpapi.WithHeaders[int]{}
	r, err := s.runOf(ctx, p.ID, presented(call, p.Token))
	if err != nil {
		return none, toRunner(err)
	}
	if p.DebugTrace {
		if err := s.deps.Pipelines.MarkDebugLog(ctx, r.JobID); err != nil {
			return none, err
		}
	}
	switch p.State {
	case "running":
	case "success", "failed":
		o := pipeline.Outcome{State: pipeline.Status(p.State), Reason: pipeline.Reason(p.FailureReason), ExitCode: p.ExitCode.Ptr()}
		if r.Status, err = s.finish(ctx, r, o, p.Output.Bytesize.Ptr()); err != nil {
			return none, toRunner(err)
		}
	default:
		return none, fault.WithMessage(fault.Rejected, "400 Bad request")
	}
	return httpapi.WithHeaders[int]{Body: http.StatusOK, Header: answer(r.Status, headerInterval, s.interval(r))}, nil
}

type uploadParams struct {
	jobRef
	Token         string `param:"token" doc:"Token of the job, instead of the header JOB-TOKEN"`
	ArtifactType  string `param:"artifact_type" default:"archive" doc:"What the file is"`
	Format        string `param:"artifact_format" enum:"zip,gzip,raw" default:"zip" doc:"How it is packed"`
	ExpireIn      string `param:"expire_in" doc:"When it may go"`
	Accessibility string `param:"accessibility" enum:"public,private" default:"public" doc:"Who may fetch it"`
	Filesize      int64  `param:"filesize" doc:"Its size, as far as known"`
}

// maxUpload is more than any limit on files; the room of files knows which
// one counts.
const maxUpload = 64 << 30

func (s *Service) handleUpload(ctx context.Context, call httpapi.Call[httpapi.None, uploadParams]) (int, error) {
	p := call.Params
	r, err := s.runOf(ctx, p.ID, presented(call, p.Token))
	if err != nil {
		return 0, toRunner(err)
	}
	if err := artifact.CheckType(p.ArtifactType); err != nil {
		return 0, err
	}
	f, err := call.File("file", maxUpload)
	if err != nil {
		return 0, err
	}
	return http.StatusCreated, s.store(ctx, r, Upload{
		Type: p.ArtifactType, Format: artifact.Format(p.Format), Filename: f.Name, ExpireIn: p.ExpireIn, Private: p.Accessibility == "private",
	}, f)
}

func (s *Service) handleAuthorize(ctx context.Context, call httpapi.Call[httpapi.None, uploadParams]) (map[string]any, error) {
	_, err := s.runOf(ctx, call.Params.ID, presented(call, call.Params.Token))
	if err == nil {
		err = artifact.CheckType(call.Params.ArtifactType)
	}
	return map[string]any{}, toRunner(err)
}

type downloadParams struct {
	jobRef
	Token          string `param:"token" doc:"Token of the job, instead of the header JOB-TOKEN"`
	DirectDownload bool   `param:"direct_download" doc:"The client follows to where the file is kept"`
}

func (s *Service) handleDownload(ctx context.Context, call httpapi.Call[httpapi.None, downloadParams]) (httpapi.Stream, error) {
	f, err := s.archive(ctx, presented(call, call.Params.Token), call.Params.ID)
	if err != nil {
		return httpapi.Stream{}, err
	}
	return httpapi.Stream{
		Name: f.Filename, Type: "application/zip", Attach: true, Size: f.Size,
		Open: func(ctx context.Context) (io.ReadCloser, error) { return s.deps.Artifacts.Open(ctx, *f) },
	}, nil
}
