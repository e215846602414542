"""Debian's authlib against a running forge: the code flow with PKCE and with a
secret, refresh, revocation, the password grant. The person's part is played by
a real browser (node/consent.mjs)."""

import os
import subprocess
import sys

from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt
from authlib.oidc.core import CodeIDToken

host, callback = os.environ["TOUR_URL"], os.environ["TOUR_CALLBACK"]
login, password = os.environ["TOUR_LOGIN"], os.environ["TOUR_PASSWORD"]


def equal(what, got, want):
    if got != want:
        sys.exit(f"authlib: {what}: got {got!r}, want {want!r}")


def consent(url):
    done = subprocess.run(["node", "node/consent.mjs", url, callback], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def session(**more):
    return OAuth2Session(redirect_uri=callback, scope="openid profile email api", token_endpoint=f"{host}/oauth/token", **more)


clients = {
    "client_secret_basic": dict(client_id=os.environ["TOUR_CLIENT"], client_secret=os.environ["TOUR_SECRET"]),
    "client_secret_post": dict(client_id=os.environ["TOUR_CLIENT"], client_secret=os.environ["TOUR_SECRET"]),
    "none": dict(client_id=os.environ["TOUR_PUBLIC_CLIENT"]),
}
for method, known in clients.items():
    metadata = session().request("GET", f"{host}/.well-known/openid-configuration", withhold_token=True).json()
    app = session(token_endpoint_auth_method=method, code_challenge_method="S256", **known)
    verifier, nonce = generate_token(48), generate_token()
    pkce = {"code_verifier": verifier} if method != "client_secret_post" else {}
    url, state = app.create_authorization_url(metadata["authorization_endpoint"], nonce=nonce, **pkce)
    back = consent(url)
    token = app.fetch_token(metadata["token_endpoint"], authorization_response=back, state=state, **pkce)
    equal("lifetime", token["expires_in"], 7200)
    keys = JsonWebKey.import_key_set(app.get(metadata["jwks_uri"], withhold_token=True).json())
    claims = jwt.decode(
        token["id_token"], keys, claims_cls=CodeIDToken,
        claims_options={"iss": {"value": host}, "aud": {"value": known["client_id"]}}, claims_params={"nonce": nonce},
    )
    claims.validate()
    equal("userinfo", app.get(metadata["userinfo_endpoint"]).json()["nickname"], login)
    equal("the API", app.get(f"{host}/api/v4/user").json()["username"], login)
    old = token["access_token"]
    fresh = app.refresh_token(metadata["token_endpoint"], refresh_token=token["refresh_token"])
    equal("a new token", fresh["access_token"] != old, True)
    equal("revocation", app.revoke_token(metadata["revocation_endpoint"], token=fresh["refresh_token"]).json(), {})
    app.token = fresh
    equal("after revocation", app.get(f"{host}/api/v4/user", withhold_token=True, headers={"Authorization": f"Bearer {fresh['access_token']}"}).status_code, 401)
    print(f"authlib: {method}, done")

plain = OAuth2Session(client_id=os.environ["TOUR_CLIENT"], client_secret=os.environ["TOUR_SECRET"], scope="api")
token = plain.fetch_token(f"{host}/oauth/token", username=login, password=password, grant_type="password")
equal("a refresh token for a password", "refresh_token" in token, False)
equal("the API by password", plain.get(f"{host}/api/v4/user").json()["username"], login)
try:
    plain.fetch_token(f"{host}/oauth/token", username=login, password=password + "!", grant_type="password")
    sys.exit("authlib: a wrong password was taken")
except OAuthError as refused:
    equal("refusal", refused.error, "invalid_grant")
print("authlib: password, done")
