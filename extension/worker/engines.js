// The search engines, as a table. A new engine is an entry here and its
// addresses under `content_scripts` in manifest.json.
//
// name     for people
// hosts    the hosts of its result pages
// results  CSS: the links of the results
// title    CSS: where in a link the mark goes; the link itself when nothing matches
// unwrap   how its referral links tell where they lead; each entry applies to
//          links to `host` (by default any host of the engine) and reads
//            parameter  a query parameter, when the path is `path`; after
//                       `marker`, base64url when `base64` is true
//            segment    or a part of the path that begins so

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

/** The engine on whose page an address is, or null. */
export function engineOf(address) {
  let host;
  try {
    host = new URL(address).hostname;
  } catch {
    return null;
  }
  return ENGINES.find((engine) => engine.hosts.test(host)) ?? null;
}
