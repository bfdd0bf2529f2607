//! Schemas of single values in requests and responses: their patterns, formats and maxima.
//! Fields and parameters refer to these types with `value_type`.

use crate::site_lists::SiteList;
use std::borrow::Cow;
use strum::{IntoEnumIterator, VariantArray};
use tidings_domain::accounts::inbox::Kind;
use tidings_domain::moderation::directory;
use tidings_domain::sites::{Board, Score, Span};
use tidings_domain::values::preferences;
use tidings_domain::values::{
    Action, Choice, INVITATION_DIGITS, MASKED_DIGITS, MAX_REQUEST_NAME, Thing, flag, hook, limits, mutes,
    origin_ban, post_rule,
};
use utoipa::openapi::schema::{Object, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{Components, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// Declares a type for each value, with its description and schema, and
/// `register`, which puts all of them into the components of a document.
macro_rules! values {
    ($($(#[doc = $text:literal])+ $name:ident = $schema:expr;)*) => {
        $(
            $(#[doc = $text])+
            pub enum $name {}

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    let description = concat!($($text),+).trim();
                    RefOr::T(Schema::Object($schema.description(Some(description)).build()))
                }
            }

            impl ToSchema for $name {}
        )*

        /// Adds the schemas of all values to a document.
        pub fn register(components: &mut Components) {
            let schemas: [fn() -> (Cow<'static, str>, RefOr<Schema>); _] = [$(|| ($name::name(), $name::schema())),*];
            components.schemas.extend(schemas.map(|schema| schema()).map(|(name, schema)| (name.into_owned(), schema)));
        }
    };
}

values! {
    /// A story, or a comment of one.
    VotedOnId = pattern("^[1-9][0-9]*(-[1-9][0-9]*)?$".to_owned(), "7-3");
    /// Numbers of stories, and comments such as `7-3`, with commas between them.
    VotesAsked = text(1, 8_000);
    /// The direction of a vote in the API.
    Vote = choice(["up", "down"]);
    /// The choice in the field `vote_type` of a vote.
    VoteChoice = choice(["up", "down", "none"]);
    /// A change of a comment.
    CommentChange = choice(["insert", "update", "delete"]);
    /// The caller's vote.
    VoteOfCaller = choice(["up", "down", "none"]);
    /// A username that is valid for a new account.
    Username = pattern(
        format!("^[A-Za-z][A-Za-z0-9_-]{{{},{}}}$", limits::USERNAME_MIN - 1, limits::USERNAME_MAX - 1),
        "alice",
    );
    /// A username in a response. Imported accounts may have longer ones.
    StoredUsername = text(1, limits::LONGEST_NAMED_USERNAME);
    /// A password.
    Password = text(limits::PASSWORD_MIN, limits::PASSWORD_MAX_BYTES);
    /// A new password; empty to keep the old one.
    PasswordOrNone = text(0, limits::PASSWORD_MAX_BYTES);
    /// A code of an authenticator app.
    TotpCode = pattern("^[0-9]{6}$".to_owned(), "123456");
    /// A code of an authenticator app, or a recovery code.
    LoginCode = text(6, 64);
    /// The secret of an authenticator app, in base 32.
    TotpSecret = pattern("^[A-Z2-7]{32}$".to_owned(), "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP");
    /// The secret of an authenticator app as an address.
    TotpAddress = text(1, 2_048);
    /// A code that takes the place of one of an authenticator app, once.
    RecoveryCode = pattern("^[a-km-z2-9]{4}(-[a-km-z2-9]{4}){3}$".to_owned(), "abcd-efgh-ijkm-npqr");
    /// An e-mail address; may be empty.
    Email = text(0, limits::MAX_EMAIL);
    /// Why somebody would like to join; may be empty.
    ApplicationText = text(0, limits::MAX_APPLICATION);
    /// The answer to the question at sign-up.
    SignupAnswer = text(0, limits::MAX_SIGNUP_ANSWER);
    /// The code of an invitation.
    Invitation = pattern(
        format!("^[0-9a-f]{{{INVITATION_DIGITS}}}$"),
        "5f0c1b7a9d3e2486f0c1b7a9d3e24865f0c1b7a9",
    );
    /// The code of an invitation, or the link with it; may be empty.
    InvitationOrNone = text(0, INVITATION_LINK);
    /// The token of the link for the first administrator; may be empty.
    WelcomeTokenOrNone = pattern(
        format!("^([0-9a-f]{{{INVITATION_DIGITS}}})?$"),
        "0c1b7a9d3e2486f0c1b7a9d3e24865f0c1b7a95f",
    );
    /// A full address on the site.
    Address = text(1, INVITATION_LINK);
    /// The text about a user.
    About = text(0, limits::MAX_ABOUT);
    /// A user's full name; may be empty.
    FullName = text(0, limits::MAX_FULL_NAME);
    /// Whether single keys are shortcuts: always, with a modifier key, or never.
    Shortcuts = pattern(choices::<preferences::Shortcuts>(), "on");
    /// How often a digest is mailed.
    Digest = pattern(choices::<preferences::Digest>(), "off");
    /// The order of comments.
    CommentOrder = pattern(choices::<preferences::CommentOrder>(), "score");
    /// The colours of pages: those that the device prefers, light or dark.
    Theme = pattern(choices::<preferences::Theme>(), "device");
    /// The size of text on pages.
    TextSize = pattern(choices::<preferences::TextSize>(), "normal");
    /// A secret of a session.
    Secret = pattern("^[0-9a-f]{40}$".to_owned(), "371ffee6dd19851234e3dc458f14af7732abc1a4");
    /// The secret of a session, as a login returns it or, masked, as a page has it.
    FormSecret = pattern(
        format!("^([0-9a-f]{{40}}|[0-9a-f]{{{MASKED_DIGITS}}})$"),
        "371ffee6dd19851234e3dc458f14af7732abc1a4",
    );
    /// A name for the request, the same when it is sent again. See `docs/api.md`.
    RequestName = text(1, MAX_REQUEST_NAME);
    /// The id of a session.
    SessionId = pattern(format!("^({SESSION})$"), "9b1f3c5a7d2e4f60");
    /// The id of a session, or `others`.
    SessionChoice = pattern(format!("^({SESSION}|others)$"), "others");
    /// The `User-Agent` of a browser or program; may be empty.
    Agent = text(0, limits::MAX_AGENT);
    /// A network address; may be empty.
    NetworkAddress = text(0, NETWORK_ADDRESS);
    /// An id.
    Id = whole(1, LARGEST_ID);
    /// An id, or -1 for none.
    IdOrNone = whole(-1, LARGEST_ID);
    /// A comment: the id of the story and the id within its thread.
    CommentAddress = pattern(format!("^{ID}-{ID}$"), "1-1");
    /// The title of a story.
    Title = text(1, limits::MAX_TITLE);
    /// The URL of a story; may be empty.
    Url = text(0, limits::MAX_URL);
    /// The text of a story; may be empty.
    NewsText = text(0, limits::MAX_TEXT);
    /// The title of a story in a response. Imported stories may have longer ones.
    StoredTitle = text(0, STORED_TITLE);
    /// The author of an article, as `user:<user id>`.
    Poster = text(1, POSTER);
    /// The URL of a story in a response, or `text://` and its text. Those of an imported database can be of any length.
    StoredUrl = string();
    /// Names of topics, separated by commas.
    TopicNames = text(0, TOPIC_NAMES);
    /// The name of a topic.
    TopicName = pattern(format!("^{}$", topic()), "rust");
    /// A topic, or several joined by `+` (all of them) or by commas (any of them).
    TopicChoice = pattern(format!("^{0}([+,]{0}){{0,{1}}}$", topic(), limits::MAX_TOPICS - 1), "rust");
    /// The sentence that describes a topic; may be empty.
    TopicSentence = text(0, limits::MAX_TOPIC_SENTENCE);
    /// A comment; empty to delete it.
    CommentText = text(0, limits::MAX_COMMENT);
    /// The text of a comment; empty if the comment is deleted.
    StoredComment = string();
    /// Why a comment is not shown; may be empty.
    WithheldReason = string();
    /// A comment or the text of a story that is not sent yet.
    DraftText = text(0, limits::MAX_TEXT);
    /// A comment or the text of a story as HTML.
    FormattedText = string();
    /// The text of a tweet.
    TweetText = text(1, limits::MAX_TWEET_BYTES);
    /// The text of a tweet in a response, or the title of the story that it announces.
    StoredTweet = text(0, limits::MAX_TWEET_BYTES);
    /// The full name of a user in a response; may be empty.
    StoredFullName = text(0, limits::MAX_SHOWN_FULL_NAME);
    /// A position in a timeline: the time and the id.
    Cursor = pattern(format!("^[0-9]{{1,12}}(\\.[0-9]{{1,3}})?-{ID}$"), "1401267618.123-45");
    /// A position in an inbox: the time and the entry.
    InboxCursor = pattern(format!("^[0-9]{{1,12}}(\\.[0-9]{{1,12}})?-{}$", entry()), "1401267618-reply:12-3");
    /// The id of an entry of an inbox.
    EntryId = pattern(format!("^{}$", entry()), "reply:12-3");
    /// The id of an entry of an inbox, or `all`.
    EntryChoice = pattern(format!("^({}|all)$", entry()), "all");
    /// Why something is in an inbox.
    EntryKind = choice(Kind::iter().map(Kind::name));
    /// The text of a comment, a tweet or a message.
    EntryText = text(0, limits::MAX_COMMENT.max(limits::MAX_MESSAGE));
    /// The kind of something muted.
    MuteKind = choice(mutes::MuteKind::iter().map(mutes::MuteKind::name));
    /// The thing to mute: a username, the name or address of a site, a topic, or a word or phrase.
    MuteValue = text(1, limits::MAX_URL);
    /// Something muted.
    StoredMute = text(1, limits::LONGEST_NAMED_USERNAME);
    /// The maximum number of entries.
    PageSize = whole(1, limits::MAX_PAGE as u64);
    /// The number of a page.
    PageNumber = whole(1, limits::MAX_PAGE_NUMBER);
    /// The number of entries before the first one to return.
    Start = whole(0, crate::limits::MAX_START);
    /// The maximum number of comments.
    CommentCount = whole(1, limits::MAX_API_COMMENTS as u64);
    /// A position in a thread.
    CommentCursor = pattern(format!("^{ID}$"), "317");
    /// The maximum number of stories.
    NewsCount = whole(1, limits::MAX_API_NEWS);
    /// The order of stories.
    NewsOrder = choice(SiteList::names());
    /// The order of articles.
    ArticleOrder = choice(["score", "time"]);
    /// A kind of thing that can be moderated.
    ThingKind = choice(Thing::KINDS);
    /// A thing: a number, `7-3` for comment 3 of story 7, a username for a person.
    ThingId = text(1, limits::LONGEST_NAMED_USERNAME);
    /// A kind of thing that can be flagged.
    FlaggedKind = choice(["story", "comment", "tweet", "user"]);
    /// Why a reader flags something.
    FlagReason = choice(flag::FlagReason::iter().map(flag::FlagReason::name));
    /// A reader's note to a flag; may be empty.
    FlagNote = text(0, limits::MAX_FLAG_NOTE);
    /// Why something waits for a moderator.
    ReviewCause = choice(["flagged", "held", "application", "appeal", "message"]);
    /// A text in the review queue.
    QueueText = text(0, limits::QUEUE_TEXT + "...".len());
    /// A row of the review queue, written `<kind>:<id>`.
    QueueRow = text(1, QUEUE_ROW);
    /// A place in the review queue.
    QueueCursor = text(1, QUEUE_CURSOR);
    /// An action of moderators.
    ModerationAction = string().enum_values(Some(Action::ALL.iter().map(|action| action.name())));
    /// Why a moderator did something; may be empty.
    Reason = text(0, limits::MAX_REASON);
    /// An announcement; empty for none.
    AnnouncementText = text(0, limits::MAX_ANNOUNCEMENT);
    /// Where an announcement leads; may be empty.
    AnnouncementUrl = text(0, limits::MAX_LINK_ADDRESS_BYTES);
    /// The numbers of at most two stories, with commas between them.
    PinnedStories = text(0, 50);
    /// The kind of pattern that a rule for posts looks for.
    RuleKind = choice(post_rule::RuleKind::iter().map(post_rule::RuleKind::name));
    /// The pattern of a rule for posts.
    Pattern = text(1, limits::MAX_PATTERN);
    /// The effect of a rule on a post that it matches.
    RuleEffect = choice(post_rule::RuleEffect::iter().map(post_rule::RuleEffect::name));
    /// The title, in the list, of a reason that moderators have at hand.
    ReasonTitle = text(0, limits::MAX_SAVED_TITLE);
    /// The rule of the site that a reason is about; may be empty.
    ReasonRule = text(0, limits::MAX_SAVED_RULE);
    /// The address of a webhook.
    HookAddress = text(0, limits::MAX_HOOK_ADDRESS);
    /// The secret with which messages to a webhook are signed; empty for none.
    HookSecret = text(0, limits::MAX_HOOK_SECRET);
    /// The kinds of events that a webhook is told of: `story`, `comment`, `flag`, `signup`, `queue`,
    /// `decision`, with commas between them.
    HookKinds = text(0, HOOK_KINDS);
    /// A kind of event that a webhook is told of.
    HookKind = choice(hook::HookKind::iter().map(hook::HookKind::name));
    /// How a webhook is told: all that there is to say, or one line for a chat.
    HookFormat = choice(hook::HookFormat::iter().map(hook::HookFormat::name));
    /// Whether something banned is a network or a domain.
    OriginKind = choice(origin_ban::OriginKind::iter().map(origin_ban::OriginKind::name));
    /// A network or a domain of e-mail addresses.
    Origin = text(1, limits::MAX_ORIGIN);
    /// The actions that are forbidden to people from a banned network or domain.
    BanScope = choice(origin_ban::BanScope::iter().map(origin_ban::BanScope::name));
    /// A message to or from the moderators.
    MessageText = text(1, limits::MAX_MESSAGE);
    /// Where a thread of messages stands.
    ThreadState = choice(["waiting", "answered", "closed"]);
    /// The text of an appeal against a decision.
    Appeal = text(1, limits::MAX_APPEAL);
    /// A number of hours; 0 for permanent.
    Hours = whole(0, limits::MAX_HOURS);
    /// The age below which an account is young, in hours.
    YoungAge = whole(1, limits::MAX_YOUNG_HOURS);
    /// A number of days.
    RemovedDays = whole(1, limits::MAX_REMOVED_DAYS);
    /// A state of an account.
    AccountState = choice(directory::AccountState::VARIANTS.iter().map(|state| state.name()));
    /// An order of accounts.
    AccountOrder = choice(tidings_search::accounts::AccountOrder::VARIANTS.iter().map(|order| order.name()));
    /// An action on several people.
    DirectoryAction = choice(["ban", "silence", "note"]);
    /// Usernames with commas between them.
    Usernames = text(1, limits::DIRECTORY_ROWS * (limits::LONGEST_NAMED_USERNAME + 1));
    /// The tag of a network.
    NetworkTag = pattern("^[0-9a-f]{12}$".to_owned(), "0123456789ab");
    /// A switch in a form: `1` for on, `0` for off.
    Switch = choice(["1", "0"]);
    /// As what the author of a comment speaks.
    Speaker = choice(["moderator"]);
    /// A vote on a site in a form; `0` takes it back.
    SiteVote = choice(["1", "-1", "0"]);
    /// A vote on a site as a number; 0 means no vote.
    VoteNumber = whole(-1, 1);
    /// The name of a web site.
    Host = format("idn-hostname").examples(["example.com"]);
    /// The name of a site, as it was asked for.
    AskedHost = text(0, crate::limits::ADDRESS_BYTES);
    /// A UUID.
    Uuid = format("uuid");
    /// A time, as in `2023-02-02T09:36:03Z`.
    Time = format("date-time");
    /// A day, as in `2023-02-02`.
    Date = format("date");
    /// A day or a month, as in `2023-02-02` and `2023-02`.
    Period = pattern("^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$".to_owned(), "2023-02-02");
    /// The score of a site.
    ScoreName = choice([Score::Good, Score::Bad, Score::Controversial, Score::NoScore].map(Score::name));
    /// A leaderboard.
    BoardName = choice(Board::iter().map(Board::name));
    /// The time that a leaderboard covers.
    SpanName = choice(Span::iter().map(Span::name));
    /// The number of days of a history.
    HistoryDays = whole(1, limits::MAX_HISTORY_DAYS);
    /// The first hexadecimal digits of a SHA-256.
    HashPrefix = pattern("^[0-9A-Fa-f]{4,8}$".to_owned(), "a379");
    /// How many sites a voter may vote on for the first time in a day.
    DailyVotes = whole(0, limits::MAX_DAILY_VOTES);
    /// A sentence to show to a person.
    Message = text(1, MESSAGE);
}

/// The most characters in the link of an invitation.
const INVITATION_LINK: usize = 2_048;
/// The most characters in the title of a story, which an older site may have
/// allowed to be longer than [`limits::MAX_TITLE`].
const STORED_TITLE: usize = 300;
/// The names of all kinds of webhooks, with room for blanks.
const HOOK_KINDS: usize = 100;
/// The most characters in names of topics, with room for spaces between them.
const TOPIC_NAMES: usize = limits::MAX_TOPICS * (limits::TOPIC_MAX + 10);
/// The most characters in `user:<user id>`.
const POSTER: usize = 30;
/// The most characters in a row of the review queue.
const QUEUE_ROW: usize = "application:".len() + limits::LONGEST_NAMED_USERNAME;
/// The most characters in a place in the review queue.
const QUEUE_CURSOR: usize = 20 + QUEUE_ROW;
/// The most characters in a message.
const MESSAGE: usize = 1_000;
/// The id of a session in a pattern: of an earlier one, of which an account has at most one,
/// or the first digits of a hash.
const SESSION: &str = "earlier|[0-9a-f]{16}";
/// The most characters in an IPv6 address.
const NETWORK_ADDRESS: usize = 45;
/// The largest id: one with as many digits as [`ID`] has.
const LARGEST_ID: u64 = 999_999_999_999_999;
/// An id in a pattern.
const ID: &str = "[1-9][0-9]{0,14}";

/// The id of an entry of an inbox in a pattern.
fn entry() -> String {
    format!("((reply|mention|moderation:message):{ID}-{ID}|(mention:tweet|follow|moderation):{ID})")
}

/// A topic in a pattern.
fn topic() -> String {
    format!("[a-z0-9-]{{{},{}}}", limits::TOPIC_MIN, limits::TOPIC_MAX)
}

fn string() -> ObjectBuilder {
    Object::builder().schema_type(Type::String)
}

/// A text with a minimum and a maximum number of characters.
fn text(least: usize, most: usize) -> ObjectBuilder {
    string().min_length(Some(least)).max_length(Some(most))
}

/// The pattern of a choice.
fn choices<C: Choice>() -> String {
    let names: Vec<&str> = C::iter().map(Choice::name).collect();
    format!("^({})$", names.join("|"))
}

fn pattern(pattern: String, example: &str) -> ObjectBuilder {
    string().pattern(Some(pattern)).examples([example])
}

fn choice(texts: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
    string().enum_values(Some(texts))
}

fn format(name: &str) -> ObjectBuilder {
    string().format(Some(SchemaFormat::Custom(name.to_owned())))
}

/// A whole number from `least` to `most`.
fn whole(least: i64, most: u64) -> ObjectBuilder {
    Object::builder().schema_type(Type::Integer).minimum(Some(least)).maximum(Some(most))
}
