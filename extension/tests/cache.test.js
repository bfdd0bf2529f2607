import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Cache, CAPACITY, MAX_AGE_MILLISECONDS } from "../worker/cache.js";
import { memoryArea } from "./area.js";

let area;
let now;
let cache;

beforeEach(() => {
  area = memoryArea();
  now = 1_000_000;
  cache = new Cache(area, () => now);
});

test("an entry expires after an hour", async () => {
  await cache.put({ a: "Good" });
  now += MAX_AGE_MILLISECONDS - 1;
  assert.equal(await cache.get("a"), "Good");
  now += 1;
  assert.equal(await cache.get("a"), undefined);
});

test("setting the clock back does not make an entry last longer", async () => {
  await cache.put({ a: "Good" });
  now -= 1;
  assert.equal(await cache.get("a"), undefined);
});

test("entries survive a restart of the worker", async () => {
  await cache.put({ a: "Bad" });
  assert.equal(await new Cache(area, () => now).get("a"), "Bad");
});

test("an invalidated entry is gone and the others stay", async () => {
  await cache.put({ a: "Bad", b: "Good" });
  await cache.invalidate(["a"]);
  assert.equal(await cache.get("a"), undefined);
  assert.equal(await cache.get("b"), "Good");
});

test("a full cache evicts its oldest entries, and writing removes expired ones", async () => {
  await cache.put({ first: 1, second: 2 });
  now += 1;
  await cache.put({ first: 3 });
  await cache.put(Object.fromEntries(Array.from({ length: CAPACITY - 1 }, (_, number) => [`n${number}`, number])));
  assert.equal(await cache.get("second"), undefined);
  assert.equal(await cache.get("first"), 3);
  now += MAX_AGE_MILLISECONDS;
  await cache.put({ new: 1 });
  assert.equal((await area.get("scores")).scores.length, 1);
});
