//! Kinds of damage to a store of the community with everything.

use std::time::Duration;

use tidings_keyspace::Batch;

/// Damage to a store.
pub struct Damage {
    /// The damage, in words.
    pub what: &'static str,
    /// The key at which it is found.
    pub key: &'static str,
    /// How it is done.
    pub write: Box<dyn Fn(&mut Batch)>,
    /// Whether a repair mends it; otherwise the report names it for a person.
    pub is_mended: bool,
}

type Write = fn(&mut Batch, &str);

fn mended(what: &'static str, key: &'static str, write: Write) -> Damage {
    Damage { what, key, write: Box::new(move |batch| write(batch, key)), is_mended: true }
}

fn named(what: &'static str, key: &'static str, write: Write) -> Damage {
    Damage { is_mended: false, ..mended(what, key, write) }
}

/// All kinds of damage.
pub fn damages() -> Vec<Damage> {
    let row = |line: &'static str| {
        let [kind, what, key, writes] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        let write = move |batch: &mut Batch| writes.split("; ").for_each(|text| do_write(batch, key, text));
        Damage { what, key, write: Box::new(write), is_mended: kind == "mended" }
    };
    let table: &'static str = DAMAGES.replace("HELD_STORY", HELD_STORY).leak();
    table.trim().lines().map(row).chain(others()).collect()
}

