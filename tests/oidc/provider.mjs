// The sign-in service of the tests: oidc-provider, with a login form, and a second port at which tests change what it
// says and does. It ends when its standard input ends.
//
//     node provider.mjs REDIRECT_URI CLIENT_ID CLIENT_SECRET UNIX_SECONDS
//
// The first line that it prints is its issuer, the second one is the address for changes. A change is a POST of a JSON
// object with members of `state`; the answer counts the requests to each path.
import * as crypto from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const [redirectUri, clientId, clientSecret, startSeconds] = process.argv.slice(2);

const state = {
  // The claims of each account, by the name that its owner types. Each has `sub`, and perhaps `amr`.
  accounts: {},
  // The time of the provider, which stands still, and what its header `Date` adds to it.
  seconds: Number(startSeconds),
  dateSkewSeconds: 0,
  algorithm: "RS256",
  // Whether the ID token has all claims, or the userinfo endpoint alone.
  claimsInIdToken: true,
  // Members that replace those of an answer; null leaves one out.
  discovery: {},
  userinfo: {},
  // The same for ID tokens, and how they are signed: see `signers`.
  idToken: {},
  signature: "right",
  // By path, "*" for all of them: status, headers, delayMilliseconds, padding (in bytes), hang, reset.
  faults: {},
};

const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [state.seconds * 1000] : given));
  }
  static now() {
    return state.seconds * 1000;
  }
};
// Standard output is for the addresses.
console.info = console.warn = () => {};
const { Provider } = await import("oidc-provider");

const KEY_TYPES = {
  RS256: ["rsa", { modulusLength: 2048 }],
  ES256: ["ec", { namedCurve: "P-256" }],
  EdDSA: ["ed25519", {}],
};

function newKey() {
  const [type, options] = KEY_TYPES[state.algorithm];
  return { id: crypto.randomUUID(), secret: crypto.generateKeyPairSync(type, options).privateKey };
}

const encode = (value) => Buffer.from(value).toString("base64url");

function signWith({ secret }, data) {
  const digest = state.algorithm === "EdDSA" ? null : "sha256";
  return crypto.sign(digest, data, { key: secret, dsaEncoding: "ieee-p1363" });
}

const signers = {
  right: () => [{ alg: state.algorithm, kid: key.id }, (data) => signWith(key, data)],
  // Not the key that its id names.
  "other key": () => [{ alg: state.algorithm, kid: key.id }, (data) => signWith(newKey(), data)],
  "unknown key": () => {
    const unknown = newKey();
    return [{ alg: state.algorithm, kid: unknown.id }, (data) => signWith(unknown, data)];
  },
  none: () => [{ alg: "none" }, () => ""],
  secret: () => [{ alg: "HS256" }, (data) => crypto.createHmac("sha256", clientSecret).update(data).digest()],
  // What a client uses as the secret of HS256 that takes the key of the provider for one.
  "public key": () => {
    const pem = crypto.createPublicKey(key.secret).export({ type: "spki", format: "pem" });
    return [{ alg: "HS256", kid: key.id }, (data) => crypto.createHmac("sha256", pem).update(data).digest()];
  },
};

/** An object in which others replace members, or leave them out. */
function changed(object, changes) {
  const members = Object.entries({ ...object, ...changes });
  return Object.fromEntries(members.filter(([, value]) => value !== null && value !== undefined));
}

/** A token with some of its claims changed, signed in some way. */
function resign(token, changes, signature) {
  const [head, claims] = token.split(".", 2).map((part) => JSON.parse(Buffer.from(part, "base64url")));
  const [fields, sign] = signers[signature]();
  const data = [{ typ: head.typ, ...fields }, changed(claims, changes)].map((part) => encode(JSON.stringify(part)));
  return [...data, encode(sign(data.join(".")))].join(".");
}

let key = newKey();
let provider;

const findAccount = (_, sub) => ({
  accountId: sub,
  claims: () => Object.values(state.accounts).find((claims) => claims.sub === sub) ?? { sub },
});

/** Nobody is asked for their consent. */
async function loadExistingGrant({ oidc }) {
  const known = await oidc.provider.Grant.find(oidc.session.grantIdFor(oidc.client.clientId) ?? "none");
  if (known?.accountId === oidc.session.accountId) return known;
  const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
  grant.addOIDCScope("openid profile email groups");
  await grant.save();
  return grant;
}

