import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ENGINES, engineOf } from "../worker/engines.js";

const manifest = JSON.parse(readFileSync(new URL("../manifest.json", import.meta.url), "utf8"));
const hosts = manifest.content_scripts[0].matches.map((pattern) => new URL(pattern.replace(/^\*:/, "https:")).hostname);
// For a pattern with a wildcard, one subdomain stands for all.
const samples = hosts.map((host) => host.replace(/^\*\./, "de."));

test("every address in the manifest belongs to an engine", () => {
  for (const host of samples) {
    assert.notEqual(engineOf(`https://${host}/search`), null, host);
  }
});

test("every engine has an address in the manifest", () => {
  for (const engine of ENGINES) {
    assert.ok(samples.some((host) => engine.hosts.test(host)), engine.name);
  }
});

test("hosts that only look like an engine's do not belong to one", () => {
  const others = ["www.google.com.evil.example", "www.google.evil", "notduckduckgo.com", "duckduckgo.com.example", "xduckduckgogg42xjoc72x3sjasowoarfbgcmvfimaftt6twagswzczad.onion", "www-google.com", "bing.com.example"];
  for (const host of others) {
    assert.equal(engineOf(`https://${host}/search`), null, host);
  }
  assert.equal(engineOf(undefined), null);
});

test("the manifest requests only the permissions it needs", () => {
  assert.deepEqual(manifest.permissions, ["storage", "activeTab"]);
  assert.equal(manifest.host_permissions, undefined);
  assert.equal(manifest.content_security_policy, undefined);
  assert.equal(manifest.web_accessible_resources, undefined);
  assert.deepEqual(manifest.background.scripts, [manifest.background.service_worker]);
});
