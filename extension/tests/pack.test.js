import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PACK = fileURLToPath(new URL("../pack", import.meta.url));

/** Packs, and returns the packages by their names. */
function packages() {
  const folder = mkdtempSync(join(tmpdir(), "pack-"));
  try {
    execFileSync(process.execPath, [PACK, folder]);
    return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The files of an archive whose files are stored. */
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

test("each browser gets the extension and the manifest that it understands", () => {
  const [chromium, firefox] = Object.entries(packages())
    .sort()
    .map(([, archive]) => files(archive));
  const names = Object.keys(chromium);
  assert.deepEqual(names, Object.keys(firefox));
  for (const name of ["manifest.json", "worker/main.js", "content/marks.js", "pages/popup.html", "icons/128.png"]) {
    assert.ok(names.includes(name), name);
  }
  assert.ok(!names.some((name) => name.startsWith("tests/")));
  const [of_chromium, of_firefox] = [chromium, firefox].map((found) => JSON.parse(found["manifest.json"]));
  assert.equal(of_chromium.background.service_worker, of_firefox.background.scripts[0]);
  assert.deepEqual(Object.keys(of_chromium.background), ["service_worker", "type"]);
  assert.deepEqual(Object.keys(of_firefox.background), ["scripts", "type"]);
  assert.ok(of_firefox.browser_specific_settings.gecko.data_collection_permissions.required.length > 0);
  assert.equal(of_chromium.browser_specific_settings, undefined);
});
