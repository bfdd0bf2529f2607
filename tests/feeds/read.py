"""Reads every feed of a site as feed readers do, and checks it against the documented grammar of its format."""

import http.client
import json
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import feedparser
import jsonschema
import listparser
import lxml.etree
import lxml.html

ADDRESS, NAME, PASSWORD = sys.argv[1].rstrip("/"), sys.argv[2], sys.argv[3]
HERE = pathlib.Path(__file__).parent
GRAMMAR = lxml.etree.RelaxNG(lxml.etree.parse(HERE / "atom.rng"))
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((HERE / "jsonfeed.schema.json").read_text()),
    format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER,
)
ATOM = "{http://www.w3.org/2005/Atom}"
TYPES = {"application/atom+xml", "application/feed+json", "application/rss+xml"}
# Pages of a feed that are read.
PAGES = 6
# Entries about these are not discussed: lines of the log, posts, followers, messages of moderators.
UNDISCUSSED = (":log/", ":post/", ":inbox/")


def check(what, is_so):
    """Ends with a message if something is not so."""
    if not is_so:
        raise SystemExit(f"{what} is not so")


def get(address, **headers):
    """The status, headers and body at an address. One in a feed that is relative is never asked for."""
    address = urllib.parse.urljoin(f"{ADDRESS}/", address)
    request = urllib.request.Request(address, headers=headers)
    for _ in range(600):
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            # An address may ask for so many large answers in a second.
            if error.code == 429 or error.code == 503:
                time.sleep(0.2)
                continue
            return error.code, error.headers, error.read()
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError):
            time.sleep(0.1)
    raise SystemExit(f"{address} does not answer")


def log_in():
    """A cookie of the reader of the demo, and the secret of the session."""
    fields = urllib.parse.urlencode({"username": NAME, "password": PASSWORD}).encode()
    with urllib.request.urlopen(f"{ADDRESS}/api/login", fields) as answer:
        session = json.load(answer)
    return {"Cookie": f"auth={session['auth']}"}, session["apisecret"]


def feeds_of(page, **headers):
    """The feeds that the head of a page names."""
    status, _, body = get(page, **headers)
    check(f"{page}: there is a page", status == 200)
    links = lxml.html.fromstring(body).iterfind(".//link[@rel='alternate']")
    return {link.get("href") for link in links if link.get("type") in TYPES}