/// Adds a write from a row of the table to a batch: its name, then its arguments. It writes to the key of the row; a
/// first argument with `@` names another key.
fn do_write(batch: &mut Batch, key: &str, text: &str) {
    let (name, taken) = text.split_once(' ').unwrap_or((text, ""));
    let mut taken: Vec<&str> = taken.split(", ").filter(|part| !part.is_empty()).collect();
    let other = taken.first().and_then(|first| first.strip_prefix('@'));
    if other.is_some() {
        taken.remove(0);
    }
    let key = other.unwrap_or(key);
    match (name, &taken[..]) {
        ("sorted_add", [member, score]) => batch.sorted_add(key, *member, score.parse().unwrap()),
        ("sorted_remove", [member]) => batch.sorted_remove(key, *member),
        ("sorted_increment", [member, by]) => batch.sorted_increment(key, *member, by.parse().unwrap()),
        ("set_field", [field, value]) => batch.set_field(key, *field, *value),
        ("delete_field", [field]) => batch.delete_field(key, *field),
        ("increment_field", [field, by]) => batch.increment_field(key, *field, by.parse().unwrap()),
        ("set", [value]) => batch.set(key, *value),
        ("set_expiring", [value]) => batch.set_expiring(key, *value, MINUTE),
        ("delete", []) => batch.delete(key),
        ("expire", []) => batch.expire(key, MINUTE),
        ("add_member", [member]) => batch.add_member(key, *member),
        ("remove_member", [member]) => batch.remove_member(key, *member),
        _ => panic!("{text}"),
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// The story that waits for a moderator.
const HELD_STORY: &str = "7";

/// Whether it is mended or named, the damage, the key at which it is found, and how it is done.
const DAMAGES: &str = r#"
mended | a story is not in the list by rank | news.top | sorted_remove 1
mended | a story is not in the list by time | news.cron | sorted_remove 1
mended | a story is at another time | news.cron | sorted_add 1, 7.0
mended | a story has another rank in the list | news.top | sorted_add 1, -7.5
mended | a deleted story is listed | news.top | sorted_add 3, 1.0
mended | a removed story is listed | news.cron | sorted_add 4, 1.0
mended | a story that does not exist is listed | news.cron | sorted_add 77, 1.0
mended | a list by votes is lost | news.votes:day | delete
mended | a story that does not exist is listed by votes | news.votes:week | sorted_add 001800000000-000000000077, 1.0
mended | a list by votes has what is no story | news.votes:all | sorted_add x, 1.0
mended | a list has what is no id | news.cron | sorted_add x, 1.0
mended | a story is not in its author's list | user.posted:1 | sorted_remove 1
mended | another's story is in a list | user.posted:2 | sorted_add 1, 1.0
mended | a shown story is among those gone | user:1:gone_stories | sorted_add 1, 1.0
mended | a shown comment is among those gone | user:2:gone_comments | sorted_add 1-1, 1.0
mended | a story is not in its site's list | host.news:example.com | sorted_remove 1
mended | a story is in another site's list | host.news:other.example | sorted_add 1, 1.0
mended | a story has no item number | items | sorted_remove news:1
mended | a comment has no item number | items | sorted_remove comment:1:1
mended | the last item number is too low | items.count | set 1
named | a number of nothing | items | sorted_add news:77, 1.0
mended | two items have one number | items | sorted_add comment:1:1, 1.0
mended | a post that waits is not in the list of unseen posts | unseen:6 | sorted_remove story:HELD_STORY
mended | the lists of unseen posts are lost | unseen:6 | delete
mended | a post that is shown is unseen | unseen:1 | sorted_add story:1, 1.0
mended | another's post is unseen | unseen:1 | sorted_add story:HELD_STORY, 1.0
mended | a tweet that does not exist is unseen | unseen:1 | sorted_add tweet:77, 1.0
mended | what is no post is unseen | unseen:1 | sorted_add user:bob, 1.0
named | karma from an archive is no number | user:2 | set_field untrusted_karma, x
mended | votes up are miscounted | news:1 | increment_field up, 3
mended | votes down are miscounted | news:2 | increment_field down, -1
mended | comments are miscounted | news:1 | increment_field comments, 1
named | a vote of nobody | news.up:1 | sorted_add 77, 1.0; increment_field @news:1, up, 1
mended | a vote in both directions | news.down:1 | sorted_add 3, 1.0; increment_field @news:1, down, 1
named | votes up are lost | news.up:1 | delete
named | votes up are lost, and those on the article | news.up:1 | delete; delete @voted:1
mended | the votes on an article are lost | article:1 | delete @voted:1
named | votes down are lost | news.down:2 | delete
named | a thread is lost | thread:comment:1 | delete
mended | followers are lost | user:2:followers | delete
mended | whom a user follows is lost | user:3:followings | delete
named | nobody is followed | user:1:followings | sorted_add 77, 1.0
named | nobody follows | user:1:followers | sorted_add 77, 1.0
named | no story is subscribed to | user:1:subscriptions | sorted_add 77, 1.0
named | nobody has invited a user | user:2 | set_field invited_by, 77
named | an unread entry of nobody | user:77:inbox | sorted_add reply:1-70, 1.0; sorted_add @user:77:unread, reply:1-70, 1.0
mended | a story that waits is in its author's list | user.posted:6 | sorted_add HELD_STORY, 1.0
mended | a story that waits has no vote | news:HELD_STORY | set_field @news:HELD_STORY, up, 0
named | votes on no story | news.up:78 | sorted_add 1, 1.0
named | a story without an author | news:2 | set_field user_id, 78
named | a story with another id | news:1 | set_field id, 8
named | a story without a title | news:1 | delete_field title
named | a hidden story that does not exist | user:4:hidden | sorted_add 77, 1.0
named | a saved story that does not exist | user:1:saved | sorted_add 77, 1.0
named | an upvoted story that does not exist | user.saved:1 | sorted_add 77, 1.0
mended | a link that leads nowhere | url:http://a.example/ | set_expiring 77
mended | a link that never expires | url:http://example.com/one | set 1
mended | subscribers lack a user | news.subscribers:1 | sorted_add @user:1:subscriptions, 1, 5.0
mended | a comment is not in its author's list | user.comments:2 | sorted_remove 1-1
mended | another's comment is in a list | user.comments:1 | sorted_add 1-1, 1.0
mended | a comment that does not exist is listed | user.comments:1 | sorted_add 1-70, 1.0
mended | the counter of a thread is too low | thread:comment:1 | set_field nextid, 2
named | a comment is no JSON | thread:comment:1 | set_field 1, {
named | a thread of no story | thread:comment:79 | set_field nextid, 0
mended | an article is gone | article:1 | delete
mended | an article has another title | article:1 | set_field title, x
mended | an article lacks its link | article:1 | delete_field link
mended | an article has a field too many | article:1 | set_field extra, 1
mended | an article is not listed | article:1 | sorted_remove @time:, article:1
mended | an article has another score | article:1 | sorted_add @score:, article:1, 5.0
mended | an article of no story | time: | sorted_add article:77, 5.0
mended | an article of a deleted story | score: | sorted_add article:3, 5.0
mended | voters of no article | voted:77 | add_member user:1; expire
mended | a topic lacks an article | article:1 | remove_member @group:links, article:1; sorted_increment @topics, links, -1.0
mended | a topic has another's article | group:links | add_member article:2; sorted_increment @topics, links, 1.0
mended | a topic is miscounted | topics | sorted_increment links, 2.0
mended | a topic keeps a place for a shown story | group.withheld:links | add_member article:1
named | a name leads nowhere | username.to.id:nobody | set 77
named | a name leads to another | username.to.id:bob | set 1
mended | a name does not lead to its user | username.to.id:bob | delete
mended | a name for the eye leads nowhere | username.folded:nobody | set 77
named | a user has another id | user:2 | set_field id, 9
mended | a session of Lamer News of nobody | auth:0123456789abcdef0123456789abcdef01234567 | set 77
mended | who was invited is in no list | invites:by:1 | sorted_remove 5
mended | who was not invited is in a list | invites:by:1 | sorted_add 3, 1.0
mended | the tree lacks a root | invites:roots | sorted_remove 1
mended | the tree has a root too many | invites:roots | sorted_add 3, 1.0
mended | who gets a digest is in no list | mail:digest:daily | sorted_remove 2
mended | who gets none is in a list | mail:digest:weekly | sorted_add 2, 1.0
named | a list of no user | user:77:inbox | sorted_add follow:1, 1.0
mended | the badge is miscounted | user:1 | increment_field replies, 2
mended | an entry about nothing | user:1:inbox | sorted_add reply:1-70, 1.0
mended | an unread entry is not in the inbox | user:1:inbox | sorted_remove mention:tweet:4
named | a mention that is no tweet | user:1:mentions | sorted_add x, 1.0
mended | a tweet is not in its author's timeline | user:2:user_timeline | sorted_remove 2
mended | another's tweet is in a timeline | user:1:user_timeline | sorted_add 2, 1.0
mended | no tweet is in the timeline of everyone | global_timeline | sorted_add 77, 1.0
mended | a home timeline is lost | user:3:home_timeline | delete
mended | a stranger's tweet is in a home timeline | user:3:home_timeline | sorted_add 1, 1.0
mended | a home timeline lacks a tweet | user:3:home_timeline | sorted_remove 2
named | a tweet without a text | tweet:2 | delete_field text
mended | a follower is not listed | user:2:followers | sorted_remove 3
mended | nobody who follows is listed | user:3:followers | sorted_add 1, 1.0
mended | followers are miscounted | users.by_followers | sorted_add 2, 9.0
mended | a floor of nobody | timeline:floors | sorted_add 77, 1.0
mended | a pulled author who does not exist | timeline:pulled | add_member 77
mended | nobody knows when a mail that waits was written | mail:written | sorted_remove notice:2:password-1800000000-bob@example.org
mended | a mail that was written and does not wait | mail:written | sorted_add digest:2:1-2, 1.0
named | a feed that is none | hub:feeds | set_field x, 1
named | a lost thing that is none | hub:lost | sorted_add x, 1.0
named | the ids of feeds begin with no host | site.tag | set 2026-11-29
named | a place that is none | hub:state | set_field place, x
named | a webhook that cannot be read | hooks:all | set_field x, {}
mended | an event that is none | hooks:events | sorted_add x, 1.0
mended | a message to nobody | hooks:outbox:7 | sorted_add 1:test, 1.0
mended | a result of nobody | hooks:results:7 | sorted_add {}, 1.0
named | a lease without an end | queue:leases | set_field hub, x
mended | a mail that is none | mail:outbox | sorted_add x, 1e12
mended | a line of the log is not listed | moderation:log | sorted_remove 2
named | a line of the log is gone | moderation:log | delete @moderation:2
mended | a row of the queue about nothing | review:queue | sorted_add story:1, 1718000000000.0
mended | a row that is none | review:queue | sorted_add x, 1.0
mended | flags wait without a row | review:queue | sorted_remove story:2
mended | flags have another weight | flags:story:2 | set_field waiting, 7:1800000000
mended | what was not flagged is in a list | user:3:flags | sorted_add story:1, 1.0
mended | a ban ends and is not listed | bans:ending | sorted_remove 4
mended | a ban that is none is listed | bans:ending | sorted_add 1, 1e12
named | an appeal against no line | appeal:77 | set_field user_id, 1; set_field time, 5; set_field decided_by, 2
mended | a thread that is not listed | messages:all | sorted_remove 1
mended | a thread that waits and is not in the queue | review:queue | sorted_remove message:1
mended | a thread of a member that does not exist | user:3:message_threads | sorted_add 77, 1.0
named | a message that is none | messages:1:texts | set_field 1, x
named | a rule that is none | rules:all | set_field 1, x
mended | the sum of a site | link:example.com | increment_field sum_of_votes, 4
mended | the votes of a network | link:example.com:networks | increment_field 198.51.100.0/24, 4
mended | the place of a site | links:sum | sorted_add example.com, 9.0
mended | the place of no site | links:count | sorted_add gone.example, 9.0
mended | votes on both names of a site with one | link:example.com:twice | set_field sum:2027-01-15, 1
mended | figures of both names of a site with one | link:example.com | set_field twice_count_of_votes, 1
mended | figures of no site | link:gone.example | set_field sum_of_votes, 3
mended | a day of a site | day:2027-01-15:links:count | sorted_add example.com, 9.0
mended | a day without votes | day:2020-01-15:links:sum | sorted_add example.com, 9.0
mended | a prefix of no site | prefix:0000 | add_member gone.example
mended | an unfinished ban that is none | sites:unfinished | add_member beda0000-0822-4342-0990-b92d94d9489a
mended | the counter of users | users.count | set 2
mended | the counter of stories | news.count | set 1
mended | the counter of tweets | tweet:ids | set 1
mended | the counter of the log | moderation:count | set 1
named | a key of another type | news.top | set x
named | a key that must not expire | site.logo | expire
named | a removed story names no line | news:4 | delete_field removed
named | a removed story names a line that is lost | news:4 | set_field removed, 77
named | a story that is shown names what removed it | news:1 | set_field removed, 1
named | a removed profile names a line that is lost | user:2 | set_field removed, 77
named | a removed post names no line | tweet:1 | set_field withheld, removed:why
named | a removed post names a line that is lost | tweet:1 | set_field withheld, removed:why; set_field removed, 77
named | a post that is shown names what removed it | tweet:1 | set_field removed, 1
named | the outcome of no flag | user:3:flag_outcomes | sorted_add x, 1.0
named | the outcome of a flag by no line | user:3:flag_outcomes | sorted_add +story:1, 77.0
named | new sites of no voter | voter:beda0000-0822-4342-0990-b92d94d9489a:new | set_field day, 2027-01-15; set_field count, 0
named | the second factors of a user are lost | user:2 | set_field two_factor, totp
named | a second factor without its form | user:2:two_factor | set_field @user:2, two_factor, totp; set_field totp, no base 32
named | a topic is followed and muted | user:1:topics_muted | sorted_add @user:1:topics_followed, links, 5.0; sorted_add links, 5.0
named | a visit without its form | user:1:visits | set_field 1, 5 5
named | something that can be unread again without its form | user:1:marked_read | set_field until, 5; expire
named | a blocked user follows | user:2:blocks | set_field 3, 5
named | nobody is blocked | user:2:blocks | set_field 77, 5
named | a mute without its form | user:2:mutes | set_field x, 5
mended | the counter of messages is too low | user:1:messages | set_field 77, text
mended | people who were notified are miscounted | user:1:notified:2027-01-15 | set_field 2, 1; set_field count, 5; expire
named | the first administrator is nobody | administrator.first | set 77
named | what was imported is gone | import:links | set_field 1, 77
named | a setting without its form | settings | set_field voting_is_disabled, x
named | the logo is gone | site | delete @site.logo; set_field logo, 0123456789ab.png 1x1
mended | networks of no site | link:gone.example:networks | set_field 198.51.100.0/24, 1
mended | an article of a story that is deleted | article:3 | set_field title, x
named | an article that is none | article:77 | set_field title, x
named | a subscriber is nobody | news.subscribers:1 | sorted_add 77, 5.0
named | removed posts that are none | moderation:1:posts | sorted_add x, 5.0
named | the facts of a line are none | moderation:1 | set_field changed, x
named | the parts of a batch are none | moderation:1 | set_field parts, x
mended | a part does not name its batch | moderation:2 | set_field @moderation:2, parts, 1
named | visits of nobody | user:77:visits | set_field 1, 5 5 0 0 0
named | a counter of votes is no number | news:1 | set_field up, x
"#;

/// Damage that does not fit into a row of the table.
fn others() -> Vec<Damage> {
    vec![
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
        named("followers are lost on both sides", "users.by_followers", |b, _| {
            b.delete("user:2:followers");
            b.delete("user:1:followings");
            b.delete("user:3:followings");
        }),
        mended("a session of nobody", SESSION, |b, key| {
            b.set_field(key, "user_id", "77");
            b.expire(key, MINUTE);
        }),
        mended("the origin of no vote", "link:example.com:origins", |b, key| {
            b.set_field(key, "beda0000-0822-4342-0990-b92d94d9489a", "198.51.100.0/24")
        }),
        mended("too many outcomes of flags", "user:3:flag_outcomes", |b, key| {
            (1..=201).for_each(|id| b.sorted_add(key, format!("+story:{id}"), 1.0))
        }),
        mended("a site without a vote is new to a voter", NEW_SITES, |b, key| {
            b.set_fields(VOTER, [("created_at", "2027-01-15T08:00:00Z"), ("is_banned", "0")]);
            b.set_fields(key, [("day", "2027-01-15"), ("count", "1"), ("example.com", "1")]);
        }),
        named("new sites without a day", NEW_SITES, |b, key| {
            b.set_fields(VOTER, [("created_at", "2027-01-15T08:00:00Z"), ("is_banned", "0")]);
            b.set_field(key, "count", "0");
        }),
        mended("a user does not say what second factors there are", "user:2", |b, _| {
            b.set_field("user:2:two_factor", "totp", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")
        }),
        named("one kind of second factors is lost", "user:2", |b, key| {
            b.set_field(key, "two_factor", "totp passkeys");
            b.set_field("user:2:two_factor", "totp", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP");
        }),
        named("too many topics are followed", "user:1:topics_followed", |b, key| {
            (0..26).for_each(|topic| b.sorted_add(key, format!("topic-{topic}"), 5.0))
        }),
        mended("too many visits", "user:1:visits", |b, key| {
            (1..=201).for_each(|id| b.set_field(key, id.to_string(), "5 5 0 0 0"))
        }),
        mended("too much that can be unread again", "user:1:marked_read", |b, key| {
            (1..=1_012).for_each(|id| b.set_field(key, format!("follow:{id}"), "5"));
            b.expire(key, MINUTE);
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
            b.expire(key, MINUTE);
        }),
        mended("a session in the list of another", "user:1:sessions", |b, _| {
            b.set_field(SESSION, "user_id", "2");
            b.expire(SESSION, MINUTE);
            for list in ["user:1:sessions", "user:2:sessions"] {
                b.sorted_add(list, &SESSION["session:".len()..], 5.0);
                b.expire(list, MINUTE);
            }
        }),
    ]
}

const SESSION: &str = "session:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const VOTER: &str = "voter:beda0000-0822-4342-0990-b92d94d9489a";
const NEW_SITES: &str = "voter:beda0000-0822-4342-0990-b92d94d9489a:new";
