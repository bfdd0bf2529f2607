import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const read = (path) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const filesIn = (folder) => readdirSync(new URL(`../${folder}`, import.meta.url)).map((name) => `${folder}/${name}`);
const messages = JSON.parse(read("_locales/en/messages.json"));
const pages = filesIn("pages").filter((path) => path.endsWith(".html"));
const scripts = ["content", "pages", "worker"].flatMap(filesIn).filter((path) => path.endsWith(".js"));

/** The error codes of the worker, and that of the popup for a page that is not of a site. */
const codes = ["no_site", "no_server", ...[...read("worker/server.js").matchAll(/"([a-z_]+)"/g)].map(([, code]) => code)];

test("every message that a page or the manifest names exists", () => {
  const named = [...pages, "manifest.json"].flatMap((path) => [
    ...read(path).matchAll(/(?:data-message="|data-label="|__MSG_)(\w+?)(?:"|__)/g),
  ]);
  assert.ok(named.length > 50);
  for (const [, name] of named) {
    assert.ok(name in messages, name);
  }
});

test("every message is used", () => {
  const sources = [...pages, ...scripts, "manifest.json"].map(read).join("");
  for (const name of Object.keys(messages)) {
    const isUsed = new RegExp(`"${name}"|__MSG_${name}__`).test(sources);
    assert.ok(isUsed || codes.some((code) => name === `error_${code}`), name);
  }
});

test("pages have no texts of their own", () => {
  for (const path of pages) {
    assert.doesNotMatch(read(path).replaceAll(/<[^>]+>/g, ""), /[a-z]/i, path);
  }
});

test("every language has the messages and placeholders of English, and none is empty", () => {
  const shape = (texts) =>
    Object.entries(texts)
      .map(([name, { message, placeholders }]) => [name, message.match(/\$\w+\$/g), placeholders])
      .sort();
  for (const folder of filesIn("_locales")) {
    const translated = JSON.parse(read(`${folder}/messages.json`));
    assert.deepEqual(shape(translated), shape(messages), folder);
    assert.equal(`_locales/${translated.language.message}`, folder);
    for (const [name, { message }] of Object.entries(translated)) {
      assert.notEqual(message.trim(), "", `${folder}: ${name}`);
    }
  }
});
