import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { CAPACITY, Cache, LIFETIME } from "../worker/cache.js";
import { memoryArea } from "./area.js";

let area;
let now;
let cache;

beforeEach(() => {
  area = memoryArea();
  now = 1_000_000;
  cache = new Cache(area, () => now);
});

test("an answer is kept for an hour and no longer", async () => {
  await cache.put({ a: "Good" });
  now += LIFETIME - 1;
  assert.equal(await cache.get("a"), "Good");
  now += 1;
  assert.equal(await cache.get("a"), undefined);
});

test("a clock that is set back does not keep answers for longer", async () => {
  await cache.put({ a: "Good" });
  now -= 1;
  assert.equal(await cache.get("a"), undefined);
});

test("answers outlive the worker", async () => {
  await cache.put({ a: "Bad" });
  assert.equal(await new Cache(area, () => now).get("a"), "Bad");
});

test("what is forgotten is asked for again", async () => {
  await cache.put({ a: "Bad", b: "Good" });
  await cache.forget(["a"]);
  assert.equal(await cache.get("a"), undefined);
  assert.equal(await cache.get("b"), "Good");
});

test("the oldest answers go when there are too many, and those that are too old", async () => {
  await cache.put({ first: 1, second: 2 });
  now += 1;
  await cache.put({ first: 3 });
  await cache.put(Object.fromEntries(Array.from({ length: CAPACITY - 1 }, (_, number) => [`n${number}`, number])));
  assert.equal(await cache.get("second"), undefined);
  assert.equal(await cache.get("first"), 3);
  now += LIFETIME;
  await cache.put({ new: 1 });
  assert.equal((await area.get("scores")).scores.length, 1);
});
