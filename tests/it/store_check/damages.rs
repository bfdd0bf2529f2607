//! Kinds of damage to a store of the community with everything.

use std::time::Duration;

use tidings_keyspace::Batch;

/// Damage: what is done, the key at which it is found, and whether a repair mends it.
pub type Damage = (&'static str, fn(&mut Batch), &'static str, bool);

const MENDED: bool = true;
const NAMED: bool = false;

pub const DAMAGES: &[Damage] = &[
    ("a story is not in the list by rank", |b| b.sorted_remove("news.top", "1"), "news.top", MENDED),
    ("a story is not in the list by time", |b| b.sorted_remove("news.cron", "1"), "news.cron", MENDED),
    ("a story is at another time", |b| b.sorted_add("news.cron", "1", 7.0), "news.cron", MENDED),
    ("a story has another rank in the list", |b| b.sorted_add("news.top", "1", -7.5), "news.top", MENDED),
    ("a deleted story is listed", |b| b.sorted_add("news.top", "3", 1.0), "news.top", MENDED),
    ("a removed story is listed", |b| b.sorted_add("news.cron", "4", 1.0), "news.cron", MENDED),
    ("a story that does not exist is listed", |b| b.sorted_add("news.cron", "77", 1.0), "news.cron", MENDED),
    ("a list has what is no id", |b| b.sorted_add("news.cron", "x", 1.0), "news.cron", MENDED),
    (
        "a story is not in its author's list",
        |b| b.sorted_remove("user.posted:1", "1"),
        "user.posted:1",
        MENDED,
    ),
    ("another's story is in a list", |b| b.sorted_add("user.posted:2", "1", 1.0), "user.posted:2", MENDED),
    (
        "a story is not in its site's list",
        |b| b.sorted_remove("host.news:example.com", "1"),
        "host.news:example.com",
        MENDED,
    ),
    (
        "a story is in another site's list",
        |b| b.sorted_add("host.news:other.example", "1", 1.0),
        "host.news:other.example",
        MENDED,
    ),
    ("a story has no item number", |b| b.sorted_remove("items", "news:1"), "items", MENDED),
    ("a comment has no item number", |b| b.sorted_remove("items", "comment:1:1"), "items", MENDED),
    ("the last item number is too low", |b| b.set("items.count", "1"), "items.count", MENDED),
    ("a number of nothing", |b| b.sorted_add("items", "news:77", 1.0), "items", NAMED),
    ("votes up are miscounted", |b| b.increment_field("news:1", "up", 3), "news:1", MENDED),
    ("votes down are miscounted", |b| b.increment_field("news:2", "down", -1), "news:2", MENDED),
    ("comments are miscounted", |b| b.increment_field("news:1", "comments", 1), "news:1", MENDED),
    (
        "a vote of nobody",
        |b| {
            b.sorted_add("news.up:1", "77", 1.0);
            b.increment_field("news:1", "up", 1);
        },
        "news.up:1",
        NAMED,
    ),
    (
        "a vote in both directions",
        |b| {
            b.sorted_add("news.down:1", "3", 1.0);
            b.increment_field("news:1", "down", 1);
        },
        "news.down:1",
        MENDED,
    ),
    ("votes up are lost", |b| b.delete("news.up:1"), "news.up:1", NAMED),
    (
        "votes up are lost, and those on the article",
        |b| {
            b.delete("news.up:1");
            b.delete("voted:1");
        },
        "news.up:1",
        NAMED,
    ),
    ("the votes on an article are lost", |b| b.delete("voted:1"), "article:1", MENDED),
    ("votes down are lost", |b| b.delete("news.down:2"), "news.down:2", NAMED),
    ("a thread is lost", |b| b.delete("thread:comment:1"), "thread:comment:1", NAMED),
    ("followers are lost", |b| b.delete("user:2:followers"), "user:2:followers", MENDED),
    ("whom a user follows is lost", |b| b.delete("user:3:followings"), "user:3:followings", MENDED),
    (
        "followers are lost on both sides",
        |b| {
            b.delete("user:2:followers");
            b.delete("user:1:followings");
            b.delete("user:3:followings");
        },
        "users.by_followers",
        NAMED,
    ),
    ("nobody is followed", |b| b.sorted_add("user:1:followings", "77", 1.0), "user:1:followings", NAMED),
    ("nobody follows", |b| b.sorted_add("user:1:followers", "77", 1.0), "user:1:followers", NAMED),
    (
        "no story is subscribed to",
        |b| b.sorted_add("user:1:subscriptions", "77", 1.0),
        "user:1:subscriptions",
        NAMED,
    ),
    ("nobody has invited a user", |b| b.set_field("user:2", "invited_by", "77"), "user:2", NAMED),
    (
        "an unread entry of nobody",
        |b| {
            b.sorted_add("user:77:inbox", "reply:1-70", 1.0);
            b.sorted_add("user:77:unread", "reply:1-70", 1.0);
        },
        "user:77:inbox",
        NAMED,
    ),
    (
        "a story that waits is in its author's list",
        |b| b.sorted_add("user.posted:6", HELD_STORY, 1.0),
        "user.posted:6",
        MENDED,
    ),
    (
        "a story that waits has no vote",
        |b| b.set_field(format!("news:{HELD_STORY}"), "up", "0"),
        "news:7",
        MENDED,
    ),
    ("votes on no story", |b| b.sorted_add("news.up:78", "1", 1.0), "news.up:78", NAMED),
    ("a story without an author", |b| b.set_field("news:2", "user_id", "78"), "news:2", NAMED),
    ("a story with another id", |b| b.set_field("news:1", "id", "8"), "news:1", NAMED),
    ("a story without a title", |b| b.delete_field("news:1", "title"), "news:1", NAMED),
    (
        "a hidden story that does not exist",
        |b| b.sorted_add("user:4:hidden", "77", 1.0),
        "user:4:hidden",
        NAMED,
    ),
    ("a saved story that does not exist", |b| b.sorted_add("user:1:saved", "77", 1.0), "user:1:saved", NAMED),
    (
        "an upvoted story that does not exist",
        |b| b.sorted_add("user.saved:1", "77", 1.0),
        "user.saved:1",
        NAMED,
    ),
    (
        "a link that leads nowhere",
        |b| b.set_expiring("url:http://a.example/", "77", Duration::from_secs(60)),
        "url:http://a.example/",
        MENDED,
    ),
    (
        "a link that never expires",
        |b| b.set("url:http://example.com/one", "1"),
        "url:http://example.com/one",
        MENDED,
    ),
    (
        "subscribers lack a user",
        |b| b.sorted_add("user:1:subscriptions", "1", 5.0),
        "news.subscribers:1",
        MENDED,
    ),
    (
        "a comment is not in its author's list",
        |b| b.sorted_remove("user.comments:2", "1-1"),
        "user.comments:2",
        MENDED,
    ),
    (
        "another's comment is in a list",
        |b| b.sorted_add("user.comments:1", "1-1", 1.0),
        "user.comments:1",
        MENDED,
    ),
    (
        "a comment that does not exist is listed",
        |b| b.sorted_add("user.comments:1", "1-70", 1.0),
        "user.comments:1",
        MENDED,
    ),
    (
        "the counter of a thread is too low",
        |b| b.set_field("thread:comment:1", "nextid", "2"),
        "thread:comment:1",
        MENDED,
    ),
    ("a comment is no JSON", |b| b.set_field("thread:comment:1", "1", "{"), "thread:comment:1", NAMED),
    ("a thread of no story", |b| b.set_field("thread:comment:79", "nextid", "0"), "thread:comment:79", NAMED),
    ("an article is gone", |b| b.delete("article:1"), "article:1", MENDED),
    ("an article has another title", |b| b.set_field("article:1", "title", "x"), "article:1", MENDED),
    ("an article has another score", |b| b.sorted_add("score:", "article:1", 5.0), "article:1", MENDED),
    ("an article of no story", |b| b.sorted_add("time:", "article:77", 5.0), "time:", MENDED),
    ("an article of a deleted story", |b| b.sorted_add("score:", "article:3", 5.0), "score:", MENDED),
    (
        "voters of no article",
        |b| {
            b.add_member("voted:77", "user:1");
            b.expire("voted:77", Duration::from_secs(60));
        },
        "voted:77",
        MENDED,
    ),
    (
        "a topic lacks an article",
        |b| {
            b.remove_member("group:links", "article:1");
            b.sorted_increment("topics", "links", -1.0);
        },
        "article:1",
        MENDED,
    ),
    (
        "a topic has another's article",
        |b| {
            b.add_member("group:links", "article:2");
            b.sorted_increment("topics", "links", 1.0);
        },
        "group:links",
        MENDED,
    ),
    ("a topic is miscounted", |b| b.sorted_increment("topics", "links", 2.0), "topics", MENDED),
    (
        "a topic keeps a place for a shown story",
        |b| b.add_member("group.withheld:links", "article:1"),
        "group.withheld:links",
        MENDED,
    ),
    ("a name leads nowhere", |b| b.set("username.to.id:nobody", "77"), "username.to.id:nobody", NAMED),
    ("a name leads to another", |b| b.set("username.to.id:bob", "1"), "username.to.id:bob", NAMED),
    ("a name does not lead to its user", |b| b.delete("username.to.id:bob"), "username.to.id:bob", MENDED),
    (
        "a name for the eye leads nowhere",
        |b| b.set("username.folded:nobody", "77"),
        "username.folded:nobody",
        MENDED,
    ),
    ("a user has another id", |b| b.set_field("user:2", "id", "9"), "user:2", NAMED),
    (
        "a session of nobody",
        |b| {
            b.set_field(SESSION, "user_id", "77");
            b.expire(SESSION, Duration::from_secs(60));
        },
        SESSION,
        MENDED,
    ),
    (
        "a session of Lamer News of nobody",
        |b| b.set("auth:0123456789abcdef0123456789abcdef01234567", "77"),
        "auth:0123456789abcdef0123456789abcdef01234567",
        MENDED,
    ),
    ("who was invited is in no list", |b| b.sorted_remove("invites:by:1", "5"), "invites:by:1", MENDED),
    ("who was not invited is in a list", |b| b.sorted_add("invites:by:1", "3", 1.0), "invites:by:1", MENDED),
    ("the tree lacks a root", |b| b.sorted_remove("invites:roots", "1"), "invites:roots", MENDED),
    ("the tree has a root too many", |b| b.sorted_add("invites:roots", "3", 1.0), "invites:roots", MENDED),
    (
        "who gets a digest is in no list",
        |b| b.sorted_remove("mail:digest:daily", "2"),
        "mail:digest:daily",
        MENDED,
    ),
    (
        "who gets none is in a list",
        |b| b.sorted_add("mail:digest:weekly", "2", 1.0),
        "mail:digest:weekly",
        MENDED,
    ),
    ("a list of no user", |b| b.sorted_add("user:77:inbox", "follow:1", 1.0), "user:77:inbox", NAMED),
    ("the badge is miscounted", |b| b.increment_field("user:1", "replies", 2), "user:1", MENDED),
    ("an entry about nothing", |b| b.sorted_add("user:1:inbox", "reply:1-70", 1.0), "user:1:inbox", MENDED),
    (
        "an unread entry is not in the inbox",
        |b| {
            b.sorted_remove("user:1:inbox", "mention:tweet:4");
        },
        "user:1:inbox",
        MENDED,
    ),
    ("a mention of no tweet", |b| b.sorted_add("user:1:mentions", "77", 1.0), "user:1:mentions", MENDED),
    (
        "a tweet is not in its author's timeline",
        |b| b.sorted_remove("user:2:user_timeline", "2"),
        "user:2:user_timeline",
        MENDED,
    ),
    (
        "another's tweet is in a timeline",
        |b| b.sorted_add("user:1:user_timeline", "2", 1.0),
        "user:1:user_timeline",
        MENDED,
    ),
    (
        "no tweet is in the timeline of everyone",
        |b| b.sorted_add("global_timeline", "77", 1.0),
        "global_timeline",
        MENDED,
    ),
    (
        "a home timeline lacks a tweet",
        |b| b.sorted_remove("user:3:home_timeline", "2"),
        "user:3:home_timeline",
        MENDED,
    ),
    ("a tweet without a text", |b| b.delete_field("tweet:2", "text"), "tweet:2", NAMED),
    ("a follower is not listed", |b| b.sorted_remove("user:2:followers", "3"), "user:2:followers", MENDED),
    (
        "nobody who follows is listed",
        |b| b.sorted_add("user:3:followers", "1", 1.0),
        "user:3:followers",
        MENDED,
    ),
    (
        "followers are miscounted",
        |b| b.sorted_add("users.by_followers", "2", 9.0),
        "users.by_followers",
        MENDED,
    ),
    ("a floor of nobody", |b| b.sorted_add("timeline:floors", "77", 1.0), "timeline:floors", MENDED),
    (
        "a pulled author who does not exist",
        |b| b.add_member("timeline:pulled", "77"),
        "timeline:pulled",
        MENDED,
    ),
    (
        "home timelines are nowhere",
        |b| b.set_field("timeline:place", "url", "http://x"),
        "timeline:place",
        NAMED,
    ),
    (
        "nobody knows when a mail that waits was written",
        |b| b.sorted_remove("mail:written", "notice:2:password-1800000000-bob@example.org"),
        "mail:written",
        MENDED,
    ),
    (
        "a mail that was written and does not wait",
        |b| b.sorted_add("mail:written", "digest:2:1-2", 1.0),
        "mail:written",
        MENDED,
    ),
    ("a feed that is none", |b| b.set_field("hub:feeds", "x", "1"), "hub:feeds", NAMED),
    ("a place that is none", |b| b.set_field("hub:state", "place", "x"), "hub:state", NAMED),
    ("a webhook that cannot be read", |b| b.set_field("hooks:all", "x", "{}"), "hooks:all", NAMED),
    ("an event that is none", |b| b.sorted_add("hooks:events", "x", 1.0), "hooks:events", MENDED),
    ("a message to nobody", |b| b.sorted_add("hooks:outbox:7", "1:test", 1.0), "hooks:outbox:7", MENDED),
    ("a result of nobody", |b| b.sorted_add("hooks:results:7", "{}", 1.0), "hooks:results:7", MENDED),
    ("a rest without an end", |b| b.set_field("hooks:rests", "7", "x"), "hooks:rests", NAMED),
    ("a mail that is none", |b| b.sorted_add("mail:outbox", "x", 1e12), "mail:outbox", MENDED),
    ("a line of the log is not listed", |b| b.sorted_remove("moderation:log", "2"), "moderation:log", MENDED),
    ("a line of the log is gone", |b| b.delete("moderation:2"), "moderation:log", NAMED),
    (
        "a row of the queue about nothing",
        |b| b.sorted_add("review:queue", "story:1", 1_718_000_000_000.0),
        "review:queue",
        MENDED,
    ),
    ("a row that is none", |b| b.sorted_add("review:queue", "x", 1.0), "review:queue", MENDED),
    ("flags wait without a row", |b| b.sorted_remove("review:queue", "story:2"), "review:queue", MENDED),
    (
        "flags have another weight",
        |b| b.set_field("flags:story:2", "waiting", "7:1800000000"),
        "flags:story:2",
        MENDED,
    ),
    (
        "what was not flagged is in a list",
        |b| b.sorted_add("user:3:flags", "story:1", 1.0),
        "user:3:flags",
        MENDED,
    ),
    ("a ban ends and is not listed", |b| b.sorted_remove("bans:ending", "4"), "bans:ending", MENDED),
    ("a ban that is none is listed", |b| b.sorted_add("bans:ending", "1", 1e12), "bans:ending", MENDED),
    (
        "an appeal against no line",
        |b| b.set_fields("appeal:77", [("user_id", "1"), ("time", "5"), ("decided_by", "2")]),
        "appeal:77",
        NAMED,
    ),
    ("a thread that is not listed", |b| b.sorted_remove("messages:all", "1"), "messages:all", MENDED),
    (
        "a thread that waits and is not in the queue",
        |b| b.sorted_remove("review:queue", "message:1"),
        "review:queue",
        MENDED,
    ),
    (
        "a thread of a member that does not exist",
        |b| b.sorted_add("user:3:message_threads", "77", 1.0),
        "user:3:message_threads",
        MENDED,
    ),
    ("a message that is none", |b| b.set_field("messages:1:texts", "1", "x"), "messages:1:texts", NAMED),
    ("a rule that is none", |b| b.set_field("rules:all", "1", "x"), "rules:all", NAMED),
    (
        "the sum of a site",
        |b| b.increment_field("link:example.com", "sum_of_votes", 4),
        "link:example.com",
        MENDED,
    ),
    (
        "the votes of a network",
        |b| b.increment_field("link:example.com:networks", "198.51.100.0/24", 4),
        "link:example.com:networks",
        MENDED,
    ),
    ("the place of a site", |b| b.sorted_add("links:sum", "example.com", 9.0), "links:sum", MENDED),
    ("the place of no site", |b| b.sorted_add("links:count", "gone.example", 9.0), "links:count", MENDED),
    (
        "figures of no site",
        |b| b.set_field("link:gone.example", "sum_of_votes", "3"),
        "link:gone.example",
        MENDED,
    ),
    (
        "the origin of no vote",
        |b| {
            b.set_field("link:example.com:origins", "beda0000-0822-4342-0990-b92d94d9489a", "198.51.100.0/24")
        },
        "link:example.com:origins",
        MENDED,
    ),
    (
        "a day of a site",
        |b| b.sorted_add("day:2027-01-15:links:count", "example.com", 9.0),
        "day:2027-01-15:links:count",
        MENDED,
    ),
    (
        "a day without votes",
        |b| b.sorted_add("day:2020-01-15:links:sum", "example.com", 9.0),
        "day:2020-01-15:links:sum",
        MENDED,
    ),
    ("a prefix of no site", |b| b.add_member("prefix:0000", "gone.example"), "prefix:0000", MENDED),
    (
        "an unfinished ban that is none",
        |b| b.add_member("sites:unfinished", "beda0000-0822-4342-0990-b92d94d9489a"),
        "sites:unfinished",
        MENDED,
    ),
    ("the counter of users", |b| b.set("users.count", "2"), "users.count", MENDED),
    ("the counter of stories", |b| b.set("news.count", "1"), "news.count", MENDED),
    ("the counter of tweets", |b| b.set("tweet:ids", "1"), "tweet:ids", MENDED),
    ("the counter of the log", |b| b.set("moderation:count", "1"), "moderation:count", MENDED),
    ("a key of another type", |b| b.set("news.top", "x"), "news.top", NAMED),
    ("a key that must not expire", |b| b.expire("site.logo", Duration::from_secs(60)), "site.logo", NAMED),
    ("what a removal took away is lost", |b| b.delete("withdrawn:story:4"), "withdrawn:story:4", NAMED),
    (
        "a record of a removal that was none",
        |b| b.set_field("withdrawn:story:1", "moderation", "1"),
        "withdrawn:story:1",
        NAMED,
    ),
    (
        "a record of a removal by no line",
        |b| b.set_field("withdrawn:story:4", "moderation", "77"),
        "withdrawn:story:4",
        NAMED,
    ),
    (
        "a record of a removal without its form",
        |b| b.set_field("withdrawn:story:4", "article", "x"),
        "withdrawn:story:4",
        NAMED,
    ),
    (
        "entries of the subscribers of no removed comment",
        |b| b.sorted_add("withdrawn:comment:1-1:subscribers", "1 reply:1-1 5.0 - 0", 1.0),
        "withdrawn:comment:1-1:subscribers",
        NAMED,
    ),
    (
        "the outcome of no flag",
        |b| b.sorted_add("user:3:flag_outcomes", "x", 1.0),
        "user:3:flag_outcomes",
        NAMED,
    ),
    (
        "the outcome of a flag by no line",
        |b| b.sorted_add("user:3:flag_outcomes", "+story:1", 77.0),
        "user:3:flag_outcomes",
        NAMED,
    ),
    (
        "too many outcomes of flags",
        |b| (1..=201).for_each(|id| b.sorted_add("user:3:flag_outcomes", format!("+story:{id}"), 1.0)),
        "user:3:flag_outcomes",
        MENDED,
    ),
    (
        "a site without a vote is new to a voter",
        |b| {
            b.set_fields(VOTER, [("created_at", "2027-01-15T08:00:00Z"), ("is_banned", "0")]);
            b.set_fields(NEW_SITES, [("day", "2027-01-15"), ("count", "1"), ("example.com", "1")]);
        },
        NEW_SITES,
        MENDED,
    ),
    (
        "new sites of no voter",
        |b| b.set_fields(NEW_SITES, [("day", "2027-01-15"), ("count", "0")]),
        NEW_SITES,
        NAMED,
    ),
    (
        "new sites without a day",
        |b| {
            b.set_fields(VOTER, [("created_at", "2027-01-15T08:00:00Z"), ("is_banned", "0")]);
            b.set_field(NEW_SITES, "count", "0");
        },
        NEW_SITES,
        NAMED,
    ),
    (
        "a user does not say what second factors there are",
        |b| b.set_field("user:2:two_factor", "totp", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"),
        "user:2",
        MENDED,
    ),
    (
        "the second factors of a user are lost",
        |b| b.set_field("user:2", "two_factor", "totp"),
        "user:2",
        NAMED,
    ),
    (
        "one kind of second factors is lost",
        |b| {
            b.set_field("user:2", "two_factor", "totp passkeys");
            b.set_field("user:2:two_factor", "totp", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP");
        },
        "user:2",
        NAMED,
    ),
    (
        "a second factor without its form",
        |b| {
            b.set_field("user:2", "two_factor", "totp");
            b.set_field("user:2:two_factor", "totp", "no base 32");
        },
        "user:2:two_factor",
        NAMED,
    ),
    (
        "too many topics are followed",
        |b| (0..26).for_each(|topic| b.sorted_add("user:1:topics_followed", format!("topic-{topic}"), 5.0)),
        "user:1:topics_followed",
        NAMED,
    ),
    (
        "a topic is followed and muted",
        |b| {
            b.sorted_add("user:1:topics_followed", "links", 5.0);
            b.sorted_add("user:1:topics_muted", "links", 5.0);
        },
        "user:1:topics_muted",
        NAMED,
    ),
    (
        "too many visits",
        |b| (1..=201).for_each(|id| b.set_field("user:1:visits", id.to_string(), "5 5 0 0 0")),
        "user:1:visits",
        MENDED,
    ),
    ("a visit without its form", |b| b.set_field("user:1:visits", "1", "5 5"), "user:1:visits", NAMED),
    (
        "too much that can be unread again",
        |b| {
            (1..=1_012).for_each(|id| b.set_field("user:1:marked_read", format!("follow:{id}"), "5"));
            b.expire("user:1:marked_read", Duration::from_secs(60));
        },
        "user:1:marked_read",
        MENDED,
    ),
    (
        "something that can be unread again without its form",
        |b| {
            b.set_field("user:1:marked_read", "until", "5");
            b.expire("user:1:marked_read", Duration::from_secs(60));
        },
        "user:1:marked_read",
        NAMED,
    ),
    (
        "too many entries in an inbox",
        |b| {
            b.set_field("user:1:messages", "last", "1020");
            for id in 1..=1_020 {
                b.set_field("user:1:messages", id.to_string(), "text");
                b.sorted_add("user:1:inbox", format!("moderation:{id}"), 5.0);
            }
            // Two of those that leave it are unread.
            for id in [1, 2] {
                b.sorted_add("user:1:inbox", format!("moderation:{id}"), f64::from(id));
                b.sorted_add("user:1:unread", format!("moderation:{id}"), f64::from(id));
            }
            b.increment_field("user:1", "replies", 2);
        },
        "user:1:inbox",
        MENDED,
    ),
    (
        "too many sessions",
        |b| {
            (0..25).for_each(|id| b.sorted_add("user:1:sessions", format!("{id:064}"), 5.0));
            b.expire("user:1:sessions", Duration::from_secs(60));
        },
        "user:1:sessions",
        MENDED,
    ),
    (
        "a session in the list of another",
        |b| {
            b.set_field(SESSION, "user_id", "2");
            b.expire(SESSION, Duration::from_secs(60));
            for list in ["user:1:sessions", "user:2:sessions"] {
                b.sorted_add(list, &SESSION["session:".len()..], 5.0);
                b.expire(list, Duration::from_secs(60));
            }
        },
        "user:1:sessions",
        MENDED,
    ),
    ("a blocked user follows", |b| b.set_field("user:2:blocks", "3", "5"), "user:2:blocks", NAMED),
    ("nobody is blocked", |b| b.set_field("user:2:blocks", "77", "5"), "user:2:blocks", NAMED),
    ("a mute without its form", |b| b.set_field("user:2:mutes", "x", "5"), "user:2:mutes", NAMED),
    (
        "the counter of messages is too low",
        |b| b.set_field("user:1:messages", "77", "text"),
        "user:1:messages",
        MENDED,
    ),
    (
        "people who were notified are miscounted",
        |b| {
            b.set_fields("user:1:notified:2027-01-15", [("2", "1"), ("count", "5")]);
            b.expire("user:1:notified:2027-01-15", Duration::from_secs(60));
        },
        "user:1:notified:2027-01-15",
        MENDED,
    ),
    (
        "the first administrator is nobody",
        |b| b.set("administrator.first", "77"),
        "administrator.first",
        NAMED,
    ),
    ("what was imported is gone", |b| b.set_field("import:links", "1", "77"), "import:links", NAMED),
    ("a setting without its form", |b| b.set_field("settings", "voting_is_disabled", "x"), "settings", NAMED),
    (
        "the logo is gone",
        |b| {
            b.delete("site.logo");
            b.set_field("site", "logo", "0123456789ab.png 1x1");
        },
        "site",
        NAMED,
    ),
    (
        "networks of no site",
        |b| b.set_field("link:gone.example:networks", "198.51.100.0/24", "1"),
        "link:gone.example:networks",
        MENDED,
    ),
    (
        "an article of a story that is deleted",
        |b| b.set_field("article:3", "title", "x"),
        "article:3",
        MENDED,
    ),
    ("an article that is none", |b| b.set_field("article:77", "title", "x"), "article:77", NAMED),
    (
        "a subscriber is nobody",
        |b| b.sorted_add("news.subscribers:1", "77", 5.0),
        "news.subscribers:1",
        NAMED,
    ),
    (
        "removed posts that are none",
        |b| b.sorted_add("moderation:1:posts", "x", 5.0),
        "moderation:1:posts",
        NAMED,
    ),
    ("visits of nobody", |b| b.set_field("user:77:visits", "1", "5 5 0 0 0"), "user:77:visits", NAMED),
    ("a counter of votes is no number", |b| b.set_field("news:1", "up", "x"), "news:1", NAMED),
];

/// The first story that waits for approval.
const HELD_STORY: &str = "7";
const SESSION: &str = "session:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const VOTER: &str = "voter:beda0000-0822-4342-0990-b92d94d9489a";
const NEW_SITES: &str = "voter:beda0000-0822-4342-0990-b92d94d9489a:new";
