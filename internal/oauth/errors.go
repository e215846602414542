package oauth

import "errors"

// Code is an error as the protocol names it.
type Code string

const (
	InvalidRequest          Code = "invalid_request"
	InvalidClient           Code = "invalid_client"
	InvalidGrant            Code = "invalid_grant"
	InvalidScope            Code = "invalid_scope"
	InvalidToken            Code = "invalid_token"
	InvalidRedirectURI      Code = "invalid_redirect_uri"
	InvalidChallenge        Code = "invalid_code_challenge_method"
	UnauthorizedClient      Code = "unauthorized_client"
	UnsupportedGrantType    Code = "unsupported_grant_type"
	UnsupportedResponseType Code = "unsupported_response_type"
	UnsupportedResponseMode Code = "unsupported_response_mode"
	AccessDenied            Code = "access_denied"
	LoginRequired           Code = "login_required"
	ConsentRequired         Code = "consent_required"
	ServerError             Code = "server_error"
	Unavailable             Code = "temporarily_unavailable"
)

// texts are what clients read beside each code, unless there is more to say.
var texts = map[Code]string{
	InvalidClient:           "Client authentication failed due to unknown client, no client authentication included, or unsupported authentication method.",
	InvalidGrant:            "The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client.",
	InvalidScope:            "The requested scope is invalid, unknown, or malformed.",
	InvalidToken:            "The access token is invalid",
	InvalidRedirectURI:      "The redirect URI included is not valid.",
	InvalidChallenge:        "The code challenge method must be S256.",
	UnauthorizedClient:      "The client is not authorized to perform this request using this method.",
	UnsupportedGrantType:    "The authorization grant type is not supported by the authorization server.",
	UnsupportedResponseType: "The authorization server does not support this response type.",
	UnsupportedResponseMode: "The authorization server does not support this response mode.",
	AccessDenied:            "The resource owner or authorization server denied the request.",
	LoginRequired:           "The authorization server requires end-user authentication.",
	ConsentRequired:         "The authorization server requires end-user consent.",
	ServerError:             "The authorization server encountered an unexpected condition which prevented it from fulfilling the request.",
	Unavailable:             "The authorization server is currently unable to handle the request.",
}

// Error is an error in the words of the protocol, safe to show.
type Error struct {
	Code Code
	Text string
}

func (r *Error) Error() string { return string(r.Code) + ": " + r.Text }

func refuse(code Code) error { return &Error{Code: code, Text: texts[code]} }

func missing(param string) error {
	return &Error{Code: InvalidRequest, Text: "Missing required parameter: " + param + "."}
}

// Refused is the refusal in err's chain; ok is false for any other error.
func Refused(err error) (r *Error, ok bool) { return errors.AsType[*Error](err) }
