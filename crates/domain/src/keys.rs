//! One function for each key: the only place where key text exists.
//!
//! `docs/data-layout.md` explains what each key holds. The names are those of
//! Lamer News, so that its databases open as they are.

pub mod families;

use crate::values::day::{Day, Hour};
use crate::values::hostname::{HashPrefix, Hostname};
use crate::values::ids::{CommentAddress, ModerationId, NewsId, TweetId, UserId};
use crate::values::lookalikes;
use crate::values::moderation::Thing;
use crate::values::network::{CountedNetwork, Network, NetworkTag};
use crate::values::period::Period;
use crate::values::rates::RatedAction;
use crate::values::request_name::RequestHash;
use crate::values::secrets::TypedName;
use crate::values::session_token::SessionHash;
use crate::values::signup::InvitationCode;
use crate::values::topic::Topic;
use crate::values::urls::NewsUrl;
use crate::values::voter_id::VoterId;
use std::net::IpAddr;

/// String: the highest user id drawn.
pub const USERS_COUNT: &str = "users.count";
/// String: the highest user id up to which all names are folded.
pub const USERNAMES_FOLDED: &str = "usernames.folded";
/// String: the version of the layout of all keys.
pub const LAYOUT_VERSION: &str = "layout:version";
/// String: the backup of which a restore into this store is not finished, by its checksum.
pub const UNFINISHED_RESTORE: &str = "restore:unfinished";
/// String: the highest news id drawn.
pub const NEWS_COUNT: &str = "news.count";
/// Sorted set: news ids by rank.
pub const NEWS_TOP: &str = "news.top";
/// Sorted set: news ids by time of posting.
pub const NEWS_CRON: &str = "news.cron";

/// String: the highest tweet id drawn.
pub const TWEET_IDS: &str = "tweet:ids";
/// Sorted set: ids of all users' tweets, by time; the newest.
pub const GLOBAL_TIMELINE: &str = "global_timeline";
/// Hash: where home timelines are, once they have been moved.
pub const TIMELINE_PLACE: &str = "timeline:place";
/// Sorted set: users by the score down to which their home timelines are complete.
pub const HOME_FLOORS: &str = "timeline:floors";
/// Set: the authors with tweets that were not delivered to their followers.
pub const PULLED_AUTHORS: &str = "timeline:pulled";
/// Sorted set: the queue of background jobs, names by time.
pub const TIMELINE_JOBS: &str = "timeline:jobs";
/// Sorted set: user ids by the number of their followers.
pub const MOST_FOLLOWED: &str = "users.by_followers";
/// String: the highest number of an article, ours or another program's.
pub const ARTICLE_COUNT: &str = "article:";
/// Sorted set: articles by the time of posting.
pub const ARTICLES_BY_TIME: &str = "time:";
/// Sorted set: articles by their score.
pub const ARTICLES_BY_SCORE: &str = "score:";
/// Sorted set: topics by how many articles they have.
pub const TOPICS: &str = "topics";
/// Hash: the topic that each topic under way is being moved to.
pub const TOPIC_MOVES: &str = "topic.moves";
/// Hash: the sentence that describes each topic.
pub const TOPIC_SENTENCES: &str = "topics.about";

/// Sorted set: the mails that wait to be sent, by when they are due.
pub const MAIL_OUTBOX: &str = "mail:outbox";
/// Sorted set: the same mails, by when they were written.
pub const MAIL_WRITTEN: &str = "mail:written";
/// Sorted set: user ids who get a digest every day, by when they got the last.
pub const DIGEST_DAILY: &str = "mail:digest:daily";
/// Sorted set: user ids who get a digest every week, by when they got the last.
pub const DIGEST_WEEKLY: &str = "mail:digest:weekly";
/// String: counts how often digests that are due were put into the outbox.
pub const DIGEST_TURN: &str = "mail:digest:turn";

/// Hash: the news id of each imported submission, by its id in the source.
pub const IMPORTED_LINKS: &str = "import:links";
/// Hash: the user id of each imported person, by the name in the source.
pub const IMPORTED_ACCOUNTS: &str = "import:accounts";

/// Hash: the generated voters of starting lists of sites, by number.
pub const IMPORTED_VOTERS: &str = "import:voters";

