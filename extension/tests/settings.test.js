import assert from "node:assert/strict";
import { test } from "node:test";
import { checked, DEFAULTS, parseIcon, parseServer, permissionFor } from "../worker/settings.js";
import { anyVoter, knownVoter } from "../worker/voter.js";
import { memoryArea } from "./area.js";

test("the address of a server is put in order", () => {
  assert.equal(parseServer(" https://Tidings.example/ "), "https://tidings.example");
  assert.equal(parseServer("tidings.example"), "https://tidings.example");
  assert.equal(parseServer("http://127.0.0.1:8080/"), "http://127.0.0.1:8080");
  assert.equal(parseServer("http://[::1]:8080"), "http://[::1]:8080");
  assert.equal(parseServer("https://a.example/tidings//"), "https://a.example/tidings");
});

test("other texts are no address of a server", () => {
  const texts = ["", " ", "ftp://a.example", "javascript:alert(1)//a", "https://user:secret@a.example", "https://a.example/?q", "https://a.example/#f", "https://", "a b", "https://a*b", undefined, {}];
  for (const text of texts) {
    assert.equal(parseServer(text), null, String(text));
  }
});

test("the permission is for the host of the server and nothing else", () => {
  assert.equal(permissionFor("https://a.example/tidings"), "https://a.example/*");
  assert.equal(permissionFor("http://127.0.0.1:8080"), "http://127.0.0.1/*");
});

test("whatever is stored, settings are valid", () => {
  assert.deepEqual(checked({}), DEFAULTS);
  assert.deepEqual(checked({ server: 7, icons: "x", lookup: "else" }), DEFAULTS);
  const chosen = { server: "https://a.example", icons: { good: "👍", controversial: "?", bad: "👎" }, lookup: "plain" };
  assert.deepEqual(checked(chosen), chosen);
  assert.deepEqual(checked({ icons: { good: " ", bad: "x".repeat(17) } }).icons, DEFAULTS.icons);
  assert.equal(parseIcon("  ★ "), "★");
});

test("the voter is made once and stays", async () => {
  const area = memoryArea();
  assert.equal(await knownVoter(area), null);
  const [first, second] = await Promise.all([anyVoter(area), anyVoter(area)]);
  assert.equal(first, second);
  assert.match(first, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(await anyVoter(area), first);
  assert.equal(await knownVoter(area), first);
});

test("a voter that is no UUID is replaced", async () => {
  const area = memoryArea({ voter: "me" });
  assert.equal(await knownVoter(area), null);
  assert.notEqual(await anyVoter(area), "me");
});
