import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PACK = fileURLToPath(new URL("../pack", import.meta.url));

/** Runs the script and returns the packages by name. */
function packages() {
  const folder = mkdtempSync(join(tmpdir(), "pack-"));
  try {
    execFileSync(process.execPath, [PACK, folder]);
    return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The files in an archive without compression, by name. */
function files(archive) {
  const found = {};
  for (let at = 0; archive.readUInt32LE(at) === 0x04034b50; ) {
    const size = archive.readUInt32LE(at + 18);
    const start = at + 30 + archive.readUInt16LE(at + 26);
    found[archive.toString("utf8", at + 30, start)] = archive.subarray(start, start + size);
    at = start + size;
  }
  return found;
}

test("the same sources give the same packages", () => {
  assert.deepEqual(packages(), packages());
});

test("each package has all files and a manifest for its browser", () => {
  const [chromium, firefox] = Object.entries(packages())
    .sort()
    .map(([, archive]) => files(archive));
  const names = Object.keys(chromium);
  assert.deepEqual(names, Object.keys(firefox));
  for (const name of ["manifest.json", "worker/main.js", "content/marks.js", "pages/popup.html", "icons/128.png"]) {
    assert.ok(names.includes(name), name);
  }
  assert.ok(!names.some((name) => name.startsWith("tests/")));
  const [chromiumManifest, firefoxManifest] = [chromium, firefox].map((found) => JSON.parse(found["manifest.json"]));
  assert.equal(chromiumManifest.background.service_worker, firefoxManifest.background.scripts[0]);
  assert.deepEqual(Object.keys(chromiumManifest.background), ["service_worker", "type"]);
  assert.deepEqual(Object.keys(firefoxManifest.background), ["scripts", "type"]);
  assert.ok(firefoxManifest.browser_specific_settings.gecko.data_collection_permissions.required.length > 0);
  assert.equal(chromiumManifest.browser_specific_settings, undefined);
});