/// Hash: settings that administrators change while the site runs.
pub const SETTINGS: &str = "settings";
/// Hash: how the site presents itself, as far as administrators have changed it.
pub const SITE: &str = "site";
/// String: the key with which the site signs what browsers carry between two steps.
pub const SIGNING_KEY: &str = "signing.key";
/// String: who became the first administrator; the link for it works as long as there is none.
pub const FIRST_ADMINISTRATOR: &str = "administrator.first";
/// String: the logo of the site, in base64.
pub const SITE_LOGO: &str = "site.logo";
/// Sorted set: hosts by the sum of their votes, of all time.
pub const LINKS_SUM: &str = "links:sum";
/// Sorted set: hosts by the number of their votes, of all time.
pub const LINKS_COUNT: &str = "links:count";
/// Sorted set: the log of administrators' actions on votes, as JSON, by time.
pub const SITES_AUDIT: &str = "sites:audit";
/// Set: voters whose ban, or the end of it, is not finished.
pub const SITES_UNFINISHED: &str = "sites:unfinished";

/// Sorted set: the numbers of the lines of the moderation log, by number.
pub const MODERATION_LOG: &str = "moderation:log";
/// String: the secret of the tags of networks.
pub const NETWORKS_SECRET: &str = "networks:secret";
/// Sorted set: people whose ban ends by itself, or the decision that their
/// votes do not count, by when: then the votes are put back.
pub const BANS_ENDING: &str = "bans:ending";
/// String: the number of the last line of the moderation log.
pub const MODERATION_COUNT: &str = "moderation:count";

/// Hash: the rules that new posts are checked with, as JSON by their numbers.
pub const RULES: &str = "rules:all";
/// String: the number of the last rule.
pub const RULES_COUNT: &str = "rules:count";
/// Sorted set: what waits for a moderator, the worst with the highest score.
pub const REVIEW_QUEUE: &str = "review:queue";

/// Hash: the flags of something, by the user.
#[must_use]
pub fn flags(thing: &Thing) -> String {
    format!("flags:{}", thing.key())
}

/// Sorted set: what a user has flagged, as `<kind>:<id>`, by time; the newest.
#[must_use]
pub fn user_flags(id: UserId) -> String {
    format!("user:{id}:flags")
}

/// Sorted set: how a user's flags were decided, as `+<kind>:<id>` or `-<kind>:<id>`, by the line of
/// the log; the newest.
#[must_use]
pub fn user_flag_outcomes(id: UserId) -> String {
    format!("user:{id}:flag_outcomes")
}

/// Hash: a line of the moderation log.
#[must_use]
pub fn moderation(id: ModerationId) -> String {
    format!("moderation:{id}")
}

/// Sorted set: the posts that an action of moderation has removed together, as `<kind>:<id>`, by
/// the time of posting.
#[must_use]
pub fn moderation_posts(id: ModerationId) -> String {
    format!("moderation:{id}:posts")
}

/// Hash: what was taken away with something that a moderator has removed.
#[must_use]
pub fn withdrawn(thing: &Thing) -> String {
    format!("withdrawn:{thing}")
}

/// Sorted set: the entries about a removed comment that were taken away from the inboxes of
/// subscribers, by the number of the subscriber.
#[must_use]
pub fn withdrawn_from_subscribers(comment: CommentAddress) -> String {
    format!("withdrawn:comment:{comment}:subscribers")
}

/// Sorted set: people who have invited somebody and were not invited themselves, by when they
/// signed up.
pub const INVITES_ROOTS: &str = "invites:roots";
/// String, expires: how many accounts have been created lately.
pub const SIGNUP_BURST: &str = "limit:signup_burst";
/// String, expires: sign-up is closed because too many accounts were created.
pub const SIGNUP_PAUSED: &str = "limit:signup_paused";

/// Hash, expires: an invitation that nobody has used.
#[must_use]
pub fn invitation(code: &InvitationCode) -> String {
    format!("invites:code:{}", code.expose())
}

/// Sorted set, expires: the codes of a user's unused invitations, by time.
#[must_use]
pub fn invites_open(id: UserId) -> String {
    format!("invites:open:{id}")
}

/// Sorted set: the ids of the people whom a user invited, by when they signed up.
#[must_use]
pub fn invites_by(id: UserId) -> String {
    format!("invites:by:{id}")
}

/// String, expires: how many accounts have been created from this network.
#[must_use]
pub fn network_signups(network: Network) -> String {
    format!("limit:signups:{network}")
}

