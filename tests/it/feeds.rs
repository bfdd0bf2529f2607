//! The feeds as readers parse them, and the files beside the pages.

use reqwest::StatusCode;
use roxmltree::{Document, Node};

use crate::client::{Client, HttpResponse};
use crate::community::Community;
use crate::pages::{error_message, page};
use crate::server::{Engine, Server, in_memory};

const SITE: (&str, &str) = ("site.url", "https://news.example.com");

/// The text of a feed, which must be there and be of this type.
async fn feed(client: &Client, path: &str, content_type: &str) -> String {
    let answer = client.get(path).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["content-type"], content_type);
    answer.text()
}

async fn rss(client: &Client) -> String {
    feed(client, "/rss", "application/rss+xml; charset=utf-8").await
}

async fn atom(client: &Client) -> String {
    feed(client, "/atom", "application/atom+xml; charset=utf-8").await
}

/// The children of an element with a name.
pub fn children<'a>(node: Node<'a, 'a>, name: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

/// The text of the one child with a name.
#[track_caller]
fn text<'a>(node: Node<'a, 'a>, name: &'a str) -> &'a str {
    let mut found = children(node, name);
    let text = found.next().unwrap_or_else(|| panic!("an element {name}")).text().unwrap_or_default();
    assert!(found.next().is_none(), "one element {name}");
    text
}

/// The address in the one link of a relation.
#[track_caller]
fn link<'a>(node: Node<'a, 'a>, relation: &'a str) -> &'a str {
    let mut found = children(node, "link").filter(|link| link.attribute("rel") == Some(relation));
    let address = found.next().and_then(|link| link.attribute("href")).expect("a link");
    assert!(found.next().is_none(), "one link {relation}");
    address
}

#[tokio::test]
async fn the_feeds_list_what_is_new_with_absolute_links_and_dates() {
    let settings = [SITE, ("site.name", "News & <more>"), ("site.description", "\"What\" we read")];
    let community = Community::new(Engine::Memory, &settings).await;
    community.server.advance(86_400 + 3_661);
    community.bob.submit_link("A <b> & \"c\" 'd' ]]> 🦀", "http://example.com/ü?a=1&b=<2>").await;
    let visitor = community.server.visitor();

    let rss = rss(&visitor).await;
    let document = Document::parse(&rss).unwrap();
    let root = document.root_element();
    assert_eq!((root.tag_name().name(), root.attribute("version")), ("rss", Some("2.0")));
    let channel = children(root, "channel").next().unwrap();
    assert_eq!(text(channel, "title"), "News & <more>");
    assert_eq!(text(channel, "description"), "\"What\" we read");
    assert_eq!(text(channel, "lastBuildDate"), "Sat, 16 Jan 2027 09:01:01 +0000");
    let items: Vec<_> = children(channel, "item").collect();
    assert_eq!(items.len(), 3);
    assert_eq!(text(items[0], "title"), "A <b> & \"c\" 'd' ]]> 🦀");
    assert_eq!(text(items[0], "link"), "http://example.com/%C3%BC?a=1&b=%3C2%3E");
    assert_eq!(text(items[0], "guid"), "tag:news.example.com,2027-01-16:story/4");
    let guid = children(items[0], "guid").next().unwrap();
    assert_eq!(guid.attribute("isPermaLink"), Some("false"));
    assert_eq!(text(items[0], "comments"), "https://news.example.com/news/4");
    assert_eq!(text(items[0], "pubDate"), "Sat, 16 Jan 2027 09:01:01 +0000");
    assert_eq!(text(items[0], "creator"), "bob");
    assert_eq!(text(items[1], "title"), "A text");
    assert_eq!(text(items[1], "link"), "https://news.example.com/news/2");
    assert_eq!(text(items[1], "pubDate"), "Fri, 15 Jan 2027 08:00:00 +0000");
    assert!(text(items[1], "description").starts_with("<p>Some text</p>"));
    assert_eq!(text(items[2], "link"), "http://example.com/one");

    let atom = atom(&visitor).await;
    let document = Document::parse(&atom).unwrap();
    let root = document.root_element();
    assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2005/Atom"));
    assert_eq!(text(root, "title"), "News & <more>");
    assert_eq!(text(root, "updated"), "2027-01-16T09:01:01Z");
    assert_eq!(link(root, "self"), "https://news.example.com/atom");
    assert_eq!(link(root, "alternate"), "https://news.example.com/");
    let entries: Vec<_> = children(root, "entry").collect();
    assert_eq!(entries.len(), 3);
    assert_eq!(text(entries[0], "title"), "A <b> & \"c\" 'd' ]]> 🦀");
    assert_eq!(link(entries[0], "alternate"), "http://example.com/%C3%BC?a=1&b=%3C2%3E");
    assert_eq!(text(entries[0], "id"), "tag:news.example.com,2027-01-16:story/4");
    assert_eq!(text(entries[0], "published"), "2027-01-16T09:01:01Z");
    assert_eq!(text(children(entries[0], "author").next().unwrap(), "name"), "bob");
    assert_eq!(link(entries[1], "alternate"), "https://news.example.com/news/2");
    assert_eq!(text(entries[1], "content"), "<p>Some text</p>");
    assert_eq!(children(entries[1], "content").next().unwrap().attribute("type"), Some("html"));
    assert_eq!(text(entries[1], "updated"), "2027-01-15T08:00:00Z");
}