/** Makes the provider anew, with the keys and choices of now. What it has stored stays. */
function makeProvider() {
  const jwk = { ...key.secret.export({ format: "jwk" }), kid: key.id, alg: state.algorithm, use: "sig" };
  provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        id_token_signed_response_alg: state.algorithm,
      },
    ],
    jwks: { keys: [jwk] },
    enabledJWA: { idTokenSigningAlgValues: Object.keys(KEY_TYPES) },
    scopes: ["openid", "profile", "email", "groups"],
    claims: {
      openid: ["sub", "amr"],
      profile: ["preferred_username", "name", "groups", "roles"],
      email: ["email", "email_verified"],
      groups: ["groups"],
    },
    conformIdTokenClaims: !state.claimsInIdToken,
    cookies: { keys: ["not secret"] },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount,
    loadExistingGrant,
    renderError: (context, { error, error_description: description }) => {
      context.type = "html";
      context.body = `<h1>${error}</h1><p>${description}</p>`;
    },
  });
  provider.use(async (context, next) => {
    await next();
    changeAnswer(context);
  });
}

function changeAnswer(context) {
  const { path, body } = context;
  if (path === "/.well-known/openid-configuration") context.body = changed(body, state.discovery);
  if (path === "/me" && body?.sub) context.body = changed(body, state.userinfo);
  if (path === "/token" && body?.id_token) {
    context.body = { ...body, id_token: resign(body.id_token, state.idToken, state.signature) };
  }
  const { padding } = faultAt(path);
  if (padding) context.body = { ...context.body, padding: "x".repeat(padding) };
  // The clock of a browser is another one.
  const cookies = [context.response.get("set-cookie")].flat().filter((cookie) => cookie !== "");
  if (cookies.length > 0) {
    context.set("set-cookie", cookies.map((cookie) => cookie.replace(/; expires=(?!Thu, 01 Jan 1970)[^;]*/gi, "")));
  }
}

const faultAt = (path) => ({ ...state.faults["*"], ...state.faults[path] });

const page = (uid, alert) => `<!doctype html><html lang="en"><title>Sign-in service</title><h1>Sign-in service</h1>${alert}
<form method="post" action="/interaction/${uid}"><label for="name">Name</label> <input id="name" name="name" autofocus>
<button name="answer" value="log in">Continue</button> <button name="answer" value="cancel">Cancel</button></form></html>`;

async function read(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** The form for the name, and what it sends. */
async function interact(request, response) {
  const { uid } = await provider.interactionDetails(request, response);
  const show = (status, alert) => {
    response.writeHead(status, { "content-type": "text/html; charset=utf-8" }).end(page(uid, alert));
  };
  if (request.method !== "POST") return show(200, "");
  const form = new URLSearchParams(await read(request));
  if (form.get("answer") === "cancel") {
    const result = { error: "access_denied", error_description: "the person has cancelled" };
    return provider.interactionFinished(request, response, result);
  }
  const account = state.accounts[form.get("name")];
  if (account === undefined) return show(403, "<p role=alert>There is no such account.</p>");
  const login = { accountId: account.sub, amr: account.amr };
  return provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false });
}

const requests = {};

async function answer(request, response) {
  const path = request.url.split("?", 1)[0];
  requests[path] = (requests[path] ?? 0) + 1;
  const { status, headers, delayMilliseconds, hang, reset } = faultAt(path);
  if (reset) return request.socket.destroy();
  if (delayMilliseconds) await sleep(delayMilliseconds);
  response.setHeader("date", new Date((state.seconds + state.dateSkewSeconds) * 1000).toUTCString());
  if (hang) return response.writeHead(200, { "content-type": "application/json" }).write("{");
  if (status) return response.writeHead(status, headers).end();
  if (path.startsWith("/interaction/")) return interact(request, response);
  return provider.callback()(request, response);
}

/** A logout token for a subject, as the provider makes it; and with changes. */
async function logoutToken({ sub, claims, signature }) {
  const token = new provider.IdToken({ sub }, { client: await provider.Client.find(clientId), ctx: undefined });
  token.mask = { sub: null };
  token.set("events", { "http://schemas.openid.net/event/backchannel-logout": {} });
  token.set("jti", crypto.randomUUID());
  return resign(await token.issue({ use: "logout" }), claims, signature);
}

async function control(request, response) {
  const { newKeys, logout, ...changes } = JSON.parse(await read(request));
  Object.assign(state.accounts, changes.accounts);
  Object.assign(state, changes, { accounts: state.accounts });
  if (newKeys || changes.algorithm) key = newKey();
  makeProvider();
  const token = logout && (await logoutToken(logout));
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ requests, token }));
}

/** Listens on a free port; a request that cannot be answered is written down. */
async function listen(handler) {
  const server = createServer((request, response) => {
    handler(request, response).catch((error) => {
      console.error(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${server.address().port}`;
}

const issuer = await listen(answer);
makeProvider();
console.log(`${issuer}\n${await listen(control)}`);
process.stdin.on("end", () => process.exit()).resume();