/// String, expires: how many invitations have been mailed for a user.
#[must_use]
pub fn invitation_mails(id: UserId) -> String {
    format!("limit:invitation_mails:{id}")
}

/// String, expires: how many links to confirm an address have been mailed to a user.
#[must_use]
pub fn confirmation_mails(id: UserId) -> String {
    format!("limit:confirmation_mails:{id}")
}

/// String, expires: whose e-mail address this link confirms.
#[must_use]
pub fn email_confirmation(token: &str) -> String {
    format!("confirm_email:{token}")
}

/// Hash: a user.
#[must_use]
pub fn user(id: UserId) -> String {
    format!("user:{id}")
}

/// String: the id of the user with this name, ignoring case.
#[must_use]
pub fn username_to_id(username: &str) -> String {
    format!("username.to.id:{}", username.to_lowercase())
}

/// String: the id of the user whose name looks like this one.
#[must_use]
pub fn username_folded(username: &str) -> String {
    format!("username.folded:{}", lookalikes::folded(username))
}

/// The folded name in a key of [`username_folded`]; `None` for other keys.
#[must_use]
pub fn name_of_folded(key: &str) -> Option<&str> {
    key.strip_prefix("username.folded:")
}

/// Hash, expires: a session, by the hash of its token.
#[must_use]
pub fn session(hash: &SessionHash) -> String {
    format!("session:{hash}")
}

/// Sorted set, expires: the hashes of a user's session tokens, by the time of the login.
#[must_use]
pub fn user_sessions(id: UserId) -> String {
    format!("user:{id}:sessions")
}

/// Hash: the second factors of a user: the authenticator app, passkeys and recovery codes.
#[must_use]
pub fn user_two_factor(id: UserId) -> String {
    format!("user:{id}:two_factor")
}

/// String, expires: the secret for an authenticator app that waits for a code.
#[must_use]
pub fn user_new_totp(id: UserId) -> String {
    format!("user:{id}:new_totp")
}

/// String, expires: how many codes were tried for a user's login.
#[must_use]
pub fn wrong_codes(id: UserId) -> String {
    format!("limit:wrong_codes:{id}")
}

/// String, expires: the user who has used a challenge for a passkey, which holds once.
#[must_use]
pub fn used_challenge(challenge: &[u8]) -> String {
    format!("passkey:used:{}", hex::encode(challenge))
}

/// String, expires: how many mails have told the owner of an account about changes.
#[must_use]
pub fn account_notices(id: UserId) -> String {
    format!("limit:account_notices:{id}")
}

/// String, expires: how many entries of the inbox have been mailed to a user.
#[must_use]
pub fn mailed_entries(id: UserId) -> String {
    format!("limit:mailed_entries:{id}")
}

/// String, expires: a server is sending a mail of the outbox.
#[must_use]
pub fn mail_lease(member: &str) -> String {
    format!("mail:lease:{member}")
}

/// String: the id of the user with this session token. Written by Lamer News and by
/// earlier versions.
#[must_use]
pub fn auth(token: &str) -> String {
    format!("auth:{token}")
}

/// String, expires: the id of the user who may set a new password with this token.
#[must_use]
pub fn password_reset(token: &str) -> String {
    format!("password_reset:{token}")
}

/// Hash, expires: what happened in an hour.
#[must_use]
pub fn statistics_of_hour(hour: Hour) -> String {
    format!("statistics:hour:{hour}")
}

/// Hash, expires: what happened on a day.
#[must_use]
pub fn statistics_of_day(day: Day) -> String {
    format!("statistics:day:{day}")
}

/// String, expires: an account has been created from this address.
#[must_use]
pub fn create_user_limit(address: IpAddr) -> String {
    format!("limit:create_user:{address}")
}

/// String, expires: the number of new voters from this network.
#[must_use]
pub fn new_voters(network: CountedNetwork) -> String {
    format!("limit:new_voters:{network}")
}

/// String, expires: the number of new voters on the whole site.
pub const NEW_VOTERS_OF_SITE: &str = "limit:new_voters_of_site";

/// String, expires: the number of hosts that got their first vote.
pub const NEW_HOSTS_OF_SITE: &str = "limit:new_hosts_of_site";

