//! Kinds of damage to a store of the community with everything.

use std::time::Duration;

use tidings_keyspace::Batch;

/// Damage to a store.
pub struct Damage {
    /// The damage, in words.
    pub what: &'static str,
    /// The key at which it is found.
    pub key: &'static str,
    /// How it is done, mostly to that key.
    pub write: fn(&mut Batch, &str),
    /// Whether a repair mends it; otherwise the report names it for a person.
    pub is_mended: bool,
}

const fn mended(what: &'static str, key: &'static str, write: fn(&mut Batch, &str)) -> Damage {
    Damage { what, key, write, is_mended: true }
}

const fn named(what: &'static str, key: &'static str, write: fn(&mut Batch, &str)) -> Damage {
    Damage { what, key, write, is_mended: false }
}

pub const DAMAGES: &[Damage] = &[
    mended("a story is not in the list by rank", "news.top", |b, key| b.sorted_remove(key, "1")),
    mended("a story is not in the list by time", "news.cron", |b, key| b.sorted_remove(key, "1")),
    mended("a story is at another time", "news.cron", |b, key| b.sorted_add(key, "1", 7.0)),
    mended("a story has another rank in the list", "news.top", |b, key| b.sorted_add(key, "1", -7.5)),
    mended("a deleted story is listed", "news.top", |b, key| b.sorted_add(key, "3", 1.0)),
    mended("a removed story is listed", "news.cron", |b, key| b.sorted_add(key, "4", 1.0)),
    mended("a story that does not exist is listed", "news.cron", |b, key| b.sorted_add(key, "77", 1.0)),
    mended("a list by votes is lost", "news.votes:day", |b, key| b.delete(key)),
    mended("a story that does not exist is listed by votes", "news.votes:week", |b, key| {
        b.sorted_add(key, "001800000000-000000000077", 1.0)
    }),
    mended("a list by votes has what is no story", "news.votes:all", |b, key| b.sorted_add(key, "x", 1.0)),
    mended("a list has what is no id", "news.cron", |b, key| b.sorted_add(key, "x", 1.0)),
    mended("a story is not in its author's list", "user.posted:1", |b, key| b.sorted_remove(key, "1")),
    mended("another's story is in a list", "user.posted:2", |b, key| b.sorted_add(key, "1", 1.0)),
    mended("a shown story is among those gone", "user:1:gone_stories", |b, key| b.sorted_add(key, "1", 1.0)),
    mended("a shown comment is among those gone", "user:2:gone_comments", |b, key| {
        b.sorted_add(key, "1-1", 1.0)
    }),
    mended("a story is not in its site's list", "host.news:example.com", |b, key| b.sorted_remove(key, "1")),
    mended("a story is in another site's list", "host.news:other.example", |b, key| {
        b.sorted_add(key, "1", 1.0)
    }),
    mended("a story has no item number", "items", |b, key| b.sorted_remove(key, "news:1")),
    mended("a comment has no item number", "items", |b, key| b.sorted_remove(key, "comment:1:1")),
    mended("the last item number is too low", "items.count", |b, key| b.set(key, "1")),
    named("a number of nothing", "items", |b, key| b.sorted_add(key, "news:77", 1.0)),
    mended("two items have one number", "items", |b, key| b.sorted_add(key, "comment:1:1", 1.0)),
    mended("a post that waits is not in the list of unseen posts", "unseen:6", |b, key| {
        b.sorted_remove(key, format!("story:{HELD_STORY}"))
    }),
    mended("the lists of unseen posts are lost", "unseen:6", |b, key| b.delete(key)),
    mended("a post that is shown is unseen", "unseen:1", |b, key| b.sorted_add(key, "story:1", 1.0)),
    mended("another's post is unseen", "unseen:1", |b, key| {
        b.sorted_add(key, format!("story:{HELD_STORY}"), 1.0)
    }),
    mended("a tweet that does not exist is unseen", "unseen:1", |b, key| b.sorted_add(key, "tweet:77", 1.0)),
    mended("what is no post is unseen", "unseen:1", |b, key| b.sorted_add(key, "user:bob", 1.0)),
    named("karma from an archive is no number", "user:2", |b, key| b.set_field(key, "untrusted_karma", "x")),
    named("a comment has lost its votes", "thread:comment:1", |b, key| {
        b.set_field(key, "1", r#"{"body":"b","ctime":1,"user_id":2,"parent_id":-1,"up":[],"down":[]}"#)
    }),
    named("a comment lacks its author's vote", "thread:comment:1", |b, key| {
        b.set_field(key, "1", r#"{"body":"b","ctime":1,"user_id":2,"parent_id":-1,"up":[3],"down":[]}"#)
    }),
    named("votes on a comment are no list", "thread:comment:1", |b, key| {
        b.set_field(key, "1", r#"{"body":"b","ctime":1,"user_id":2,"parent_id":-1,"up":[2],"down":"x"}"#)
    }),
    named("a removed comment names no line", "thread:comment:1", |b, key| {
        let json = r#"{"body":"b","ctime":1,"user_id":2,"parent_id":-1,"up":[2],"down":[],"withheld":"removed:why"}"#;
        b.set_field(key, "1", json)
    }),
    mended("votes up are miscounted", "news:1", |b, key| b.increment_field(key, "up", 3)),
    mended("votes down are miscounted", "news:2", |b, key| b.increment_field(key, "down", -1)),
    mended("comments are miscounted", "news:1", |b, key| b.increment_field(key, "comments", 1)),
    named("a vote of nobody", "news.up:1", |b, key| {
        b.sorted_add(key, "77", 1.0);
        b.increment_field("news:1", "up", 1);
    }),
    mended("a vote in both directions", "news.down:1", |b, key| {
        b.sorted_add(key, "3", 1.0);
        b.increment_field("news:1", "down", 1);
    }),
    named("votes up are lost", "news.up:1", |b, key| b.delete(key)),
    named("votes up are lost, and those on the article", "news.up:1", |b, key| {
        b.delete(key);
        b.delete("voted:1");
    }),
    mended("the votes on an article are lost", "article:1", |b, _| b.delete("voted:1")),
    named("votes down are lost", "news.down:2", |b, key| b.delete(key)),
    named("a thread is lost", "thread:comment:1", |b, key| b.delete(key)),
    mended("followers are lost", "user:2:followers", |b, key| b.delete(key)),
    mended("whom a user follows is lost", "user:3:followings", |b, key| b.delete(key)),
    named("followers are lost on both sides", "users.by_followers", |b, _| {
        b.delete("user:2:followers");
        b.delete("user:1:followings");
        b.delete("user:3:followings");
    }),
    named("nobody is followed", "user:1:followings", |b, key| b.sorted_add(key, "77", 1.0)),
    named("nobody follows", "user:1:followers", |b, key| b.sorted_add(key, "77", 1.0)),
    named("no story is subscribed to", "user:1:subscriptions", |b, key| b.sorted_add(key, "77", 1.0)),
    named("nobody has invited a user", "user:2", |b, key| b.set_field(key, "invited_by", "77")),
    named("an unread entry of nobody", "user:77:inbox", |b, key| {
        b.sorted_add(key, "reply:1-70", 1.0);
        b.sorted_add("user:77:unread", "reply:1-70", 1.0);
    }),
    mended("a story that waits is in its author's list", "user.posted:6", |b, key| {
        b.sorted_add(key, HELD_STORY, 1.0)
    }),
    mended("a story that waits has no vote", "news:7", |b, _| {
        b.set_field(format!("news:{HELD_STORY}"), "up", "0")
    }),
    named("votes on no story", "news.up:78", |b, key| b.sorted_add(key, "1", 1.0)),
    named("a story without an author", "news:2", |b, key| b.set_field(key, "user_id", "78")),
    named("a story with another id", "news:1", |b, key| b.set_field(key, "id", "8")),
    named("a story without a title", "news:1", |b, key| b.delete_field(key, "title")),
    named("a hidden story that does not exist", "user:4:hidden", |b, key| b.sorted_add(key, "77", 1.0)),
    named("a saved story that does not exist", "user:1:saved", |b, key| b.sorted_add(key, "77", 1.0)),
    named("an upvoted story that does not exist", "user.saved:1", |b, key| b.sorted_add(key, "77", 1.0)),
    mended("a link that leads nowhere", "url:http://a.example/", |b, key| {
        b.set_expiring(key, "77", Duration::from_secs(60))
    }),
    mended("a link that never expires", "url:http://example.com/one", |b, key| b.set(key, "1")),
    mended("subscribers lack a user", "news.subscribers:1", |b, _| {
        b.sorted_add("user:1:subscriptions", "1", 5.0)
    }),
    mended("a comment is not in its author's list", "user.comments:2", |b, key| b.sorted_remove(key, "1-1")),
    mended("another's comment is in a list", "user.comments:1", |b, key| b.sorted_add(key, "1-1", 1.0)),
    mended("a comment that does not exist is listed", "user.comments:1", |b, key| {
        b.sorted_add(key, "1-70", 1.0)
    }),
    mended("the counter of a thread is too low", "thread:comment:1", |b, key| {
        b.set_field(key, "nextid", "2")
    }),
    named("a comment is no JSON", "thread:comment:1", |b, key| b.set_field(key, "1", "{")),
    named("a thread of no story", "thread:comment:79", |b, key| b.set_field(key, "nextid", "0")),
    mended("an article is gone", "article:1", |b, key| b.delete(key)),
    mended("an article has another title", "article:1", |b, key| b.set_field(key, "title", "x")),
    mended("an article lacks its link", "article:1", |b, key| b.delete_field(key, "link")),
    mended("an article has a field too many", "article:1", |b, key| b.set_field(key, "extra", "1")),
    mended("an article is not listed", "article:1", |b, _| b.sorted_remove("time:", "article:1")),
    mended("an article has another score", "article:1", |b, _| b.sorted_add("score:", "article:1", 5.0)),
    mended("an article of no story", "time:", |b, key| b.sorted_add(key, "article:77", 5.0)),
    mended("an article of a deleted story", "score:", |b, key| b.sorted_add(key, "article:3", 5.0)),
    mended("voters of no article", "voted:77", |b, key| {
        b.add_member(key, "user:1");
        b.expire(key, Duration::from_secs(60));
    }),
    mended("a topic lacks an article", "article:1", |b, _| {
        b.remove_member("group:links", "article:1");
        b.sorted_increment("topics", "links", -1.0);
    }),
    mended("a topic has another's article", "group:links", |b, key| {
        b.add_member(key, "article:2");
        b.sorted_increment("topics", "links", 1.0);
    }),
    mended("a topic is miscounted", "topics", |b, key| b.sorted_increment(key, "links", 2.0)),
    mended("a topic keeps a place for a shown story", "group.withheld:links", |b, key| {
        b.add_member(key, "article:1")
    }),
    named("a name leads nowhere", "username.to.id:nobody", |b, key| b.set(key, "77")),
    named("a name leads to another", "username.to.id:bob", |b, key| b.set(key, "1")),
    mended("a name does not lead to its user", "username.to.id:bob", |b, key| b.delete(key)),
    mended("a name for the eye leads nowhere", "username.folded:nobody", |b, key| b.set(key, "77")),
    named("a user has another id", "user:2", |b, key| b.set_field(key, "id", "9")),
    mended("a session of nobody", SESSION, |b, key| {
        b.set_field(key, "user_id", "77");
        b.expire(key, Duration::from_secs(60));
    }),
    mended("a session of Lamer News of nobody", "auth:0123456789abcdef0123456789abcdef01234567", |b, key| {
        b.set(key, "77")
    }),
    mended("who was invited is in no list", "invites:by:1", |b, key| b.sorted_remove(key, "5")),
    mended("who was not invited is in a list", "invites:by:1", |b, key| b.sorted_add(key, "3", 1.0)),
    mended("the tree lacks a root", "invites:roots", |b, key| b.sorted_remove(key, "1")),
    mended("the tree has a root too many", "invites:roots", |b, key| b.sorted_add(key, "3", 1.0)),
    mended("who gets a digest is in no list", "mail:digest:daily", |b, key| b.sorted_remove(key, "2")),
    mended("who gets none is in a list", "mail:digest:weekly", |b, key| b.sorted_add(key, "2", 1.0)),
    named("a list of no user", "user:77:inbox", |b, key| b.sorted_add(key, "follow:1", 1.0)),
    mended("the badge is miscounted", "user:1", |b, key| b.increment_field(key, "replies", 2)),
    mended("an entry about nothing", "user:1:inbox", |b, key| b.sorted_add(key, "reply:1-70", 1.0)),
    mended("an unread entry is not in the inbox", "user:1:inbox", |b, key| {
        b.sorted_remove(key, "mention:tweet:4");
    }),
    named("a mention that is no tweet", "user:1:mentions", |b, key| b.sorted_add(key, "x", 1.0)),
    mended("a tweet is not in its author's timeline", "user:2:user_timeline", |b, key| {
        b.sorted_remove(key, "2")
    }),
    mended("another's tweet is in a timeline", "user:1:user_timeline", |b, key| b.sorted_add(key, "2", 1.0)),
    mended("no tweet is in the timeline of everyone", "global_timeline", |b, key| {
        b.sorted_add(key, "77", 1.0)
    }),
    mended("a home timeline is lost", "user:3:home_timeline", |b, key| b.delete(key)),
    mended("a stranger's tweet is in a home timeline", "user:3:home_timeline", |b, key| {
        b.sorted_add(key, "1", 1.0)
    }),
    mended("a home timeline lacks a tweet", "user:3:home_timeline", |b, key| b.sorted_remove(key, "2")),
    named("a tweet without a text", "tweet:2", |b, key| b.delete_field(key, "text")),
    mended("a follower is not listed", "user:2:followers", |b, key| b.sorted_remove(key, "3")),
    mended("nobody who follows is listed", "user:3:followers", |b, key| b.sorted_add(key, "1", 1.0)),
    mended("followers are miscounted", "users.by_followers", |b, key| b.sorted_add(key, "2", 9.0)),
    mended("a floor of nobody", "timeline:floors", |b, key| b.sorted_add(key, "77", 1.0)),
    mended("a pulled author who does not exist", "timeline:pulled", |b, key| b.add_member(key, "77")),
    mended("nobody knows when a mail that waits was written", "mail:written", |b, key| {
        b.sorted_remove(key, "notice:2:password-1800000000-bob@example.org")
    }),
    mended("a mail that was written and does not wait", "mail:written", |b, key| {
        b.sorted_add(key, "digest:2:1-2", 1.0)
    }),
    named("a feed that is none", "hub:feeds", |b, key| b.set_field(key, "x", "1")),
    named("a lost thing that is none", "hub:lost", |b, key| b.sorted_add(key, "x", 1.0)),
    named("the ids of feeds begin with no host", "site.tag", |b, key| b.set(key, "2026-11-29")),
    named("a place that is none", "hub:state", |b, key| b.set_field(key, "place", "x")),
    named("a webhook that cannot be read", "hooks:all", |b, key| b.set_field(key, "x", "{}")),
    mended("an event that is none", "hooks:events", |b, key| b.sorted_add(key, "x", 1.0)),
    mended("a message to nobody", "hooks:outbox:7", |b, key| b.sorted_add(key, "1:test", 1.0)),
    mended("a result of nobody", "hooks:results:7", |b, key| b.sorted_add(key, "{}", 1.0)),
    named("a lease without an end", "queue:leases", |b, key| b.set_field(key, "hub", "x")),
    mended("a mail that is none", "mail:outbox", |b, key| b.sorted_add(key, "x", 1e12)),
    mended("a line of the log is not listed", "moderation:log", |b, key| b.sorted_remove(key, "2")),
    named("a line of the log is gone", "moderation:log", |b, _| b.delete("moderation:2")),
    mended("a row of the queue about nothing", "review:queue", |b, key| {
        b.sorted_add(key, "story:1", 1_718_000_000_000.0)
    }),
    mended("a row that is none", "review:queue", |b, key| b.sorted_add(key, "x", 1.0)),
    mended("flags wait without a row", "review:queue", |b, key| b.sorted_remove(key, "story:2")),
    mended("flags have another weight", "flags:story:2", |b, key| {
        b.set_field(key, "waiting", "7:1800000000")
    }),
    mended("what was not flagged is in a list", "user:3:flags", |b, key| b.sorted_add(key, "story:1", 1.0)),
    mended("a ban ends and is not listed", "bans:ending", |b, key| b.sorted_remove(key, "4")),
    mended("a ban that is none is listed", "bans:ending", |b, key| b.sorted_add(key, "1", 1e12)),
    named("an appeal against no line", "appeal:77", |b, key| {
        b.set_fields(key, [("user_id", "1"), ("time", "5"), ("decided_by", "2")])
    }),
    mended("a thread that is not listed", "messages:all", |b, key| b.sorted_remove(key, "1")),
    mended("a thread that waits and is not in the queue", "review:queue", |b, key| {
        b.sorted_remove(key, "message:1")
    }),
    mended("a thread of a member that does not exist", "user:3:message_threads", |b, key| {
        b.sorted_add(key, "77", 1.0)
    }),
    named("a message that is none", "messages:1:texts", |b, key| b.set_field(key, "1", "x")),
    named("a rule that is none", "rules:all", |b, key| b.set_field(key, "1", "x")),
    mended("the sum of a site", "link:example.com", |b, key| b.increment_field(key, "sum_of_votes", 4)),
    mended("the votes of a network", "link:example.com:networks", |b, key| {
        b.increment_field(key, "198.51.100.0/24", 4)
    }),
    mended("the place of a site", "links:sum", |b, key| b.sorted_add(key, "example.com", 9.0)),
    mended("the place of no site", "links:count", |b, key| b.sorted_add(key, "gone.example", 9.0)),
    mended("votes on both names of a site with one", "link:example.com:twice", |b, key| {
        b.set_field(key, "sum:2027-01-15", "1")
    }),
    mended("figures of both names of a site with one", "link:example.com", |b, key| {
        b.set_field(key, "twice_count_of_votes", "1")
    }),
    mended("figures of no site", "link:gone.example", |b, key| b.set_field(key, "sum_of_votes", "3")),
    mended("the origin of no vote", "link:example.com:origins", |b, key| {
        b.set_field(key, "beda0000-0822-4342-0990-b92d94d9489a", "198.51.100.0/24")
    }),
    mended("a day of a site", "day:2027-01-15:links:count", |b, key| b.sorted_add(key, "example.com", 9.0)),
    mended("a day without votes", "day:2020-01-15:links:sum", |b, key| b.sorted_add(key, "example.com", 9.0)),
    mended("a prefix of no site", "prefix:0000", |b, key| b.add_member(key, "gone.example")),
    mended("an unfinished ban that is none", "sites:unfinished", |b, key| {
        b.add_member(key, "beda0000-0822-4342-0990-b92d94d9489a")
    }),
    mended("the counter of users", "users.count", |b, key| b.set(key, "2")),
    mended("the counter of stories", "news.count", |b, key| b.set(key, "1")),
    mended("the counter of tweets", "tweet:ids", |b, key| b.set(key, "1")),
    mended("the counter of the log", "moderation:count", |b, key| b.set(key, "1")),
    named("a key of another type", "news.top", |b, key| b.set(key, "x")),
    named("a key that must not expire", "site.logo", |b, key| b.expire(key, Duration::from_secs(60))),
    named("a removed story names no line", "news:4", |b, key| b.delete_field(key, "removed")),
    named("a removed story names a line that is lost", "news:4", |b, key| b.set_field(key, "removed", "77")),
    named("a story that is shown names what removed it", "news:1", |b, key| b.set_field(key, "removed", "1")),
    named("a removed profile names a line that is lost", "user:2", |b, key| {
        b.set_field(key, "removed", "77")
    }),
    named("a removed post names no line", "tweet:1", |b, key| b.set_field(key, "withheld", "removed:why")),
    named("a removed post names a line that is lost", "tweet:1", |b, key| {
        b.set_fields(key, [("withheld", "removed:why"), ("removed", "77")])
    }),
    named("a post that is shown names what removed it", "tweet:1", |b, key| b.set_field(key, "removed", "1")),
    named("the outcome of no flag", "user:3:flag_outcomes", |b, key| b.sorted_add(key, "x", 1.0)),
    named("the outcome of a flag by no line", "user:3:flag_outcomes", |b, key| {
        b.sorted_add(key, "+story:1", 77.0)
    }),
    mended("too many outcomes of flags", "user:3:flag_outcomes", |b, key| {
        (1..=201).for_each(|id| b.sorted_add(key, format!("+story:{id}"), 1.0))
    }),
    mended("a site without a vote is new to a voter", NEW_SITES, |b, key| {
        b.set_fields(VOTER, [("created_at", "2027-01-15T08:00:00Z"), ("is_banned", "0")]);
        b.set_fields(key, [("day", "2027-01-15"), ("count", "1"), ("example.com", "1")]);
    }),
    named("new sites of no voter", NEW_SITES, |b, key| {
        b.set_fields(key, [("day", "2027-01-15"), ("count", "0")])
    }),
    named("new sites without a day", NEW_SITES, |b, key| {
        b.set_fields(VOTER, [("created_at", "2027-01-15T08:00:00Z"), ("is_banned", "0")]);
        b.set_field(key, "count", "0");
    }),
    mended("a user does not say what second factors there are", "user:2", |b, _| {
        b.set_field("user:2:two_factor", "totp", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")
    }),
    named("the second factors of a user are lost", "user:2", |b, key| b.set_field(key, "two_factor", "totp")),
    named("one kind of second factors is lost", "user:2", |b, key| {
        b.set_field(key, "two_factor", "totp passkeys");
        b.set_field("user:2:two_factor", "totp", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP");
    }),
    named("a second factor without its form", "user:2:two_factor", |b, key| {
        b.set_field("user:2", "two_factor", "totp");
        b.set_field(key, "totp", "no base 32");
    }),
    named("too many topics are followed", "user:1:topics_followed", |b, key| {
        (0..26).for_each(|topic| b.sorted_add(key, format!("topic-{topic}"), 5.0))
    }),
    named("a topic is followed and muted", "user:1:topics_muted", |b, key| {
        b.sorted_add("user:1:topics_followed", "links", 5.0);
        b.sorted_add(key, "links", 5.0);
    }),
    mended("too many visits", "user:1:visits", |b, key| {
        (1..=201).for_each(|id| b.set_field(key, id.to_string(), "5 5 0 0 0"))
    }),
    named("a visit without its form", "user:1:visits", |b, key| b.set_field(key, "1", "5 5")),
    mended("too much that can be unread again", "user:1:marked_read", |b, key| {
        (1..=1_012).for_each(|id| b.set_field(key, format!("follow:{id}"), "5"));
        b.expire(key, Duration::from_secs(60));
    }),
    named("something that can be unread again without its form", "user:1:marked_read", |b, key| {
        b.set_field(key, "until", "5");
        b.expire(key, Duration::from_secs(60));
    }),
    mended("too many entries in an inbox", "user:1:inbox", |b, key| {
        b.set_field("user:1:messages", "last", "1020");
        for id in 1..=1_020 {
            b.set_field("user:1:messages", id.to_string(), "text");
            b.sorted_add(key, format!("moderation:{id}"), 5.0);
        }
        // Two of those that leave it are unread.
        for id in [1, 2] {
            b.sorted_add(key, format!("moderation:{id}"), f64::from(id));
            b.sorted_add("user:1:unread", format!("moderation:{id}"), f64::from(id));
        }
        b.increment_field("user:1", "replies", 2);
    }),
    mended("too many sessions", "user:1:sessions", |b, key| {
        (0..25).for_each(|id| b.sorted_add(key, format!("{id:064}"), 5.0));
        b.expire(key, Duration::from_secs(60));
    }),
    mended("a session in the list of another", "user:1:sessions", |b, _| {
        b.set_field(SESSION, "user_id", "2");
        b.expire(SESSION, Duration::from_secs(60));
        for list in ["user:1:sessions", "user:2:sessions"] {
            b.sorted_add(list, &SESSION["session:".len()..], 5.0);
            b.expire(list, Duration::from_secs(60));
        }
    }),
    named("a blocked user follows", "user:2:blocks", |b, key| b.set_field(key, "3", "5")),
    named("nobody is blocked", "user:2:blocks", |b, key| b.set_field(key, "77", "5")),
    named("a mute without its form", "user:2:mutes", |b, key| b.set_field(key, "x", "5")),
    mended("the counter of messages is too low", "user:1:messages", |b, key| b.set_field(key, "77", "text")),
    mended("people who were notified are miscounted", "user:1:notified:2027-01-15", |b, key| {
        b.set_fields(key, [("2", "1"), ("count", "5")]);
        b.expire(key, Duration::from_secs(60));
    }),
    named("the first administrator is nobody", "administrator.first", |b, key| b.set(key, "77")),
    named("what was imported is gone", "import:links", |b, key| b.set_field(key, "1", "77")),
    named("a setting without its form", "settings", |b, key| b.set_field(key, "voting_is_disabled", "x")),
    named("the logo is gone", "site", |b, key| {
        b.delete("site.logo");
        b.set_field(key, "logo", "0123456789ab.png 1x1");
    }),
    mended("networks of no site", "link:gone.example:networks", |b, key| {
        b.set_field(key, "198.51.100.0/24", "1")
    }),
    mended("an article of a story that is deleted", "article:3", |b, key| b.set_field(key, "title", "x")),
    named("an article that is none", "article:77", |b, key| b.set_field(key, "title", "x")),
    named("a subscriber is nobody", "news.subscribers:1", |b, key| b.sorted_add(key, "77", 5.0)),
    named("removed posts that are none", "moderation:1:posts", |b, key| b.sorted_add(key, "x", 5.0)),
    named("the facts of a line are none", "moderation:1", |b, key| b.set_field(key, "changed", "x")),
    named("the parts of a batch are none", "moderation:1", |b, key| b.set_field(key, "parts", "x")),
    mended("a part does not name its batch", "moderation:2", |b, _| {
        b.set_field("moderation:2", "parts", "1")
    }),
    named("visits of nobody", "user:77:visits", |b, key| b.set_field(key, "1", "5 5 0 0 0")),
    named("a counter of votes is no number", "news:1", |b, key| b.set_field(key, "up", "x")),
];

/// The first story that waits for approval.
const HELD_STORY: &str = "7";
const SESSION: &str = "session:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const VOTER: &str = "voter:beda0000-0822-4342-0990-b92d94d9489a";
const NEW_SITES: &str = "voter:beda0000-0822-4342-0990-b92d94d9489a:new";
