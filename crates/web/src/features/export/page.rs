//! The page of an export for people: one file that needs no network, no script and no other file.

use crate::markup::addresses::{message_thread_address, profile_address};
use crate::markup::dates::to_the_minute;
use crate::markup::parts::age_as;
use crate::settings::SiteSettings;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::borrow::Cow;
use strum::IntoEnumIterator;
use tidings_domain::accounts::OpenSession;
use tidings_domain::exports::{
    AccountRecord, CommentRecord, FlagRecord, InboxRecord, MuteRecord, PersonRecord, Record,
    RestrictionRecord, Section, SettingsRecord, StoryRecord, TopicRecord, VoteRecord, VotedKind,
};
use tidings_domain::news::item::Direction;
use tidings_domain::values::text::printable_lines;
use tidings_domain::values::{CommentId, NewsId, NewsUrl, Timestamp};
use tidings_language::lists::enumerated;
use tidings_language::numbers::number;
use tidings_language::{n, t, tag};

const STYLE: &str = include_str!("../../../assets/export/style.css");
/// The page shows texts of people. It loads and runs nothing, whatever they contain.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The page while it is being written.
pub(super) struct Page {
    /// The site, for links to what is there.
    site: SiteSettings,
}

/// A record as the page shows it.
#[derive(Default)]
struct Item {
    /// Its title, and the address that the title leads to.
    title: String,
    address: Option<String>,
    /// Short sentences about it.
    facts: Vec<String>,
    time: Option<Timestamp>,
    text: Option<String>,
}

impl Item {
    fn of(title: impl Into<String>, time: Timestamp) -> Self {
        Self { title: title.into(), time: Some(time), ..Self::default() }
    }

    /// With the address of something on the site.
    fn at(self, site: &SiteSettings, path: &str) -> Self {
        Self { address: Some(site.link(path)), ..self }
    }

    fn with_facts(self, facts: impl IntoIterator<Item = String>) -> Self {
        Self { facts: facts.into_iter().collect(), ..self }
    }

    fn with_text(self, text: Option<&String>) -> Self {
        Self { text: text.cloned(), ..self }
    }
}

impl Page {
    /// The end of the page.
    pub(super) const END: &'static str = "</main></body></html>\n";

    pub(super) const fn new(site: SiteSettings) -> Self {
        Self { site }
    }

    /// The page up to the first section, with the account.
    pub(super) fn beginning(&self, account: &AccountRecord, now: Timestamp) -> String {
        let title = t!("Export of {name} from {site}", name = &account.username, site = &self.site.name);
        let beginning = html! {
            (DOCTYPE)
            // The end tags are in `END`.
            (PreEscaped(format!("<html lang=\"{}\" dir=\"{}\">", tag(), tag().direction())))
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            (PreEscaped("<body>"))
            header {
                h1 { (title) }
                p {
                    (t!(
                        "Made on {date} from {site}. The file data.json has the same data for programs.",
                        date = time(now),
                        site = html! { a href=(self.site.url) { (self.site.url) } },
                    ))
                }
                nav aria-label=(t!("Contents")) {
                    ul {
                        li { a href="#account" { (t!("Account")) } }
                        @for section in Section::iter() {
                            li { a href={ "#" (section.name()) } { (heading(section)) } }
                        }
                    }
                }
            }
            (PreEscaped("<main>"))
            section id="account" {
                h2 { (t!("Account")) }
                dl { @for (name, value) in account_facts(account) { dt { (name) } dd { (value) } } }
            }
        };
        printable(beginning)
    }

    /// The beginning of a section, up to its first record.
    pub(super) fn section_beginning(section: Section) -> String {
        let name = section.name();
        let explanation = explanation(section);
        let beginning = html! {
            (PreEscaped(format!("<section id=\"{name}\">")))
            h2 { (heading(section)) }
            @if let Some(explanation) = explanation { p.facts { (explanation) } }
            (PreEscaped("<ul class=\"records\">"))
        };
        beginning.into_string()
    }

    /// The end of a section with or without records.
    pub(super) fn section_end(has_records: bool, left_out: u64) -> String {
        let end = html! {
            @if !has_records && left_out == 0 { li { p { (t!("list" => "None.")) } } }
            @if left_out > 0 {
                li {
                    p {
                        (n!(
                            left_out,
                            "{count} entry is left out: the export is full.",
                            "{count} entries are left out: the export is full.",
                        ))
                    }
                }
            }
            (PreEscaped("</ul></section>\n"))
        };
        end.into_string()
    }

