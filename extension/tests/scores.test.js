import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { Cache } from "../worker/cache.js";
import { Scores } from "../worker/scores.js";
import { memoryArea } from "./area.js";

const SERVER = "https://tidings.example";
const KNOWN = { "good.example": "Good", "bad.example": "Bad" };

const real_fetch = globalThis.fetch;
let asked;
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
  asked = [];
  answer = tidings;
  globalThis.fetch = async (address, options) => {
    assert.equal(options.credentials, "omit");
    asked.push(address);
    return answer(new URL(address));
  };
  scores = new Scores(new Cache(memoryArea()));
});

afterEach(() => {
  globalThis.fetch = real_fetch;
});

const settings = (lookup) => ({ server: SERVER, lookup });

test("the private lookup tells four digits for each host and no name", async () => {
  const found = await scores.of(settings("private"), ["good.example", "bad.example", "other.example", "good.example"]);
  assert.deepEqual(Object.fromEntries(found), { ...KNOWN, "other.example": "NoScore" });
  const expected = ["good.example", "bad.example", "other.example"].map((host) => `${SERVER}/api/sites/prefix/${digest(host).slice(0, 4)}`);
  assert.deepEqual(asked.toSorted(), expected.toSorted());
});

test("the plain lookup asks for at most a hundred hosts at once", async () => {
  const hosts = Array.from({ length: 150 }, (_, number) => `n${number}.example`);
  const found = await scores.of(settings("plain"), [...hosts, "good.example"]);
  assert.equal(found.size, 151);
  assert.equal(found.get("good.example"), "Good");
  assert.deepEqual(asked.map((address) => JSON.parse(new URL(address).searchParams.get("for")).length), [100, 51]);
});

for (const lookup of ["private", "plain"]) {
  test(`what is known is not asked again, until it is forgotten (${lookup})`, async () => {
    await scores.of(settings(lookup), ["good.example"]);
    await scores.of(settings(lookup), ["good.example"]);
    assert.equal(asked.length, 1);
    await scores.forget(SERVER, "good.example");
    await scores.of(settings(lookup), ["good.example"]);
    assert.equal(asked.length, 2);
  });
}

test("pages that ask at the same time share one call", async () => {
  await Promise.all([scores.of(settings("private"), ["good.example"]), scores.of(settings("private"), ["good.example"])]);
  assert.equal(asked.length, 1);
});

test("a failure has a code, and is not kept", async () => {
  const cases = [
    [() => Promise.reject(new TypeError("refused")), "away"],
    [() => new Response("no json"), "broken"],
    [() => Response.json({ sites: "none" }), "broken"],
    [() => new Response("", { status: 404 }), "broken"],
    [() => new Response("", { status: 502 }), "unavailable"],
    [() => Response.json({ error: "unavailable", message: "" }, { status: 503 }), "unavailable"],
  ];
  for (const [given, code] of cases) {
    answer = given;
    await assert.rejects(scores.of(settings("private"), ["good.example"]), { code });
  }
  answer = tidings;
  assert.equal((await scores.of(settings("private"), ["good.example"])).get("good.example"), "Good");
});

test("of an answer only hosts with a score are taken", async () => {
  const strange = [{ link: "<b>", score: "Good" }, { link: "good.example", score: "Evil" }, null, { link: "__proto__", score: "Bad" }];
  answer = () => Response.json({ sites: strange });
  assert.equal((await scores.of(settings("private"), ["good.example"])).get("good.example"), "NoScore");
});