/// String, expires: this network has brought a new voter or a new host.
#[must_use]
pub fn brought_something(network: Network) -> String {
    format!("limit:brought_something:{network}")
}

/// String, expires: the voters who have recently voted on a host from this network.
#[must_use]
pub fn site_votes(network: Network, host: &Hostname) -> String {
    format!("limit:site_votes:{network}:{host}")
}

/// String, expires: failed logins from this network.
#[must_use]
pub fn failed_logins_of_network(network: CountedNetwork) -> String {
    format!("limit:failed_login:address:{network}")
}

/// String, expires: failed logins with this name from this network.
#[must_use]
pub fn failed_logins_of_pair(network: CountedNetwork, name: &TypedName) -> String {
    format!("limit:failed_login:pair:{network}:{name}")
}

/// String, expires: failed logins to this account, from wherever.
#[must_use]
pub fn failed_logins_of_account(id: UserId) -> String {
    format!("limit:failed_login:account:{id}")
}

/// Sorted set, expires: the tags of networks from which a user has logged in, by time.
#[must_use]
pub fn user_networks(id: UserId) -> String {
    format!("user:{id}:networks")
}

/// Sorted set, expires: addresses from which logins to this account have failed, by time.
#[must_use]
pub fn failed_login_addresses(id: UserId) -> String {
    format!("limit:failed_login:addresses:{id}")
}

/// String, expires: the owner of this account has been told about failed logins.
#[must_use]
pub fn owner_told(id: UserId) -> String {
    format!("limit:failed_login:told:{id}")
}

/// String, expires: when the bucket of an account's action is full again.
#[must_use]
pub fn rate_of_account(action: RatedAction, id: UserId) -> String {
    format!("rate:{}:account:{id}", action.name())
}

/// String, expires: when the bucket of a network's action is full again.
#[must_use]
pub fn rate_of_network(action: RatedAction, network: CountedNetwork) -> String {
    format!("rate:{}:address:{network}", action.name())
}

/// String, expires: this user has submitted recently.
#[must_use]
pub fn submitted_recently(id: UserId) -> String {
    format!("user:{id}:submitted_recently")
}

/// Hash: a news item.
#[must_use]
pub fn news(id: NewsId) -> String {
    format!("news:{id}")
}

/// String, expires: the id of the news item posted recently with this URL.
#[must_use]
pub fn url(url: &str) -> String {
    format!("url:{url}")
}

/// The keys under which a URL may have been posted: ours first, then the
/// exact URL, which is what the original used.
#[must_use]
pub fn urls(link: &NewsUrl) -> Vec<String> {
    let mut keys = vec![url(&link.normalised())];
    let exact = url(link.as_str());
    if !keys.contains(&exact) {
        keys.push(exact);
    }
    keys
}

/// Sorted set: who voted an item up, by time.
#[must_use]
pub fn news_up(id: NewsId) -> String {
    format!("news.up:{id}")
}

/// Sorted set: who voted an item down, by time.
#[must_use]
pub fn news_down(id: NewsId) -> String {
    format!("news.down:{id}")
}

/// Hash: the votes on an item and its comments that do not count, as JSON by user.
#[must_use]
pub fn news_discounted(id: NewsId) -> String {
    format!("news.discounted:{id}")
}

/// String, expires: what a request of a user was answered.
#[must_use]
pub fn request(id: UserId, hash: &RequestHash) -> String {
    format!("request:{id}:{hash}")
}

/// Hash, expires: what the votes did that a user may still take back, as JSON by
/// `<news id>` or `<news id>-<comment id>`.
#[must_use]
pub fn user_recent_votes(id: UserId) -> String {
    format!("user:{id}:recent_votes")
}

/// Sorted set: the news ids that a user voted up, by time.
#[must_use]
pub fn user_saved(id: UserId) -> String {
    format!("user.saved:{id}")
}

/// Sorted set: the news ids that a user posted, by time.
#[must_use]
pub fn user_posted(id: UserId) -> String {
    format!("user.posted:{id}")
}

/// Sorted set: the news ids that a user has hidden, by time.
#[must_use]
pub fn user_hidden(id: UserId) -> String {
    format!("user:{id}:hidden")
}

/// Sorted set: the topics that a user follows, by time.
#[must_use]
pub fn topics_followed(id: UserId) -> String {
    format!("user:{id}:topics_followed")
}

