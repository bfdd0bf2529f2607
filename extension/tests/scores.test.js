import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { Cache } from "../worker/cache.js";
import { Scores } from "../worker/scores.js";
import { memoryArea } from "./area.js";

const SERVER = "https://tidings.example";
const KNOWN = { "good.example": "Good", "bad.example": "Bad" };

const realFetch = globalThis.fetch;
let requests;
let answer;
let scores;

function digest(host) {
  return createHash("sha256").update(host).digest("hex");
}

function tidings(url) {
  const prefix = url.pathname.match(/^\/api\/sites\/prefix\/([0-9a-f]+)$/)?.[1];
  if (prefix !== undefined) {
    const found = Object.entries(KNOWN).filter(([host]) => digest(host).startsWith(prefix));
    return Response.json({ status: "ok", sites: found.map(([link, score]) => ({ link, score })) });
  }
  const hosts = JSON.parse(url.searchParams.get("for"));
  return Response.json(hosts.map((link) => ({ link, score: KNOWN[link] ?? "NoScore" })));
}

beforeEach(() => {
  requests = [];
  answer = tidings;
  globalThis.fetch = async (address, options) => {
    assert.equal(options.credentials, "omit");
    requests.push(address);
    return answer(new URL(address));
  };
  scores = new Scores(new Cache(memoryArea()));
});

afterEach(() => {
  globalThis.fetch = realFetch;
});

const settings = (lookup) => ({ server: SERVER, lookup });

test("the private lookup sends four digits for each host and no names", async () => {
  const found = await scores.lookUp(settings("private"), ["good.example", "bad.example", "other.example", "good.example"]);
  assert.deepEqual(Object.fromEntries(found), { ...KNOWN, "other.example": "NoScore" });
  const expected = ["good.example", "bad.example", "other.example"].map((host) => `${SERVER}/api/sites/prefix/${digest(host).slice(0, 4)}`);
  assert.deepEqual(requests.toSorted(), expected.toSorted());
});

test("the plain lookup asks for at most 100 hosts per request", async () => {
  const hosts = Array.from({ length: 150 }, (_, number) => `n${number}.example`);
  const found = await scores.lookUp(settings("plain"), [...hosts, "good.example"]);
  assert.equal(found.size, 151);
  assert.equal(found.get("good.example"), "Good");
  assert.deepEqual(requests.map((address) => JSON.parse(new URL(address).searchParams.get("for")).length), [100, 51]);
});

for (const lookup of ["private", "plain"]) {
  test(`a score is cached until it is invalidated (${lookup})`, async () => {
    await scores.lookUp(settings(lookup), ["good.example"]);
    await scores.lookUp(settings(lookup), ["good.example"]);
    assert.equal(requests.length, 1);
    await scores.invalidate(SERVER, "good.example");
    await scores.lookUp(settings(lookup), ["good.example"]);
    assert.equal(requests.length, 2);
  });
}

test("simultaneous lookups share one request", async () => {
  await Promise.all([scores.lookUp(settings("private"), ["good.example"]), scores.lookUp(settings("private"), ["good.example"])]);
  assert.equal(requests.length, 1);
});

test("a failure has a code and is not cached", async () => {
  const cases = [
    [() => Promise.reject(new TypeError("refused")), "unreachable"],
    [() => new Response("no json"), "bad_response"],
    [() => Response.json({ sites: "none" }), "bad_response"],
    [() => new Response("", { status: 404 }), "bad_response"],
    [() => new Response("", { status: 502 }), "unavailable"],
    [() => Response.json({ error: "unavailable", message: "" }, { status: 503 }), "unavailable"],
  ];
  for (const [given, code] of cases) {
    answer = given;
    await assert.rejects(scores.lookUp(settings("private"), ["good.example"]), { code });
  }
  answer = tidings;
  assert.equal((await scores.lookUp(settings("private"), ["good.example"])).get("good.example"), "Good");
});

test("invalid sites and scores in a response are ignored", async () => {
  const invalid = [{ link: "<b>", score: "Good" }, { link: "good.example", score: "Evil" }, null, { link: "__proto__", score: "Bad" }];
  answer = () => Response.json({ sites: invalid });
  assert.equal((await scores.lookUp(settings("private"), ["good.example"])).get("good.example"), "NoScore");
});
