package app

import (
	"log/slog"

	"stithy/internal/gitstore"
	"stithy/internal/kit/httpapi"
	"stithy/internal/kit/wire"
	"stithy/internal/platform/blob"
	"stithy/internal/platform/clock"
	"stithy/internal/platform/config"
	"stithy/internal/platform/postgres"
	"stithy/internal/platform/secretbox"
)

// Documents are what follows from the registry, by file name.
func Documents() (map[string][]byte, error) {
	cfg, err := config.Load("", nil)
	if err != nil {
		return nil, err
	}
	// Nothing is asked of the database and the stores.
	db, store, blobs := &postgres.DB{}, &gitstore.Store{}, struct{ blob.Store }{}
	a, err := Assemble(Parts{
		Config: cfg, Log: slog.New(slog.DiscardHandler), Clock: clock.System(), DB: db, Box: secretbox.Random(), Store: store, Blobs: blobs,
	})
	if err != nil {
		return nil, err
	}
	endpoints := a.Endpoints()
	openapi, err := httpapi.OpenAPI(a.info(), endpoints)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"openapi.yaml":   openapi,
		"routes.txt":     []byte(httpapi.Routes(endpoints)),
		"permissions.md": []byte(httpapi.Permissions(endpoints)),
	}, nil
}

// info heads the documents.
func (a *App) info() httpapi.Info {
	return httpapi.Info{Title: "Stithy API", Version: "4", ServerURL: a.Config.ExternalURL.String() + "/api/v4", SessionCookie: wire.Names(a.Config.Identifiers).SessionCookie()}
}
