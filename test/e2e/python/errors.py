"""The Python SDK, as Debian ships it, reports errors to the connection string that the forge issues.

The first difference ends the tour with a message and a status other than 0.
"""

import os
import sys

import requests
import sentry_sdk

answers = []


def step(text):
    print("python:", text, flush=True)


def equal(what, got, want):
    if got != want:
        sys.exit(f"python: {what}: got {got!r}, want {want!r}")


def api(method, path, **body):
    answer = requests.request(
        method, os.environ["TOUR_URL"] + "/api/v4" + path, json=body or None, headers={"PRIVATE-TOKEN": os.environ["TOUR_TOKEN"]}, timeout=60
    )
    if not answer.ok:
        sys.exit(f"python: {method} {path}: {answer.status_code} {answer.text}")
    return answer.json()


def transport():
    return sentry_sdk.Hub.current.client.transport


def sent():
    sentry_sdk.flush(timeout=120)


project = api("POST", "/projects", name="Shop")["id"]
at = f"/projects/{project}/error_tracking"
api("PUT", at + "/settings", active=True, integrated=True, events_per_minute=100000)
key = api("GET", at + "/client_keys")[0]

step("errors, breadcrumbs and releases")


def begin(dsn):
    sentry_sdk.init(dsn, release="shop@1.4.0", environment="production", transport_queue_size=2000, shutdown_timeout=0)


def total(cart):
    return cart["sum"] / cart["count"]


def open_order(n):
    raise LookupError(f"order {n} is beyond the last")


def report(call, *args):
    try:
        call(*args)
    except Exception:
        sentry_sdk.capture_exception()


begin(key["errsvc_dsn"])
sentry_sdk.set_user({"id": "5", "email": "ann@example.com"})
sentry_sdk.set_tag("shard", "7")
sentry_sdk.add_breadcrumb(category="cart", message="opened cart 12", level="info")
report(total, {"sum": 5, "count": 0})
sent()
first = api("GET", at + "/errors?release=shop@1.4.0&environment=production")[0]
equal("error", [first[k] for k in ("name", "platform", "level", "events_count", "users_count")], ["ZeroDivisionError", "python", "error", 1, 1])
kept = api("GET", f"{at}/errors/{first['id']}/events")[0]["report"]
equal("breadcrumb", kept["breadcrumbs"][-1]["message"], "opened cart 12")
equal("tag", [t for t in kept["tags"] if t["name"] == "shard"], [{"name": "shard", "value": "7"}])
equal("address of the person", kept["user"], {"id": "5"})
frame = kept["exceptions"][0]["frames"][-1]
equal("innermost call", (frame["function"], frame["source"][frame["lineno"] - frame["first_line"]]), ("total", '    return cart["sum"] / cart["count"]'))

step("a thousand events in a burst")
for n in range(1000):
    sentry_sdk.set_user({"id": str(n % 10)})
    if n % 2:
        report(open_order, n)
    else:
        sentry_sdk.capture_message(f"job {n} took {n / 8} s", "warning")
sent()
got = sorted([e["name"].split(" ")[0], e["level"], e["events_count"], e["users_count"]] for e in api("GET", at + "/errors"))
equal("groups", got, [["LookupError", "error", 500, 5], ["ZeroDivisionError", "error", 1, 1], ["job", "warning", 500, 5]])

step("a quota that is spent")
api("PATCH", at + "/settings", active=True, events_per_minute=1)
for n in range(3):
    sentry_sdk.capture_message("too much, part " + "abc"[n])
    sent()
waits = transport()._disabled_until
equal("the SDK waits to report errors", "error" in waits, True)
before = len(api("GET", at + "/errors?per_page=100"))
sentry_sdk.capture_message("while it waits")
sent()
equal("errors", len(api("GET", at + "/errors?per_page=100")), before)

step("a replaced key")
api("PATCH", at + "/settings", active=True, events_per_minute=100000)
new = api("POST", at + "/client_keys")
begin(key["errsvc_dsn"])
sentry_sdk.capture_message("with the old key")
sent()
api("DELETE", f"{at}/client_keys/{key['id']}")
transport().on_dropped_event = answers.append
sentry_sdk.capture_message("with a deleted key")
sent()
equal("what the SDK hears", sorted(set(answers)), ["status_404"])
begin(new["errsvc_dsn"])
sentry_sdk.capture_message("with the new key")
sent()
names = [e["name"] for e in api("GET", at + "/errors?per_page=100")]
equal("what is kept", sorted(n for n in names if "key" in n or "waits" in n), ["with the new key", "with the old key"])

step("done")