    /// A record.
    pub(super) fn record(&self, record: &Record) -> String {
        let Item { title, address, facts, time: when, text } = self.item(record);
        let item = html! {
            li {
                @if !title.is_empty() {
                    p {
                        @match &address {
                            Some(address) => a href=(address) rel="noopener noreferrer nofollow" { (title) },
                            None => strong { (title) },
                        }
                    }
                }
                p.facts {
                    @if let Some(when) = when { (time(when)) }
                    @for (index, fact) in facts.iter().enumerate() {
                        @if index > 0 || when.is_some() { " · " }
                        (fact)
                    }
                }
                @if let Some(text) = text { p.text dir="auto" { (text) } }
            }
        };
        let mut item = printable(item);
        item.push('\n');
        item
    }

    fn item(&self, record: &Record) -> Item {
        let site = &self.site;
        match record {
            Record::Story(story) => self.story(story),
            Record::Comment(comment) => self.comment(comment),
            Record::Tweet(tweet) => {
                let announced =
                    |news: NewsId| String::from(t!("announces story {id}", id = news.to_string()));
                let title = t!("Post {id}", id = tweet.id.to_string());
                let item = Item::of(title, tweet.time).with_text(Some(&tweet.text));
                item.at(site, &format!("/tweet/{}", tweet.id)).with_facts(
                    tweet.news_id.map(announced).into_iter().chain(state(false, tweet.withheld.as_deref())),
                )
            }
            Record::Vote(vote) => self.vote(vote),
            Record::Flag(FlagRecord { kind, id, reason, note, time }) => {
                let title = match *kind {
                    "story" => t!("The story {id}", id),
                    "comment" => t!("The comment {id}", id),
                    "user" => t!("The profile {id}", id),
                    _ => t!("The tweet {id}", id),
                };
                let item = Item::of(title, *time).with_text(note.as_ref());
                item.with_facts([t!("as {reason}", reason = *reason).into()])
            }
            Record::Listed(listed) => {
                let title = story_title(listed.title.as_deref(), &listed.news_id.to_string());
                Item::of(title, listed.time).at(site, &format!("/news/{}", listed.news_id))
            }
            Record::Topic(TopicRecord { topic, since }) => {
                Item::of(topic.clone(), *since).at(site, &format!("/topic/{topic}"))
            }
            Record::Mute(MuteRecord { what, value, since }) => {
                let what = match what.as_str() {
                    "user" => t!("user"),
                    "domain" => t!("site"),
                    _ => t!("word"),
                };
                Item::of(value.clone(), *since).with_facts([what.to_owned()])
            }
            Record::Person(PersonRecord { username, since }) => {
                Item::of(username.clone(), *since).at(site, &profile_address(username, ""))
            }
            Record::Inbox(entry) => inbox_entry(entry),
            Record::Message(message) => {
                let from = message.from.as_deref().unwrap_or(t!("the moderators"));
                let item = Item::of(from, message.time).with_text(Some(&message.text));
                item.at(site, &message_thread_address(message.thread_id))
            }
            Record::Session(session) => open_session(session),
        }
    }

    fn story(&self, story: &StoryRecord) -> Item {
        let mut facts = vec![
            t!("story {id}", id = story.id.to_string()).into(),
            counted_votes(story.up, story.down),
            n!(story.comments, "{count} comment", "{count} comments").into(),
        ];
        let topics = || String::from(t!("topics: {topics}", topics = enumerated(&story.topics)));
        facts.extend((!story.topics.is_empty()).then(topics));
        facts.extend(state(story.deleted, story.withheld.as_deref()));
        let link = story.url.as_deref().filter(|url| !url.is_empty());
        facts.extend(link.map(|url| String::from(t!("links to {url}", url))));
        // Only an http(s) address becomes a link, also if another program stored something else.
        let address = link.and_then(|url| Some(NewsUrl::parse_imported(url).ok()?.address().into_owned()));
        let title = story_title(story.title.as_deref(), &story.id.to_string());
        let item = Item::of(title, story.time).with_facts(facts).with_text(story.text.as_ref());
        let item = item.at(&self.site, &format!("/news/{}", story.id));
        Item { address: address.or(item.address), ..item }
    }

    fn comment(&self, comment: &CommentRecord) -> Item {
        let CommentRecord { news_id, comment_id, .. } = comment;
        let mut facts = vec![counted_votes(comment.up, comment.down)];
        let reply = |parent: CommentId| String::from(t!("a reply to comment {id}", id = parent.to_string()));
        facts.extend(comment.parent_id.map(reply));
        facts.extend(state(comment.deleted, comment.withheld.as_deref()));
        let story = story_title(comment.title.as_deref(), &news_id.to_string());
        let title = t!("Comment {id} on {story}", id = comment_id.to_string(), story);
        let item = Item::of(title, comment.time).with_facts(facts);
        item.at(&self.site, &format!("/comment/{news_id}/{comment_id}")).with_text(comment.text.as_ref())
    }