/// Sorted set: the topics that a user has muted, by time.
#[must_use]
pub fn topics_muted(id: UserId) -> String {
    format!("user:{id}:topics_muted")
}

/// Hash: when a user has muted people, sites and words, by `<what>:<value>`.
#[must_use]
pub fn user_mutes(id: UserId) -> String {
    format!("user:{id}:mutes")
}

/// Hash: when a user has blocked others, by their ids.
#[must_use]
pub fn user_blocks(id: UserId) -> String {
    format!("user:{id}:blocks")
}

/// Sorted set, expires: the news of a day or a month by score, as `<time>-<news id>`.
#[must_use]
pub fn past(period: Period) -> String {
    format!("past:{period}")
}

/// Hash: the comments of a news item, as JSON by comment id.
#[must_use]
pub fn thread(id: NewsId) -> String {
    format!("thread:comment:{id}")
}

/// Sorted set: the comments of a user as `<news id>-<comment id>`, by time.
#[must_use]
pub fn user_comments(id: UserId) -> String {
    format!("user.comments:{id}")
}

/// Hash: the article of a news item; also its name in lists and groups.
#[must_use]
pub fn article(id: NewsId) -> String {
    format!("article:{id}")
}

/// The news item of an article in a list or group.
#[must_use]
pub fn news_of_article(name: &str) -> Option<NewsId> {
    match name.split_once(':') {
        Some(("article", id)) => id.parse().ok(),
        _ => None,
    }
}

/// Set, expires: the users (`user:<id>`) whose votes on an article count.
#[must_use]
pub fn voted(id: NewsId) -> String {
    format!("voted:{id}")
}

/// Set: the articles in a topic.
#[must_use]
pub fn group(topic: &Topic) -> String {
    format!("group:{topic}")
}

/// Set: the articles that would be in a topic, if their stories were not withheld.
#[must_use]
pub fn withheld_group(topic: &Topic) -> String {
    format!("group.withheld:{topic}")
}

/// Sorted set, expires: the articles of a topic by score.
#[must_use]
pub fn articles_of_topic_by_score(topic: &Topic) -> String {
    format!("score:{topic}")
}

/// Sorted set, expires: the articles of a topic by time.
#[must_use]
pub fn articles_of_topic_by_time(topic: &Topic) -> String {
    format!("time:{topic}")
}

/// String, expires: this list of a topic, a day or a month has been built; that of a topic may
/// be empty.
#[must_use]
pub fn built(list: &str) -> String {
    format!("built:{list}")
}

/// Hash: a tweet.
#[must_use]
pub fn tweet(id: TweetId) -> String {
    format!("tweet:{id}")
}

/// The tweet with a key.
#[must_use]
pub fn id_of_tweet(key: &str) -> Option<TweetId> {
    match key.split_once(':') {
        Some(("tweet", id)) => id.parse().ok(),
        _ => None,
    }
}

/// Sorted set: the followers of a user, by time.
#[must_use]
pub fn followers(id: UserId) -> String {
    format!("user:{id}:followers")
}

/// Sorted set: the people whom a user follows, by time.
#[must_use]
pub fn followings(id: UserId) -> String {
    format!("user:{id}:followings")
}

/// Sorted set: a user's own tweet ids, by time.
#[must_use]
pub fn user_timeline(id: UserId) -> String {
    format!("user:{id}:user_timeline")
}

/// Sorted set: tweet ids of a user and those they follow, by time; the newest.
#[must_use]
pub fn home_timeline(id: UserId) -> String {
    format!("user:{id}:home_timeline")
}

/// Sorted set: ids of the tweets that mention a user, by time; the newest.
#[must_use]
pub fn user_mentions(id: UserId) -> String {
    format!("user:{id}:mentions")
}

/// Sorted set: the entries of a user's inbox, by time; the newest.
#[must_use]
pub fn user_inbox(id: UserId) -> String {
    format!("user:{id}:inbox")
}

/// Sorted set: the entries of a user's inbox that are unread, by time.
#[must_use]
pub fn user_unread(id: UserId) -> String {
    format!("user:{id}:unread")
}

/// Hash: the messages of moderators to a user, by their numbers.
#[must_use]
pub fn user_messages(id: UserId) -> String {
    format!("user:{id}:messages")
}

/// Sorted set: the stories to which a user has subscribed, by time; the newest.
#[must_use]
pub fn user_subscriptions(id: UserId) -> String {
    format!("user:{id}:subscriptions")
}

