//! A small community: something to see on every page.

use std::sync::LazyLock;

use tidings_domain::accounts::access;
use tidings_web::route::{ErrorFormat, Facts, Readers};

use crate::client::{Client, ok};
use crate::routes::{routes_where, shared_reads};
use crate::server::{Engine, Server, Settings};

/// A site with an administrator, alice, with bob, and with what they wrote:
/// alice's link 1 under the topics links and examples, bob's text 2 and bob's link 3, which is deleted, with a
/// comment of alice's. On item 1 bob wrote comment 1, which alice answered
/// with 2; 3, deleted, which alice answered with 4; and 5, deleted.
pub struct Community {
    pub server: Server,
    pub alice: Client,
    pub bob: Client,
}

/// Texts that were written and must never be seen again.
pub const GONE: &[&str] = &["A withdrawn comment", "Another one", "A gone title", "gone.example"];

impl Community {
    pub async fn new(engine: Engine, settings: Settings<'_>) -> Self {
        Self::on(Server::start(engine, settings).await).await
    }

    /// The community on a site that nobody uses yet.
    pub async fn on(server: Server) -> Self {
        let alice = server.administrator("alice").await;
        let bob = server.member("bob").await;
        alice.submit_link_on("links, examples", "A link", "http://example.com/one").await;
        bob.submit_text("A text", "Some text").await;
        bob.submit_link("A gone title", "http://gone.example/").await;
        alice.comment(3, "It stays readable").await;
        ok(bob.delete(3).await);
        bob.comment(1, "A first comment").await;
        alice.reply(1, 1, "An answer").await;
        bob.comment(1, "A withdrawn comment").await;
        alice.reply(1, 3, "An answer to what was withdrawn").await;
        bob.comment(1, "Another one").await;
        for comment in [3, 5] {
            ok(bob.edit_comment(1, comment, "").await);
        }
        Self { server, alice, bob }
    }
}

/// The users that may see a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everyone, even while the store is unavailable.
    Always,
    /// Everyone.
    Everybody,
    /// Users who are logged in.
    Members,
    /// Alice, for it is about something of hers.
    Alice,
}

/// The page that every request changes: it shows how many there were.
pub const COUNTS_REQUESTS: &str = "/admin";

/// Pages for everyone, also while the store is unavailable.
const ALWAYS: &str = "/settings/deactivated /login /login/passkey /register?next=%2Fnews%2F1 /logout /reset-password \
    /about /about/trust /feeds /formatting /ranking /welcome?next=%2Fnews%2F1";

/// Public pages with other values and parameters than those of the table of addresses.
const VARIANTS: &str = "/latest/1 /best?page=2 /topic/links/new?page=2 /topic/links+examples/new /topic/links,examples \
    /latest/0?hidden=1 /past/2027-01/30 /news/2 /news/3 /news/1?at=1 /news/1?at=3 /news/3?at=1 \
    /comments?before=3 /moderations?kind=user&action=silence&moderator=alice&before=9 /user/BOB \
    /@BOB /@bob?before=1-1 /@bob/invited/25 /people/tree/25 /usernews/bob/0 /usercomments/bob/0 \
    /sites/worst/week /site/unknown.example";

/// Pages of users who are logged in, with values and parameters. The others are those of the table of addresses.
const OF_MEMBERS: &str = "/saved/0 /upvoted/0 /hidden/0 /submit?u=http%3A%2F%2Fexample.com%2F&t=A+%26+b /reply/1/1 \
    /inbox?kind=unread /inbox?kind=mention&before=1-follow:1 /flag/story/1 /flag/user/BOB \
    /moderators?moderation_id=1 /home?before=1-1";

/// Pages for alice.
const OF_ALICE: &str = "/editnews/1 /delnews/1 /editcomment/1/2 /moderate /moderate/person/bob /moderate/rules /people \
    /moderate/bans /moderate/reasons /moderate/figures /admin/hooks /moderate/erase/story/2 /moderate/menu/story/2 /moderate/menu/comment/1-1 \
    /moderate/reasons?reason_id=1 \
    /deltweet/1 /admin /admin/changes /admin/site /admin/sites /admin/sites?day=2027-01-14";

/// Addresses that answer without a page: those of crawlers and of a stream, those that lead on, and those that need more
/// settings or a passkey.
const NO_PAGES: [&str; 10] = [
    "/comment/1/1",
    "/item",
    "/sitemap.xml",
    "/sitemap/1",
    "/home/events",
    "/random",
    "/replies",
    "/search",
    "/settings/sign-in",
    "/settings/two-factor/passkeys/remove",
];

/// A page of every family there is. Those of visitors, and those of members without variables in their addresses, are of the
/// table of addresses.
pub static PAGES: LazyLock<Vec<(&str, Access)>> = LazyLock::new(|| {
    let is_page = |facts: &Facts| facts.errors == ErrorFormat::Page;
    let is_public = |facts: &Facts| is_page(facts) && matches!(facts.readers, Readers::Visitors(_));
    let is_closed = |facts: &Facts| facts.access != access::Access::Everyone && !facts.is_for_programs;
    let is_personal = |facts: &Facts| is_page(facts) && is_closed(facts) && facts.readers == Readers::Each;
    let by_access = [
        (ALWAYS, Access::Always),
        (VARIANTS, Access::Everybody),
        (OF_MEMBERS, Access::Members),
        (OF_ALICE, Access::Alice),
    ];
    let named =
        by_access.into_iter().flat_map(|(pages, access)| pages.split(' ').map(move |page| (page, access)));
    let named: Vec<_> = named.collect();
    let public = shared_reads(is_public).into_iter().map(|path| (path, Access::Everybody));
    let personal = routes_where(|route| route.get.filter(is_personal)).into_iter();
    let personal = personal.filter(|path| !path.contains('{')).map(|path| (path, Access::Members));
    let declared = public.chain(personal).map(|(path, access)| (&*path.leak(), access));
    let is_other = |path| !NO_PAGES.contains(&path) && named.iter().all(|(page, _)| *page != path);
    let others: Vec<_> = declared.filter(|(path, _)| is_other(*path)).collect();
    [named, others].concat()
});
