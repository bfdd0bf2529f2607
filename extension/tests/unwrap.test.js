import assert from "node:assert/strict";
import { test } from "node:test";
import { engineOf } from "../worker/engines.js";
import { targetHost } from "../worker/unwrap.js";

const ONION = "duckduckgogg42xjoc72x3sjasowoarfbgcmvfimaftt6twagswzczad.onion";

function target(page, link) {
  return targetHost(engineOf(page), link);
}

test("a direct link leads to its own host", () => {
  assert.equal(target("https://www.google.com/search?q=a", "https://Good.example/page"), "good.example");
});

test("referral links are unwrapped", () => {
  const inside = "https://good.example/a?b=c&d=e";
  const encoded = encodeURIComponent(inside);
  // Bing uses base64url without padding.
  const base64 = Buffer.from(inside).toString("base64url");
  const cases = [
    ["https://www.google.de/search", `https://www.google.de/url?q=${encoded}&sa=U`],
    ["https://www.google.co.uk/search", `https://www.google.com/url?sa=t&url=${encoded}`],
    ["https://www.bing.com/search", `https://www.bing.com/ck/a?!&&p=1f&u=a1${base64}&ntb=1`],
    ["https://duckduckgo.com/", `https://duckduckgo.com/l/?uddg=${encoded}&rut=1`],
    ["https://html.duckduckgo.com/html/", `https://duckduckgo.com/l/?uddg=${encoded}`],
    [`https://${ONION}/html/`, `https://${ONION}/l/?uddg=${encoded}`],
    ["https://search.yahoo.com/search", `https://r.search.yahoo.com/_ylt=A/RV=2/RO=10/RU=${encoded}/RK=2/RS=x-`],
  ];
  for (const [page, link] of cases) {
    assert.equal(target(page, link), "good.example", link);
  }
});

test("nested referral links are unwrapped up to a limit", () => {
  let link = "https://good.example/";
  const wrap = () => (link = `https://www.google.com/url?q=${encodeURIComponent(link)}`);
  wrap();
  wrap();
  assert.equal(target("https://www.google.com/search", link), "good.example");
  for (let depth = 0; depth < 10; depth += 1) {
    wrap();
  }
  assert.equal(target("https://www.google.com/search", link), null);
});

test("links that lead to no other site have no host", () => {
  const page = "https://www.google.com/search";
  const links = [
    "https://www.google.com/search?q=more",
    "https://www.google.com/url?q=not-an-address",
    "https://www.google.com/url?q=javascript%3Aalert(1)",
    "javascript:void(0)",
    "",
    "http://127.0.0.1/",
  ];
  for (const link of links) {
    assert.equal(target(page, link), null, link);
  }
  assert.equal(target("https://www.bing.com/search", "https://www.bing.com/ck/a?u=a1%%%"), null);
  assert.equal(target("https://www.bing.com/search", "https://www.bing.com/ck/a?u=b2abc"), null);
  // A referral link that cannot be decoded leads to its own host.
  assert.equal(target("https://search.yahoo.com/search", "https://r.search.yahoo.com/RU=%E0%A4%A/RK=2"), "r.search.yahoo.com");
});

test("referral links are only recognised on the engine's own hosts", () => {
  const link = `https://good.example/url?q=${encodeURIComponent("https://bad.example/")}`;
  assert.equal(target("https://www.google.com/search", link), "good.example");
});