    fn vote(&self, vote: &VoteRecord) -> Item {
        let id = &vote.id;
        let (title, path) = match vote.kind {
            VotedKind::Story => (story_title(vote.title.as_deref(), id), format!("/news/{id}")),
            VotedKind::Comment => {
                (t!("Comment {id}", id).into(), format!("/comment/{}", id.replace('-', "/")))
            }
            VotedKind::Site => (id.clone(), format!("/site/{id}")),
        };
        let choice = if vote.vote == Direction::Up { t!("vote" => "up") } else { t!("vote" => "down") };
        let facts = vec![choice.to_owned()];
        Item { title, facts, time: vote.time, ..Item::default() }.at(&self.site, &path)
    }
}

/// An entry of an inbox, in words.
fn inbox_entry(entry: &InboxRecord) -> Item {
    let title = match entry.kind {
        "moderation" => t!("A message from a moderator"),
        "mention" => t!("A mention"),
        "follow" => t!("A follow"),
        _ => t!("A reply"),
    };
    let read = if entry.read { t!("message" => "read") } else { t!("message" => "unread") };
    // The id, such as reply:7-3, names the subject of the entry. It adds nothing to a message.
    let id = entry.text.is_none().then(|| entry.id.clone());
    let item = Item::of(title, entry.time).with_text(entry.text.as_ref());
    item.with_facts([read.to_owned()].into_iter().chain(id))
}

fn open_session(session: &OpenSession) -> Item {
    let title = if session.agent.is_empty() { t!("An unknown program") } else { &session.agent };
    let from =
        (!session.address.is_empty()).then(|| String::from(t!("from {address}", address = &session.address)));
    let seen = session.last_seen.map(|seen| String::from(t!("last seen {date}", date = date(seen))));
    let item = Item { title: title.to_owned(), time: session.since, ..Item::default() };
    item.with_facts(from.into_iter().chain(seen))
}

fn story_title(title: Option<&str>, id: &str) -> String {
    title.map_or_else(|| t!("Story {id}", id).into(), str::to_owned)
}

/// Whether it is deleted, and why readers do not see it.
fn state(deleted: bool, withheld: Option<&str>) -> Vec<String> {
    let mut facts = Vec::new();
    if deleted {
        facts.push(t!("deleted").to_owned());
    }
    facts.extend(withheld.map(|withheld| match withheld.split_once(':') {
        Some(("removed", reason)) => t!("removed by a moderator: {reason}", reason).into(),
        Some(("held", reason)) => t!("held until a moderator approves it: {reason}", reason).into(),
        _ => t!("hidden by readers' flags").to_owned(),
    }));
    facts
}

fn counted_votes(up: i64, down: i64) -> String {
    t!("{up} votes, {down} down", up, down).into()
}