/// How many items each feed has; both must be whole.
async fn lengths(client: &Client) -> [usize; 2] {
    let (rss, atom) = (rss(client).await, atom(client).await);
    let count = |feed: &str, name: &str| {
        let document = Document::parse(feed).unwrap();
        document.descendants().filter(|node| node.tag_name().name() == name).count()
    };
    [count(&rss, "item"), count(&atom, "entry")]
}

#[in_memory(&[SITE])]
async fn a_feed_has_at_most_30_items_and_may_be_empty(server: Server) {
    assert_eq!(lengths(&server.visitor()).await, [0, 0]);
    let alice = server.member("alice").await;
    for number in 0..31 {
        alice.submit_text(&format!("Number {number}"), "text").await;
    }
    assert_eq!(lengths(&server.visitor()).await, [30, 30]);
    let rss = rss(&server.visitor()).await;
    assert!(rss.contains("Number 30<") && !rss.contains("Number 0<"));
}

#[tokio::test]
async fn feeds_are_the_same_for_everyone() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[SITE]).await;
    let liar =
        alice.clone().with_header("host", "192.0.2.66").with_header("x-forwarded-host", "evil.example");
    assert_eq!(rss(&server.visitor()).await, rss(&liar).await);
    assert_eq!(atom(&server.visitor()).await, atom(&liar).await);
}

#[tokio::test]
async fn what_no_xml_can_hold_and_no_browser_should_open_spoils_no_feed() {
    let Community { server, .. } = Community::new(Engine::Memory, &[SITE]).await;
    // As the database of an old site may have them.
    server.set_field("news:1", "title", "a\u{0}\u{b}\u{fffe}<script>b").await;
    for url in ["javascript:alert(1)", "http://", "data:text/html,x", "http://a b/", "", "\u{1}http://x/"] {
        server.set_field("news:1", "url", url).await;
        server.set_field("user:1", "username", "<al\u{0}ice>&").await;
        assert_eq!(lengths(&server.visitor()).await, [2, 2]);
        let rss = rss(&server.visitor()).await;
        let document = Document::parse(&rss).unwrap();
        let item = document.descendants().filter(|node| node.tag_name().name() == "item").nth(1).unwrap();
        assert_eq!(text(item, "title"), "a<script>b");
        assert_eq!(text(item, "creator"), "<alice>&");
        assert_eq!(text(item, "link"), "https://news.example.com/news/1", "{url}");
    }
    server.set_field("news:1", "ctime", "99999999999999999").await;
    assert_eq!(lengths(&server.visitor()).await, [2, 2]);
}

/// The address of a file that the front page refers to.
async fn asset(client: &Client, element: &str, relation: &str, attribute: &str) -> String {
    let front = page(client, "/").await;
    let found = front.find(element, &[("rel", relation)]).into_iter().chain(front.all("script"));
    found.filter_map(|element| element.attribute(attribute)).next().unwrap().to_owned()
}

#[track_caller]
fn check_file(answer: &HttpResponse, content_type: &str, kept: &str) {
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["content-type"], content_type);
    assert_eq!(answer.headers["cache-control"], kept);
    assert_eq!(answer.headers.get_all("vary").iter().collect::<Vec<_>>(), ["accept-encoding"]);
    assert!(!answer.body.is_empty());
}

#[tokio::test]
async fn assets_are_cached_for_ever_under_unique_names() {
    let Community { server, alice, .. } = Community::new(Engine::Memory, &[]).await;
    let visitor = server.visitor();
    let style = asset(&visitor, "link", "stylesheet", "href").await;
    let icon = asset(&visitor, "link", "icon", "href").await;
    let script = asset(&visitor, "script", "", "src").await;
    let for_ever = "public, max-age=31536000, immutable";
    for client in [&visitor, &alice] {
        check_file(&client.get(&style).await, "text/css; charset=utf-8", for_ever);
        check_file(&client.get(&icon).await, "image/svg+xml", for_ever);
        check_file(&client.get(&script).await, "text/javascript; charset=utf-8", for_ever);
        check_file(&client.get("/favicon.ico").await, "image/x-icon", "public, max-age=86400");
    }
    let unknown = visitor.get(&style.replace("app-", "app-0")).await;
    error_message(&unknown, StatusCode::NOT_FOUND);
    assert_eq!(unknown.headers["cache-control"], "private, no-cache");
}

#[in_memory(&[SITE])]
async fn robots_txt_excludes_personal_pages_but_not_stories(server: Server) {
    let answer = server.visitor().get("/robots.txt").await;
    check_file(&answer, "text/plain; charset=utf-8", "public, max-age=86400");
    let robots = answer.text();
    let mut lines = robots.lines();
    assert_eq!(lines.next(), Some("User-agent: *"));
    let kept_out: Vec<&str> = lines.by_ref().map_while(|line| line.strip_prefix("Disallow: ")).collect();
    assert_eq!(lines.collect::<Vec<_>>(), ["Sitemap: https://news.example.com/sitemap.xml"]);
    let may_read = |path: &str| kept_out.iter().all(|start| !path.starts_with(start));
    for path in ["/", "/latest/0", "/news/1", "/news/1?at=1", "/user/alice", "/rss", "/about"] {
        assert!(may_read(path), "{path}");
    }
    for path in ["/submit?u=x", "/login?next=%2F", "/random", "/api/getnews/top/0/30", "/reply/1/1"] {
        assert!(!may_read(path), "{path}");
    }
}
