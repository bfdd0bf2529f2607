// The table of search engines. To add an engine, add an entry here and its
// addresses under `content_scripts` in manifest.json.
//
// name     the name of the engine, for the messages of tests
// hosts    matches the hosts of its result pages
// results  CSS selector of the result links
// title    CSS selector of the element in a link that gets the mark; if nothing
//          matches, the link itself gets it
// unwrap   rules for referral links. A rule applies to links to `host` (default:
//          any host of the engine). It takes the target from
//            parameter  the query parameter of this name, if the path is `path`;
//                       the value starts with `marker`, if given, and is
//                       base64url if `base64` is true
//            segment    or the rest of the path segment that starts with this text

const DUCKDUCKGO_ONION = "duckduckgogg42xjoc72x3sjasowoarfbgcmvfimaftt6twagswzczad.onion";

export const ENGINES = [
  {
    name: "Google",
    hosts: /^www\.google\.(?:com|cat|[a-z]{2}|com?\.[a-z]{2})$/,
    results: "#search a[href]:has(h3), #botstuff a[href]:has(h3), #main a[href]:has(h3, .vvjwJb)",
    title: "h3, .vvjwJb",
    unwrap: [
      { path: "/url", parameter: "q" },
      { path: "/url", parameter: "url" },
    ],
  },
  {
    name: "Bing",
    hosts: /^(?:www\.|cn\.)?bing\.com$/,
    results: "#b_results .b_algo h2 a[href]",
    unwrap: [{ path: "/ck/a", parameter: "u", marker: "a1", base64: true }],
  },
  {
    name: "DuckDuckGo",
    hosts: new RegExp(
      `^(?:(?:www\\.|html\\.|lite\\.|noai\\.|start\\.)?duckduckgo\\.com|(?:html\\.|lite\\.)?${DUCKDUCKGO_ONION.replace(".", "\\.")})$`,
    ),
    results: "a[data-testid='result-title-a'], article[data-testid='result'] h2 a[href], a.result__a, a.result-link",
    unwrap: [{ path: "/l/", parameter: "uddg" }],
  },
  {
    name: "Brave",
    hosts: /^search\.brave\.com$/,
    results: "#results .snippet[data-type='web'] a[href]:has(.title)",
    title: ".title",
    unwrap: [],
  },
  {
    name: "Startpage",
    hosts: /^(?:www\.|eu\.|us\.)?startpage\.com$/,
    results: "a.result-title, a.result-link, a.w-gl__result-title",
    title: "h2, h3",
    unwrap: [],
  },
  {
    name: "Ecosia",
    hosts: /^www\.ecosia\.org$/,
    results: "a[data-test-id='result-link'], .result__title a[href]",
    title: "h2",
    unwrap: [],
  },
  {
    name: "Qwant",
    hosts: /^www\.qwant\.com$/,
    results: "[data-testid='webResult'] a[data-testid='serTitle'], [data-testid='webResult'] h2 a[href]",
    unwrap: [],
  },
  {
    name: "Mojeek",
    hosts: /^www\.mojeek\.(?:com|co\.uk)$/,
    results: ".results-standard h2 a[href], a.title",
    unwrap: [],
  },
  {
    name: "Yahoo",
    hosts: /^(?:[a-z]{2}\.)?search\.yahoo\.com$/,
    results: "#web .algo h3 a[href], #web .algo .compTitle > a[href]",
    title: "h3",
    unwrap: [{ host: "r.search.yahoo.com", segment: "RU=" }],
  },
  {
    name: "Kagi",
    hosts: /^kagi\.com$/,
    results: "a.__sri_title_link",
    unwrap: [],
  },
];

/** The engine that a page belongs to, by its address, or null. */
export function engineOf(address) {
  let host;
  try {
    host = new URL(address).hostname;
  } catch {
    return null;
  }
  return ENGINES.find((engine) => engine.hosts.test(host)) ?? null;
}
