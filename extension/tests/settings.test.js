import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULTS, parseIcon, parseServer, permissionFor, validSettings } from "../worker/settings.js";
import { getOrCreateVoter, keepOldVoter, storedVoter } from "../worker/voter.js";
import { memoryArea } from "./area.js";

test("a server address is normalised", () => {
  assert.equal(parseServer(" https://Tidings.example/ "), "https://tidings.example");
  assert.equal(parseServer("tidings.example"), "https://tidings.example");
  assert.equal(parseServer("http://127.0.0.1:8080/"), "http://127.0.0.1:8080");
  assert.equal(parseServer("http://[::1]:8080"), "http://[::1]:8080");
  assert.equal(parseServer("https://a.example/tidings//"), "https://a.example/tidings");
});

test("other texts are not accepted as a server address", () => {
  const texts = ["", " ", "ftp://a.example", "javascript:alert(1)//a", "https://user:secret@a.example", "https://a.example/?q", "https://a.example/#f", "https://", "a b", "https://a*b", undefined, {}];
  for (const text of texts) {
    assert.equal(parseServer(text), null, String(text));
  }
});

test("the permission is for the host of the server only", () => {
  assert.equal(permissionFor("https://a.example/tidings"), "https://a.example/*");
  assert.equal(permissionFor("http://127.0.0.1:8080"), "http://127.0.0.1/*");
});

test("invalid stored settings are replaced by defaults", () => {
  assert.deepEqual(validSettings({}), DEFAULTS);
  assert.deepEqual(validSettings({ server: 7, icons: "x", lookup: "else" }), DEFAULTS);
  const chosen = { server: "https://a.example", icons: { good: "👍", controversial: "?", bad: "👎" }, lookup: "plain" };
  assert.deepEqual(validSettings(chosen), chosen);
  assert.deepEqual(validSettings({ icons: { good: " ", bad: "x".repeat(17) } }).icons, DEFAULTS.icons);
  assert.equal(parseIcon("  ★ "), "★");
});

const [SERVER, OTHER] = ["https://a.example", "https://b.example"];
const OLD = "beda0000-0822-4342-8990-b92d94d9489a";

test("the voter ID is created once and does not change", async () => {
  const area = memoryArea();
  assert.equal(await storedVoter(area, SERVER), null);
  const [first, second] = await Promise.all([getOrCreateVoter(area, SERVER), getOrCreateVoter(area, SERVER)]);
  assert.equal(first, second);
  assert.match(first, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(await getOrCreateVoter(area, SERVER), first);
  assert.equal(await storedVoter(area, SERVER), first);
});

test("each server has a voter ID of its own, which stays when another server is chosen", async () => {
  const area = memoryArea();
  const [first, second] = await Promise.all([getOrCreateVoter(area, SERVER), getOrCreateVoter(area, OTHER)]);
  assert.notEqual(first, second);
  assert.equal(await storedVoter(area, SERVER), first);
  assert.equal(await storedVoter(area, OTHER), second);
  assert.equal(await storedVoter(area, `${SERVER}/tidings`), null);
  assert.equal(await storedVoter(area, "http://a.example"), null);
});

test("a stored voter ID that is not a UUID is replaced", async () => {
  const area = memoryArea({ [`voter:${SERVER}`]: "me" });
  assert.equal(await storedVoter(area, SERVER), null);
  assert.notEqual(await getOrCreateVoter(area, SERVER), "me");
});

test("the voter ID of an earlier version stays with the chosen server only", async () => {
  const area = memoryArea({ voter: OLD });
  await keepOldVoter(area, SERVER);
  assert.equal(await getOrCreateVoter(area, SERVER), OLD);
  assert.notEqual(await getOrCreateVoter(area, OTHER), OLD);
  // It is assigned once.
  await keepOldVoter(area, OTHER);
  assert.notEqual(await storedVoter(area, OTHER), OLD);
  assert.deepEqual(await area.get("voter"), {});
});

test("the voter ID of an earlier version goes nowhere else", async () => {
  const without = memoryArea({ voter: OLD });
  await keepOldVoter(without, "");
  assert.deepEqual(await without.get("voter"), {});
  assert.notEqual(await getOrCreateVoter(without, SERVER), OLD);
  const invalid = memoryArea({ voter: "me" });
  await keepOldVoter(invalid, SERVER);
  assert.equal(await storedVoter(invalid, SERVER), null);
  const known = memoryArea({ voter: OLD });
  const voter = await getOrCreateVoter(known, SERVER);
  await keepOldVoter(known, SERVER);
  assert.equal(await storedVoter(known, SERVER), voter);
});