/// Sorted set: the stories whose replies a user does not want, by time; the newest.
#[must_use]
pub fn user_unsubscribed(id: UserId) -> String {
    format!("user:{id}:unsubscribed")
}

/// Sorted set: who has ever subscribed to a story, by time.
#[must_use]
pub fn news_subscribers(id: NewsId) -> String {
    format!("news.subscribers:{id}")
}

/// String, expires: a user has been told of this follower recently.
#[must_use]
pub fn follow_notice(followed: UserId, follower: UserId) -> String {
    format!("limit:follow_notice:{followed}:{follower}")
}

/// Hash: how far a user has read threads, by the story; the last ones.
#[must_use]
pub fn user_visits(id: UserId) -> String {
    format!("user:{id}:visits")
}

/// Hash, expires: the people whom a user's mentions have notified on a day.
#[must_use]
pub fn user_notified(id: UserId, day: Day) -> String {
    format!("user:{id}:notified:{day}")
}

/// Hash: the progress of a job.
#[must_use]
pub fn timeline_job(name: &str) -> String {
    format!("timeline:job:{name}")
}

/// String, expires: the server that has the lease on a job.
#[must_use]
pub fn timeline_lease(name: &str) -> String {
    format!("timeline:lease:{name}")
}

/// Sorted set: the ids of the news that link to a host, by time of posting.
#[must_use]
pub fn host_news(host: &Hostname) -> String {
    format!("host.news:{host}")
}

/// Hash: the sum and the number of the votes on a host.
#[must_use]
pub fn link(host: &Hostname) -> String {
    format!("link:{host}")
}

/// Hash: the votes on a host, by voter.
#[must_use]
pub fn link_votes(host: &Hostname) -> String {
    format!("link:{host}:votes")
}

/// Hash: where the votes on a host came from, by voter.
#[must_use]
pub fn link_origins(host: &Hostname) -> String {
    format!("link:{host}:origins")
}

/// Hash: the number of votes on a host that count, by network.
#[must_use]
pub fn link_networks(host: &Hostname) -> String {
    format!("link:{host}:networks")
}

/// Hash: what moderators have noted about a user, by the line of the log.
#[must_use]
pub fn user_notes(id: UserId) -> String {
    format!("user:{id}:notes")
}

/// Sorted set, expires: who has posted from a network on a day, by when.
#[must_use]
pub fn network_people(tag: &NetworkTag, day: Day) -> String {
    format!("network:{tag}:{day}")
}

/// Sorted set, expires: the addresses from which a user has posted on a day, by when.
#[must_use]
pub fn user_addresses(id: UserId, day: Day) -> String {
    format!("user:{id}:addresses:{day}")
}

/// Hash: an appeal against a decision of moderators.
#[must_use]
pub fn appeal(id: ModerationId) -> String {
    format!("appeal:{id}")
}

/// Hash: a voter.
#[must_use]
pub fn voter(id: VoterId) -> String {
    format!("voter:{id}")
}

/// Sorted set: the hosts that a voter has voted on, by time of the vote.
#[must_use]
pub fn voter_votes(id: VoterId) -> String {
    format!("voter:{id}:votes")
}

/// Hash: the hosts that a voter voted on for the first time, on one day.
#[must_use]
pub fn voter_new(id: VoterId) -> String {
    format!("voter:{id}:new")
}

/// Sorted set: voters by the number of their votes of a day.
#[must_use]
pub fn day_voters_count(day: Day) -> String {
    format!("day:{day}:voters:count")
}

/// Sorted set: voters by the sum of their votes of a day.
#[must_use]
pub fn day_voters_sum(day: Day) -> String {
    format!("day:{day}:voters:sum")
}

/// Sorted set: hosts by the number of their votes of a day.
#[must_use]
pub fn day_links_count(day: Day) -> String {
    format!("day:{day}:links:count")
}

/// Sorted set: hosts by the sum of their votes of a day.
#[must_use]
pub fn day_links_sum(day: Day) -> String {
    format!("day:{day}:links:sum")
}

/// Set: the hosts whose SHA-256 begins with these four hexadecimal digits.
#[must_use]
pub fn prefix(hash: &HashPrefix) -> String {
    format!("prefix:{}", hash.shelf())
}
