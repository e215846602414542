// openid-client against a running forge, as a confidential and as a public
// client. The first difference ends the script with a message.

import * as client from 'openid-client';
import assert from 'node:assert/strict';
import { authorize, host, launch, login } from './browser.mjs';

const { TOUR_CALLBACK: callback } = process.env;
const browser = await launch();

for (const [kind, id, secret] of [
  ['confidential', process.env.TOUR_CLIENT, process.env.TOUR_SECRET],
  ['public', process.env.TOUR_PUBLIC_CLIENT, undefined],
]) {
  const auth = secret ? client.ClientSecretBasic(secret) : client.None();
  const config = await client.discovery(new URL(host), id, undefined, auth, { execute: [client.allowInsecureRequests] });
  const verifier = client.randomPKCECodeVerifier();
  const [state, nonce] = [client.randomState(), client.randomNonce()];
  const to = client.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'openid profile email',
    state,
    nonce,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const page = await (await browser.newContext()).newPage();
  const back = await authorize(page, to.href, callback);
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
  const tokens = await client.authorizationCodeGrant(config, new URL(back), checks);
  assert.equal(tokens.token_type, 'bearer');
  assert.equal(tokens.expires_in, 7200);
  assert.equal(tokens.claims().nonce, nonce);
  const person = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
  assert.equal(person.nickname, login);
  assert.equal(person.email, `${login}@example.com`);
  const fresh = await client.refreshTokenGrant(config, tokens.refresh_token);
  assert.notEqual(fresh.access_token, tokens.access_token);
  await assert.rejects(client.fetchUserInfo(config, tokens.access_token, person.sub));
  if (secret) {
    const about = await client.tokenIntrospection(config, fresh.access_token);
    assert.equal(about.active, true);
    assert.equal(about.client_id, id);
  }
  await client.tokenRevocation(config, fresh.access_token);
  await assert.rejects(client.fetchUserInfo(config, fresh.access_token, person.sub));
  await assert.rejects(client.authorizationCodeGrant(config, new URL(back), checks), 'a code was taken twice');
  console.log(`openid-client: ${kind} client, done`);
}
await browser.close();
