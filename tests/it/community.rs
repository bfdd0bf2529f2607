//! A small community: something to see on every page.

use crate::client::{Client, ok};
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
        let (alice, bob) = (server.member("alice").await, server.member("bob").await);
        server.set_field("user:1", "flags", "a").await;
        let link = [
            ("news_id", "-1"),
            ("title", "A link"),
            ("url", "http://example.com/one"),
            ("text", ""),
            ("topics", "links, examples"),
        ];
        ok(alice.api_post("/api/submit", &link).await);
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

/// A page of every family there is.
pub const PAGES: &[(&str, Access)] = &[
    ("/", Access::Everybody),
    ("/latest", Access::Everybody),
    ("/latest/0", Access::Everybody),
    ("/latest/1", Access::Everybody),
    ("/best", Access::Everybody),
    ("/best/new", Access::Everybody),
    ("/best?page=2", Access::Everybody),
    ("/topics", Access::Everybody),
    ("/topic/links", Access::Everybody),
    ("/topic/links/new?page=2", Access::Everybody),
    ("/topic/links+examples/new", Access::Everybody),
    ("/topic/links,examples", Access::Everybody),
    ("/saved/0", Access::Members),
    ("/saved", Access::Members),
    ("/upvoted", Access::Members),
    ("/upvoted/0", Access::Members),
    ("/top/0", Access::Everybody),
    ("/latest/0?hidden=1", Access::Everybody),
    ("/past", Access::Everybody),
    ("/past/2027-01", Access::Everybody),
    ("/past/2027-01/30", Access::Everybody),
    ("/hidden/0", Access::Members),
    ("/topics/followed", Access::Members),
    ("/topics/followed/new", Access::Members),
    ("/site/example.com/stories/0", Access::Everybody),
    ("/news/1", Access::Everybody),
    ("/news/2", Access::Everybody),
    ("/news/3", Access::Everybody),
    ("/submit", Access::Members),
    ("/submit?u=http%3A%2F%2Fexample.com%2F&t=A+%26+b", Access::Members),
    ("/editnews/1", Access::Alice),
    ("/delnews/1", Access::Alice),
    ("/news/1?at=1", Access::Everybody),
    ("/news/1?at=3", Access::Everybody),
    ("/news/3?at=1", Access::Everybody),
    ("/reply/1/1", Access::Members),
    ("/editcomment/1/2", Access::Alice),
    ("/inbox", Access::Members),
    ("/inbox?kind=unread", Access::Members),
    ("/inbox?kind=mention&before=1-follow:1", Access::Members),
    ("/flag/story/1", Access::Members),
    ("/flag/user/BOB", Access::Members),
    ("/moderators", Access::Members),
    ("/moderators?moderation_id=1", Access::Members),
    ("/messages", Access::Members),
    ("/moderate", Access::Alice),
    ("/comments", Access::Everybody),
    ("/comments?before=3", Access::Everybody),
    ("/moderations", Access::Everybody),
    ("/moderate/person/bob", Access::Alice),
    ("/moderate/rules", Access::Alice),
    ("/people", Access::Alice),
    ("/moderate/bans", Access::Alice),
    ("/moderate/reasons", Access::Alice),
    ("/moderate/figures", Access::Alice),
    ("/admin/hooks", Access::Alice),
    ("/moderate/erase/story/2", Access::Alice),
    ("/moderations?kind=user&action=silence&moderator=alice&before=9", Access::Everybody),
    ("/user/alice", Access::Everybody),
    ("/user/BOB", Access::Everybody),
    ("/@alice", Access::Everybody),
    ("/@BOB", Access::Everybody),
    ("/@bob?before=1-1", Access::Everybody),
    ("/@alice/followers", Access::Everybody),
    ("/@alice/followings", Access::Everybody),
    ("/@alice/invited", Access::Everybody),
    ("/@bob/invited/25", Access::Everybody),
    ("/people/tree", Access::Everybody),
    ("/people/tree/25", Access::Everybody),
    ("/settings/invitations", Access::Members),
    ("/home", Access::Members),
    ("/home?before=1-1", Access::Members),
    ("/everyone", Access::Everybody),
    ("/suggestions", Access::Members),
    ("/tweet/1", Access::Everybody),
    ("/deltweet/1", Access::Alice),
    ("/settings", Access::Members),
    ("/settings/reading", Access::Members),
    ("/settings/mail", Access::Members),
    ("/settings/account", Access::Members),
    ("/settings/sessions", Access::Members),
    ("/settings/mutes", Access::Members),
    ("/settings/deactivate", Access::Members),
    ("/settings/deactivated", Access::Always),
    ("/settings/two-factor", Access::Members),
    ("/settings/two-factor/app", Access::Members),
    ("/settings/two-factor/codes", Access::Members),
    ("/settings/two-factor/passkeys", Access::Members),
    ("/usernews/bob/0", Access::Everybody),
    ("/usercomments/bob/0", Access::Everybody),
    ("/usercomments/alice/0", Access::Everybody),
    ("/login", Access::Always),
    ("/login/passkey", Access::Always),
    ("/register?next=%2Fnews%2F1", Access::Always),
    ("/logout", Access::Always),
    ("/reset-password", Access::Always),
    ("/about", Access::Always),
    ("/about/trust", Access::Always),
    ("/feeds", Access::Always),
    ("/formatting", Access::Always),
    ("/ranking", Access::Always),
    ("/welcome?next=%2Fnews%2F1", Access::Always),
    ("/admin", Access::Alice),
    ("/admin/changes", Access::Alice),
    ("/admin/site", Access::Alice),
    ("/admin/sites", Access::Alice),
    ("/admin/sites?day=2027-01-14", Access::Alice),
    ("/sites", Access::Everybody),
    ("/sites/worst/week", Access::Everybody),
    ("/site/example.com", Access::Everybody),
    ("/site/unknown.example", Access::Everybody),
];
