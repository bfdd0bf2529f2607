import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULTS, parseIcon, parseServer, permissionFor, validSettings } from "../worker/settings.js";
import { getOrCreateVoter, storedVoter } from "../worker/voter.js";
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

test("the voter ID is created once and does not change", async () => {
  const area = memoryArea();
  assert.equal(await storedVoter(area), null);
  const [first, second] = await Promise.all([getOrCreateVoter(area), getOrCreateVoter(area)]);
  assert.equal(first, second);
  assert.match(first, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(await getOrCreateVoter(area), first);
  assert.equal(await storedVoter(area), first);
});

test("a stored voter ID that is not a UUID is replaced", async () => {
  const area = memoryArea({ voter: "me" });
  assert.equal(await storedVoter(area), null);
  assert.notEqual(await getOrCreateVoter(area), "me");
});