/// The account in words. A field that is not named here does not compile.
fn account_facts(account: &AccountRecord) -> Vec<(&'static str, String)> {
    let AccountRecord {
        id,
        username,
        fullname,
        about,
        email,
        confirmed_email,
        new_email,
        mail_refused,
        created,
        last_visit,
        karma,
        flags,
        restrictions,
        settings,
    } = account;
    let refused = Some(mail_refused).filter(|refused| **refused > 0);
    let mut facts = vec![
        (t!("Username"), username.clone()),
        (t!("Number"), id.to_string()),
        (t!("Full name"), fullname.clone()),
        (t!("profile" => "About"), about.clone()),
        (t!("E-mail address"), email.clone()),
        (t!("Confirmed e-mail address"), confirmed_email.clone()),
        (t!("New e-mail address, not confirmed yet"), new_email.clone()),
        (
            t!("E-mails refused by the address"),
            refused.map(|refused| refused.to_string()).unwrap_or_default(),
        ),
        (t!("account" => "Created"), date(*created)),
        (t!("Last visit"), last_visit.map(date).unwrap_or_default()),
        (t!("Karma"), number(*karma)),
        (t!("Role"), role(flags).to_owned()),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts.extend(restrictions.iter().map(|restriction| (t!("Restriction"), restricted(restriction))));
    facts.extend(setting_facts(settings));
    facts
}

fn setting_facts(settings: &SettingsRecord) -> [(&'static str, String); 10] {
    let &SettingsRecord {
        tweet_news,
        gravatar,
        mail_replies,
        digest,
        sort_comments,
        shortcuts,
        show_hidden,
        theme,
        text_size,
        inbox_feed,
    } = settings;
    let yes = |on: bool| if on { t!("yes") } else { t!("no") };
    [
        (t!("Announces stories to followers"), yes(tweet_news)),
        (t!("Picture from gravatar.com"), yes(gravatar)),
        (t!("Replies by mail"), yes(mail_replies)),
        (t!("Digest"), digest),
        (t!("Order of comments"), sort_comments),
        (t!("Keyboard shortcuts"), shortcuts),
        (t!("Shows hidden items"), yes(show_hidden)),
        (t!("Colours"), theme),
        (t!("Text size"), text_size),
        (t!("Feed of the inbox"), yes(inbox_feed)),
    ]
    .map(|(name, value)| (name, value.to_owned()))
}

/// A restriction by a moderator, in words.
fn restricted(restriction: &RestrictionRecord) -> String {
    let RestrictionRecord { kind, until, reason, moderation_id } = restriction;
    let restriction = match *kind {
        "banned" => t!("banned"),
        "silenced" => t!("silenced"),
        "held" => t!("held"),
        _ => t!("discounted"),
    };
    let id = moderation_id.to_string();
    let text = match until.map(date) {
        Some(date) => t!(
            "{restriction} until {date}, entry {id} of the moderation log: {reason}",
            restriction,
            date,
            id,
            reason,
        ),
        None => t!("{restriction}, entry {id} of the moderation log: {reason}", restriction, id, reason),
    };
    text.into()
}

/// The role that the rights of an account give its owner; empty for most.
fn role(flags: &str) -> &'static str {
    match flags {
        flags if flags.contains('a') => t!("administrator"),
        flags if flags.contains('m') => t!("moderator"),
        _ => "",
    }
}

fn heading(section: Section) -> &'static str {
    match section {
        Section::Stories => t!("Stories"),
        Section::Comments => t!("Comments"),
        Section::Tweets => t!("Posts"),
        Section::Votes => t!("Votes"),
        Section::Flags => t!("Things you flagged"),
        Section::Saved => t!("Saved stories"),
        Section::Hidden => t!("Hidden stories"),
        Section::FollowedTopics => t!("Topics you follow"),
        Section::MutedTopics => t!("Muted topics"),
        Section::Mutes => t!("Muted people, sites and words"),
        Section::Blocks => t!("People you blocked"),
        Section::Followings => t!("People you follow"),
        Section::Followers => t!("Your followers"),
        Section::Invited => t!("People you invited"),
        Section::Subscriptions => t!("Threads you subscribed to"),
        Section::Unsubscribed => t!("Threads you unsubscribed from"),
        Section::Visits => t!("Threads you read recently"),
        Section::Inbox => t!("Inbox"),
        Section::Messages => t!("Messages with the moderators"),
        Section::Sessions => t!("Sessions"),
    }
}

/// An explanation of the content that a section leaves out.
fn explanation(section: Section) -> Option<&'static str> {
    match section {
        Section::Votes => Some(t!(
            "Votes on stories, comments and sites. The site keeps no list of your votes on comments, so only those in threads you wrote in, read, saved or started are here."
        )),
        Section::Inbox => Some(t!(
            "Only messages from moderators are shown with their text. What other people wrote belongs to them."
        )),
        _ => None,
    }
}

fn date(time: Timestamp) -> String {
    to_the_minute(time).to_string()
}

fn time(time: Timestamp) -> Markup {
    age_as(time, date(time))
}

/// Without the control characters that no document may contain.
fn printable(markup: Markup) -> String {
    let markup = markup.into_string();
    match printable_lines(&markup) {
        Cow::Borrowed(_) => markup,
        Cow::Owned(cleaned) => cleaned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::settings;

    fn story(title: &str, url: &str) -> Record {
        Record::Story(StoryRecord {
            id: NewsId(7),
            time: Timestamp(1_800_000_000),
            title: Some(title.to_owned()),
            url: Some(url.to_owned()),
            text: None,
            topics: vec!["rust".to_owned()],
            up: 1_200,
            down: 0,
            comments: 1,
            deleted: false,
            withheld: Some("removed:spam".to_owned()),
        })
    }

    fn page() -> Page {
        let site = SiteSettings { url: "https://news.example/".parse().unwrap(), ..settings().site };
        Page::new(site)
    }

    #[test]
    fn an_item_says_what_became_of_it() {
        let item = page().record(&story("Title", "http://example.com/"));
        for part in
            ["1,200 votes, 0 down", "1 comment", "removed by a moderator: spam", "15 Jan 2027, 08:00 UTC"]
        {
            assert!(item.contains(part), "{part} in {item}");
        }
    }
}
