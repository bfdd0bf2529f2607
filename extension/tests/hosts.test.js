import assert from "node:assert/strict";
import { test } from "node:test";
import { hostOf, parseHost, prefixOf } from "../worker/hosts.js";

test("a host is parsed by the server's rules", () => {
  assert.equal(parseHost("Example.COM."), "example.com");
  assert.equal(parseHost("bücher.example"), "xn--bcher-kva.example");
  assert.equal(parseHost("www.a-b.example"), "www.a-b.example");
  const longest = `${"a".repeat(63)}.`.repeat(3) + "a".repeat(61);
  assert.equal(parseHost(longest), longest);
});

test("names that nobody can vote on are rejected", () => {
  const invalid = ["", "localhost", "127.0.0.1", "0x7f.1", "[::1]", "a..example", "-a.example", "a_b.example"];
  const more = ["a b.example", "user@a.example", "a.example:80", "a.example/path", `${"a".repeat(64)}.example`, null, 7];
  for (const text of [...invalid, ...more]) {
    assert.equal(parseHost(text), null, String(text));
  }
});

test("only web addresses have a host", () => {
  assert.equal(hostOf("https://user@Example.org:8443/path?q#f"), "example.org");
  for (const address of ["chrome://settings", "file:///a.example/b", "javascript:alert(1)", "about:blank", "x", "http://10.0.0.1/"]) {
    assert.equal(hostOf(address), null, address);
  }
});

test("a prefix is the first four hexadecimal digits of the SHA-256", async () => {
  // printf %s example.com | sha256sum
  assert.equal(await prefixOf("example.com"), "a379");
});
