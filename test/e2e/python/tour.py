"""python-gitlab, as Debian ships it, against a running forge.

The first difference ends the tour with a message and a status other than 0.
"""

import base64
import datetime
import os
import sys

import gitlab
import requests

URL = os.environ["TOUR_URL"]
TOKEN = os.environ["TOUR_TOKEN"]
PASSWORD = os.environ["TOUR_PASSWORD"]
VALUE = os.environ["TOUR_VALUE"]
SSH_KEYS = os.environ["TOUR_SSH_KEYS"].split("\n")
GPG_KEY = os.environ["TOUR_GPG_KEY"]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

gl = gitlab.Gitlab(URL, private_token=TOKEN)


def step(text):
    print("python:", text, flush=True)


def equal(what, got, want):
    if got != want:
        sys.exit(f"python: {what}: got {got!r}, want {want!r}")


def true(what, holds):
    if not holds:
        sys.exit(f"python: {what}: does not hold")


def refused(what, code, message, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except gitlab.exceptions.GitlabError as e:
        equal(what + ", status", e.response_code, code)
        equal(what + ", message", e.error_message, message)
        return
    sys.exit(f"python: {what}: was not refused")


def person(username, **attributes):
    return gl.users.create(
        {
            "username": username,
            "name": username.title(),
            "email": f"{username}@example.com",
            "force_random_password": True,
            "skip_confirmation": True,
            **attributes,
        }
    )


def client_of(user, *scopes):
    made = user.personal_access_tokens.create({"name": "tour", "scopes": list(scopes)})
    return gitlab.Gitlab(URL, private_token=made.token)


step("who am I")
gl.auth()
equal("current user", gl.user.username, "root")
true("an administrator", gl.user.is_admin)
version, revision = gl.version()
true("a version", version != "unknown")
refused(
    "an unknown token", 401, "401 Unauthorized",
    gitlab.Gitlab(URL, private_token="unknown").auth,
)

step("accounts")
ann = person("ann", bio="writes", location="Here", external=True, projects_limit=3)
equal("username", ann.username, "ann")
equal("bio", ann.bio, "writes")
equal("external", ann.external, True)
equal("created by", ann.created_by["username"], "root")
equal("read again", gl.users.get(ann.id).email, "ann@example.com")
# save sends email, username and name every time, as they are.
ann.name, ann.bio = "Ann Lee", "reads"
ann.save()
equal("name", gl.users.get(ann.id).name, "Ann Lee")
equal("bio", gl.users.get(ann.id).bio, "reads")
bob = gl.users.create(
    {"username": "bob", "name": "Bob", "email": "bob@example.com", "password": PASSWORD, "skip_confirmation": True}
)
refused(
    "a taken email", 409, "Email has already been taken",
    gl.users.create,
    {"username": "bob2", "name": "Bob", "email": "bob@example.com", "reset_password": True},
)
refused(
    "a taken username", 409, "Username has already been taken",
    gl.users.create,
    {"username": "BOB", "name": "Bob", "email": "bob2@example.com", "reset_password": True},
)
refused(
    "no password", 400,
    "password, reset_password, force_random_password are missing, at least one parameter must be provided",
    gl.users.create,
    {"username": "cy", "name": "Cy", "email": "cy@example.com"},
)
refused(
    "a short password", 400, {"password": ["is too short (minimum is 8 characters)"]},
    gl.users.create,
    {"username": "cy", "name": "Cy", "email": "cy@example.com", "password": "x7!qZ"},
)
refused("nobody", 404, "404 User Not Found", gl.users.get, 1 << 40)

step("pictures")
bob.avatar = PIXEL
bob.save()
bob = gl.users.get(bob.id)
true("an avatar", bob.avatar_url.startswith(URL))
picture = requests.get(bob.avatar_url, timeout=30)
equal("status of the avatar", picture.status_code, 200)
equal("type of the avatar", picture.headers["content-type"], "image/png")

step("lists")
for i in range(5):
    person(f"lister-{i}")
equal("by username", [u.username for u in gl.users.list(username="ANN")], ["ann"])
equal(
    "by search, in order",
    [u.username for u in gl.users.list(search="lister-", order_by="username", sort="asc")],
    [f"lister-{i}" for i in range(5)],
)
equal("external", [u.username for u in gl.users.list(external=True)], ["ann"])
pages = gl.users.list(iterator=True, per_page=2, search="lister-", order_by="id", sort="asc")
equal("total", pages.total, 5)
equal("pages", pages.total_pages, 3)
equal("all pages", [u.username for u in pages], [f"lister-{i}" for i in range(5)])
walk = gl.users.list(iterator=True, per_page=2, search="lister-", pagination="keyset", order_by="id", sort="asc")
equal("keyset", [u.username for u in walk], [f"lister-{i}" for i in range(5)])
refused("an unknown order", 400, "order_by does not have a valid value", gl.users.list, order_by="bio")

step("states")
equal("block", ann.block(), True)
equal("block again", ann.block(), None)
equal("blocked", gl.users.get(ann.id).state, "blocked")
equal("blocked list", [u.username for u in gl.users.list(blocked=True)], ["ann"])
refused(
    "activate a blocked one", 403, "Error occurred. A blocked user must be unblocked to be activated", ann.activate
)
equal("unblock", ann.unblock(), True)
equal("unblock again", ann.unblock(), False)
equal("deactivate", ann.deactivate(), True)
refused(
    "unblock a deactivated one", 403,
    "403 Forbidden - Deactivated users cannot be unblocked by the API", ann.unblock,
)
equal("activate", ann.activate(), True)
equal("ban", ann.ban(), True)
refused("ban again", 403, "You cannot ban banned users.", ann.ban)
equal("unban", ann.unban(), True)
refused("approve", 409, "The user you are trying to approve is not pending approval", ann.approve)
refused("reject", 409, "User does not have a pending request", ann.reject)
refused(
    "block oneself", 403,
    "403 Forbidden - The API initiating user cannot be blocked by the API", gl.users.get(gl.user.id).block,
)

step("following")
as_ann = client_of(ann, "api")
as_ann.auth()
equal("follow", as_ann.users.get(bob.id).follow()["username"], "bob")
equal("followers", [u.username for u in gl.users.get(bob.id).followers_users.list()], ["ann"])
equal("following", [u.username for u in gl.users.get(ann.id).following_users.list()], ["bob"])
equal("unfollow", as_ann.users.get(bob.id).unfollow()["username"], "bob")
equal("no followers", gl.users.get(bob.id).followers_users.list(), [])

step("sudo")
as_root = gl.http_get("/user", sudo="ann")
equal("sudo", as_root["username"], "ann")
refused(
    "sudo without rank", 403, "403 Forbidden - Must be admin to use sudo",
    as_ann.http_get, "/user", sudo="root",
)
refused(
    "sudo as nobody", 404, "404 User with ID or username 'nobody-here' Not Found",
    gl.http_get, "/user", sudo="nobody-here",
)

step("addresses")
mine = as_ann.user.emails.create({"email": "ann2@example.com"})
equal("not confirmed", mine.confirmed_at, None)
given = ann.emails.create({"email": "ann3@example.com", "skip_confirmation": True})
true("confirmed", given.confirmed_at)
equal("own addresses", [e.email for e in as_ann.user.emails.list()], ["ann2@example.com", "ann3@example.com"])
equal("addresses", [e.email for e in ann.emails.list()], ["ann2@example.com", "ann3@example.com"])
equal("one address", as_ann.user.emails.get(mine.id).email, "ann2@example.com")
mine.delete()
given.delete()
refused("an address that is gone", 404, "404 Email Not Found", as_ann.user.emails.get, mine.id)

step("SSH keys")
mine = as_ann.user.keys.create({"title": "laptop", "key": SSH_KEYS[0]})
given = ann.keys.create({"title": "desk", "key": SSH_KEYS[1]})
equal("own keys", [k.title for k in as_ann.user.keys.list()], ["laptop", "desk"])
equal("keys", [k.title for k in ann.keys.list()], ["laptop", "desk"])
equal("one key", as_ann.user.keys.get(mine.id).usage_type, "auth_and_signing")
equal("key with its user", gl.keys.get(mine.id).user["username"], "ann")
refused(
    "a key twice", 400, {"fingerprint_sha256": ["has already been taken"]},
    as_ann.user.keys.create, {"title": "again", "key": SSH_KEYS[0]},
)
mine.delete()
given.delete()
equal("no keys", as_ann.user.keys.list(), [])

step("GPG keys")
mine = as_ann.user.gpgkeys.create({"key": GPG_KEY})
equal("own GPG keys", [k.id for k in as_ann.user.gpgkeys.list()], [mine.id])
equal("GPG keys", [k.id for k in ann.gpgkeys.list()], [mine.id])
true("one GPG key", as_ann.user.gpgkeys.get(mine.id).key.startswith("-----BEGIN PGP"))
mine.delete()
refused("a GPG key that is gone", 404, "404 GPG Key Not Found", as_ann.user.gpgkeys.get, mine.id)

step("status")
status = as_ann.user.status.get()
equal("no status", status.message, None)
status.message, status.emoji = "a break", "coffee"
status.save()
equal("status", gl.users.get(ann.id).status.get().message, "a break")

step("custom attributes")
bob.customattributes.set("desk", "4")
equal("attribute", bob.customattributes.get("desk").value, "4")
equal("attributes", [(a.key, a.value) for a in bob.customattributes.list()], [("desk", "4")])
equal("by attribute", [u.username for u in gl.users.list(custom_attributes={"desk": "4"})], ["bob"])
bob.customattributes.delete("desk")
refused("an attribute that is gone", 404, "404 Not found", bob.customattributes.get, "desk")

step("identities")
eve = person("eve", provider="saml", extern_uid="eve-1")
equal("identity", eve.identities[0]["extern_uid"], "eve-1")
eve.identityproviders.delete("saml")
equal("no identity", gl.users.get(eve.id).identities, [])

step("personal access tokens")
day = (datetime.datetime.utcnow() + datetime.timedelta(days=20)).strftime("%Y-%m-%d")
made = bob.personal_access_tokens.create({"name": "cli", "scopes": ["api"], "expires_at": day})
equal("expiry", made.expires_at, day)
as_bob = gitlab.Gitlab(URL, private_token=made.token)
as_bob.auth()
equal("who", as_bob.user.username, "bob")
equal("self", as_bob.http_get("/personal_access_tokens/self")["id"], made.id)
equal("of user", [t.id for t in gl.personal_access_tokens.list(user_id=bob.id)], [made.id])
rotated = gl.http_post(f"/personal_access_tokens/{made.id}/rotate")
true("a new token", rotated["token"] != made.token)
refused(
    "the old token", 401, "401 Unauthorized", as_bob.auth,
)
gl.personal_access_tokens.delete(rotated["id"])
equal("revoked", [t.id for t in gl.personal_access_tokens.list(user_id=bob.id, revoked=False)], [])
refused(
    "no scopes", 400, "scopes does not have a valid value",
    bob.personal_access_tokens.create, {"name": "cli", "scopes": ["everything"]},
)

step("impersonation tokens")
made = bob.impersonationtokens.create({"name": "play", "scopes": ["api"], "expires_at": day})
true("impersonation", made.impersonation)
player = gitlab.Gitlab(URL, private_token=made.token)
player.auth()
equal("player", player.user.username, "bob")
equal("active ones", [t.id for t in bob.impersonationtokens.list(state="active")], [made.id])
made.delete()
equal("revoked ones", [t.id for t in bob.impersonationtokens.list(state="inactive")], [made.id])

step("instance variables")
made = gl.variables.create({"key": "TOUR", "value": VALUE, "masked": True})
equal("value", gl.variables.get("TOUR").value, VALUE)
made.value = VALUE + "-2"
made.save()
equal("values", [v.value for v in gl.variables.list()], [VALUE + "-2"])
refused("a bad key", 400, {"key": ["can contain only letters, digits and '_'."]}, gl.variables.create, {"key": "A-B", "value": VALUE})
made.delete()
refused("a variable that is gone", 404, "404 InstanceVariable Not Found", gl.variables.get, "TOUR")
refused("variables for others", 403, "403 Forbidden", as_ann.variables.list)

step("settings")
settings = gl.settings.get()
equal("sign-up", settings.signup_enabled, True)
settings.signup_enabled = False
settings.save()
equal("no sign-up", gl.settings.get().signup_enabled, False)
settings.signup_enabled = True
settings.save()

step("features")
feature = gl.features.set("of_the_tour", True)
equal("on", feature.state, "on")
equal("features", [f.name for f in gl.features.list()], ["of_the_tour"])
feature.delete()
equal("no features", gl.features.list(), [])

step("activities")
true("activities", isinstance(gl.user_activities.list(), list))

step("deletion")
eve.delete()
refused("eve", 404, "404 User Not Found", gl.users.get, eve.id)
ann.delete(hard_delete=True)
refused("ann", 404, "404 User Not Found", gl.users.get, ann.id)

step("done")
