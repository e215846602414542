package app

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"stithy/internal/platform/lifecycle"
	"stithy/internal/platform/telemetry"
)

// Roles are what a process can be; by default it is all of them.
var Roles = []string{"web", "ssh", "worker", "pages"}

// CheckRoles refuses a role that is not known.
func CheckRoles(roles []string) error {
	for _, role := range roles {
		if !slices.Contains(Roles, role) {
			return fmt.Errorf("unknown role %q: choose from %v", role, Roles)
		}
	}
	return nil
}

// Serve runs the roles until ctx ends. ready is called when the process takes
// requests.
func (a *App) Serve(ctx context.Context, roles []string, ready func(addr string)) error {
	parts := []lifecycle.Component{
		{Name: "database", Start: a.Ready},
		loop("settings", a.Settings.Watch),
		loop("disks", a.disks.Watch),
		a.Tokens.Part(),
		a.Runners.Part(),
	}
	if slices.Contains(roles, "worker") {
		parts = append(parts, lifecycle.Component{Name: "jobs", Start: a.Queue.Start, Stop: a.Queue.Stop})
	}
	if slices.Contains(roles, "ssh") && a.Config.SSH.Listen != "" {
		parts = append(parts, a.sshDoor().Part())
	}
	if slices.Contains(roles, "pages") && a.Pages.On() && a.Config.Pages.Listen != "" {
		parts = append(parts, lifecycle.HTTP("pages", a.Config.Pages.Listen, a.SiteHandler(), a.Log, a.httpOptions()).Component())
	}
	if slices.Contains(roles, "web") {
		parts = append(parts, loop("waiting runners", a.Dispatch.Watch))
		options := a.httpOptions()
		if a.Config.TLS.Auto {
			options.TLS = a.tlsConfig()
		}
		server := lifecycle.HTTP("web", a.Config.Listen, a.Handler(), a.Log, options)
		if a.Config.TLS.Auto {
			parts = append(parts, a.secured(server.Component())...)
		} else {
			parts = append(parts, server.Component())
		}
		parts = append(parts, lifecycle.Component{Name: "ready", Start: func(context.Context) error {
			ready(server.Addr().String())
			return nil
		}}, a.drain.Component())
	}
	return lifecycle.Run(ctx, a.Log, a.Config.DrainDelay+a.Config.ShutdownGrace, parts...)
}

func (a *App) httpOptions() lifecycle.HTTPOptions {
	return lifecycle.HTTPOptions{
		Stall: a.Config.HTTP.Stall, PerAddress: a.Config.HTTP.ConnectionsPerAddress,
		// A proxy of this machine may be one that nobody told us of.
		Exempt: func(from netip.Addr) bool {
			return from.IsLoopback() || slices.ContainsFunc(a.Config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(from) })
		},
		Refused: func(from netip.Prefix) {
			a.Log.Warn("an address has too many connections: if it is a proxy, name it in trusted_proxies, else raise http.connections_per_address",
				"address", from.String(), "most", a.Config.HTTP.ConnectionsPerAddress, telemetry.CauseKey, "connections")
		},
	}
}