def find_feeds():
    """All feeds, found as people and readers find them: lists in OPML and the heads of pages."""
    status, headers, body = get("/feeds.opml")
    check("the list of feeds", status == 200 and headers.get_content_type() == "text/x-opml")
    listed = listparser.parse(body.decode())
    check("the list is sound", not listed.bozo and listed.meta.title and len(listed.feeds) > 10)
    check("its feeds have titles", all(feed.title and feed.url.startswith(ADDRESS) for feed in listed.feeds))
    found = {feed.url.removeprefix(ADDRESS) for feed in listed.feeds}
    topics = [url.split("/")[2] for url in sorted(found) if url.startswith("/topic/")]
    stories = json.loads(get("/api/getnews/top/0/30")[2])["news"]
    story = max(stories, key=lambda story: story["comments"])
    host = next(urllib.parse.urlsplit(story["url"]).hostname for story in stories if story["url"].startswith("http"))
    pages = [
        "/", "/latest", "/best", "/best/new", "/comments", "/moderations", "/feeds", f"/topic/{topics[0]}",
        f"/topic/{topics[0]}/new", f"/topic/{'+'.join(sorted(topics[:2]))}", f"/topic/{','.join(sorted(topics[:3]))}/new",
        f"/news/{story['id']}", f"/@{story['username']}", f"/usernews/{story['username']}/0",
        f"/usercomments/{story['username']}/0", f"/site/{host}", "/search?q=the",
    ]
    for page in pages:
        own = feeds_of(page)
        check(f"{page} has feeds in both formats", len(own) >= 3)
        found |= own
    cookie, secret = log_in()
    fields = urllib.parse.urlencode({"feed": "new", "apisecret": secret}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{ADDRESS}/inbox/feed", fields, cookie)).close()
    inbox = {feed for feed in feeds_of("/inbox", **cookie) if feed.startswith("/inbox/")}
    check("the inbox has feeds", len(inbox) == 2)
    followed = listparser.parse(get("/feeds/following.opml", **cookie)[2].decode())
    check("the list of what the reader follows is sound", not followed.bozo)
    return found | inbox | {feed.url.removeprefix(ADDRESS) for feed in followed.feeds}


def check_html(where, html):
    """Texts are whole: without links that depend on where they are read."""
    links = lxml.html.fragment_fromstring(html, create_parent="div").iterfind(".//a")
    check(f"{where}: links are whole", all(urllib.parse.urlsplit(link.get("href")).scheme for link in links))


def check_entries(path, parsed):
    """A reader shows the title, author, time, text and discussion of each entry."""
    check(f"{path}: a reader understands it", not parsed.bozo)
    ids = [entry.id for entry in parsed.entries]
    check(f"{path}: ids are unique", len(ids) == len(set(ids)))
    for entry in parsed.entries:
        where = f"{path}: {entry.id}"
        check(f"{where} has a title and a link", entry.title and entry.link.startswith("http"))
        check(f"{where} has an author", entry.get("author") or parsed.feed.get("author"))
        check(f"{where} has a time", entry.published_parsed and entry.updated_parsed)
        check(f"{where} has a text", entry.get("content") or entry.get("summary") or "/inbox" in path)
        for content in entry.get("content", []):
            if content.type == "text/html":
                check_html(where, content.value)
        replies = [link for link in entry.links if link.rel == "replies"]
        is_discussed = not any(part in entry.id for part in UNDISCUSSED)
        check(f"{where} leads to its discussion", entry.get("comments") or replies or not is_discussed)
    return ids


def read_atom(path, body):
    """The entries and the next page of an Atom feed."""
    document = lxml.etree.fromstring(body)
    if not GRAMMAR.validate(document):
        raise SystemExit(f"{path} is no Atom feed: {GRAMMAR.error_log}")
    links = {link.get("rel"): link.get("href") for link in document.iterfind(f"{ATOM}link")}
    check(f"{path}: it names its page", links["alternate"].startswith(ADDRESS))
    if not path.startswith("/inbox"):
        check(f"{path}: it names itself", links["self"] == ADDRESS + path)
    # RFC 4287, 4.1.1 and 4.1.2, which the grammar leaves to words.
    has_author = document.find(f"{ATOM}author") is not None
    entries = document.findall(f"{ATOM}entry")
    check(f"{path}: entries have authors", has_author or all(entry.find(f"{ATOM}author") is not None for entry in entries))
    for entry in entries:
        alternates = [link.get("type") for link in entry.iterfind(f"{ATOM}link[@rel='alternate']")]
        check(f"{path}: entries have one page of a type", len(alternates) == len(set(alternates)) >= 1)
    return check_entries(path, feedparser.parse(body)), links.get("next")


def read_json(path, body):
    """The entries and the next page of a JSON Feed."""
    feed = json.loads(body)
    errors = [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(feed)]
    if errors:
        raise SystemExit(f"{path} is no JSON Feed: {errors}")
    if not path.startswith("/inbox"):
        check(f"{path}: it names itself", feed["feed_url"] == ADDRESS + path)
    ids = [item["id"] for item in feed["items"]]
    check(f"{path}: ids are unique", len(ids) == len(set(ids)))
    for item in feed["items"]:
        check(f"{path}: {item['id']} has a title and a time", item["title"] and item["date_published"])
        check(f"{path}: {item['id']} has an author", item.get("authors") or feed.get("authors"))
        if "content_html" in item:
            check_html(path, item["content_html"])
    return ids, feed.get("next_url")


def read_rss(path, body):
    """The entries and the next page of an RSS feed."""
    parsed = feedparser.parse(body)
    check(f"{path}: it is RSS 2.0", parsed.version == "rss20")
    links = {link.rel: link.href for link in parsed.feed.links}
    check(f"{path}: entries lead to their comments", all(entry.comments for entry in parsed.entries))
    for entry in parsed.entries:
        entry.updated_parsed = entry.published_parsed
    return check_entries(path, parsed), links.get("next")


READERS = {"application/atom+xml": read_atom, "application/feed+json": read_json, "application/rss+xml": read_rss}


def read(feed):
    """Reads the pages of a feed, and returns the number of entries."""
    path, seen, pages = feed, set(), 0
    while path and pages < PAGES:
        status, headers, body = get(path)
        check(f"{path}: there is a feed", status == 200)
        kind = headers.get_content_type()
        check(f"{path}: its type is one of feeds", kind in TYPES)
        ids, following = READERS[kind](path, body)
        if pages == 0:
            first, version = set(ids), headers["ETag"]
            again, _, rest = get(path, **{"If-None-Match": version})
            # The front page may have changed meanwhile.
            check(f"{path}: what is known is not sent again", again == 304 and not rest or feed.startswith("/top"))
        elif not feed.startswith(("/top", "/best")):
            check(f"{path}: no entry is on two pages", not seen & set(ids))
        seen |= set(ids)
        pages += 1
        path = following and urllib.parse.urljoin(ADDRESS + path, following).removeprefix(ADDRESS)
    return len(seen), len(first), pages, kind


def main():
    """Reads all feeds."""
    feeds = sorted(find_feeds())
    kinds, entries, longest = {}, 0, 0
    for feed in feeds:
        count, _, pages, kind = read(feed)
        kinds[kind] = kinds.get(kind, 0) + 1
        entries += count
        longest = max(longest, pages)
    check("a long feed has many pages", longest >= 5)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())), f"with {entries} entries")


main()
