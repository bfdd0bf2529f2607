//! Makes the site of the demo: an archive, as `tidings export site` writes it, is imported as `tidings import hn` does,
//! with its end at now. Then people post, follow and flag, and moderators act: an archive has none of that.
//!
//! It is made in memory, and then copied into the file, which waits for the disk at each action.

use crate::cli::copy::copy_store;
use crate::config::Config;
use anyhow::Context;
use serde::Deserialize;
use std::io::{BufRead, BufReader, Cursor};
use std::net::{IpAddr, Ipv4Addr};
use strum::IntoEnumIterator;
use tidings_domain::accounts::account;
use tidings_domain::accounts::roles::{self, GivenRole};
use tidings_domain::comments::posting::{CommentDraft, post_comment};
use tidings_domain::exports::site::{ABOUT, SiteSection};
use tidings_domain::flags::{self, Flagging};
use tidings_domain::imports::archive::{Archive, LINES_AT_ONCE, NumberedLine, import_lines};
use tidings_domain::imports::lines::ArchiveLine;
use tidings_domain::moderation::rules::{NewRule, add_rule};
use tidings_domain::moderation::{ModerationRequest, moderate};
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::submissions::{self, Submission};
use tidings_domain::timelines::follows::follow;
use tidings_domain::timelines::tweets::post_tweet;
use tidings_domain::values::secrets::random_token;
use tidings_domain::values::site_settings;
use tidings_domain::values::{
    Body, CommentAddress, CommentId, Deed, FlagNote, FlagReason, LimitRules, Moment, NewPassword, NewsId,
    Pattern, RateRules, Reason, RuleEffect, RuleKind, Rules, Thing, Timestamp, TrustRules, TweetText, UserId,
};
use tidings_domain::{Actor, Site, User, background, keys, migrations};
use tidings_keyspace::{Batch, Store, StoreOptions, read};
use zip::ZipArchive;

/// An export of a site of two months, with 40 people and 299 stories.
const ARCHIVE: &[u8] = include_bytes!("community.zip");
/// The texts of what an archive has not, in sections that begin with `= name`.
const TEXTS: &str = include_str!("community.txt");
/// Those who can log in, the first people in the archive. The first is the administrator, the second a moderator.
const ACCOUNTS: [&str; 3] = ["administrator", "moderator", "reader"];
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// How long the site has been there.
const AGE: u64 = 60 * DAY;

/// Somebody who can log in.
pub(super) struct Account {
    pub(super) name: &'static str,
    pub(super) password: String,
}

/// The part of the file about an export that matters here.
#[derive(Deserialize)]
struct About {
    source: String,
    exported: u64,
}

/// Makes the site in the store of these settings, which is empty. Returns the accounts to log in with.
///
/// # Errors
/// When the store fails.
pub(super) async fn make(config: &Config, now: Timestamp) -> anyhow::Result<Vec<Account>> {
    let store = Store::in_memory().await?;
    migrations::begin_new(&store).await?;
    let site = Site::new(store.clone(), rules(&config.rules), PasswordWorker::default());
    let site = site.reached_at(config.site.url.as_str()).for_command();
    let mut community = Community { site, now, people: Vec::new(), stories: 0 };
    community.import().await?;
    let accounts = community.open_accounts().await?;
    // In the store, so that the administrator can change it.
    store.commit(Batch::of(|batch| batch.set_field(keys::SITE, site_settings::NAME, "Tidings demo"))).await?;
    community.follow_and_post().await?;
    community.live_the_last_days().await?;
    background::finish_waiting(&community.site, Moment::from_timestamp(now)).await?;
    let file = Store::open(config.server.store.as_str(), &StoreOptions::default()).await?;
    copy_store(&store, &file).await?;
    file.close().await;
    store.close().await;
    Ok(accounts)
}

/// The rules of the site without the limits that keep strangers from doing much at once.
fn rules(rules: &Rules) -> Rules {
    let mut rules = rules.clone();
    rules.rates = RateRules::off();
    rules.limits = LimitRules { submission_seconds: 0, ..rules.limits };
    rules.trust = TrustRules { days: 0, karma: 0 };
    rules
}

/// The lines of a section of the texts.
fn texts(section: &str) -> impl Iterator<Item = &'static str> {
    let heading = format!("= {section}");
    TEXTS.lines().skip_while(move |line| *line != heading).skip(1).take_while(|line| !line.starts_with("= "))
}

/// The community that is being made.
struct Community {
    site: Site,
    now: Timestamp,
    /// Everybody, in the order of the archive.
    people: Vec<(UserId, String)>,
    stories: u64,
}

impl Community {
    /// The moment so many seconds before now.
    fn before(&self, seconds: u64) -> Moment {
        Moment::from_timestamp(Timestamp(self.now.0.saturating_sub(seconds)))
    }

    /// Imports the archive.
    async fn import(&mut self) -> anyhow::Result<()> {
        let mut zip = ZipArchive::new(Cursor::new(ARCHIVE))?;
        let About { source, exported } = serde_json::from_reader(zip.by_name(ABOUT)?)?;
        let archive = Archive { source: source.parse()?, trusts_karma: true };
        let later = |time: &mut Timestamp| time.0 = time.0 + self.now.0 - exported;
        for section in SiteSection::iter() {
            let Ok(file) = zip.by_name(section.file()) else { continue };
            let mut lines = Vec::new();
            for (line, text) in (1..).zip(BufReader::new(file).lines()) {
                let mut content = ArchiveLine::parse(text?.as_bytes(), Timestamp(exported))?;
                match &mut content {
                    ArchiveLine::Story(story) => {
                        later(&mut story.content.posted);
                        self.stories += 1;
                    }
                    ArchiveLine::Comment(comment) => later(&mut comment.posted),
                    ArchiveLine::Person(person) => later(&mut person.created),
                    _ => {}
                }
                lines.push(NumberedLine { line, content });
            }
            for (place, lines) in
                (0..).zip(lines.chunks(if section == SiteSection::Sites { 1 } else { LINES_AT_ONCE }))
            {
                // People have voted on a site each day, and the rest is imported now.
                let now = if section == SiteSection::Sites { AGE.saturating_sub(place * DAY) } else { 0 };
                let now = self.before(now).timestamp();
                let imported = import_lines(&self.site, now, &archive, lines).await?;
                anyhow::ensure!(imported.refused.is_empty(), "the archive has {:?}", imported.refused);
            }
            for line in &lines {
                if let ArchiveLine::Person(person) = &line.content {
                    let name = person.name.to_string();
                    let id = self.site.store.fetch(read::string(keys::username_to_id(&name))).await?;
                    let id = id.and_then(|id| id.parse().ok()).context("a person is not there")?;
                    self.people.push((UserId(id), name));
                }
            }
        }
        Ok(())
    }

    /// Gives the first people passwords, and their roles.
    async fn open_accounts(&self) -> anyhow::Result<Vec<Account>> {
        let (time, mut accounts) = (self.before(AGE).timestamp(), Vec::new());
        let roles = [Some(GivenRole::Administrator), Some(GivenRole::Moderator), None];
        for ((name, (id, _)), role) in ACCOUNTS.into_iter().zip(&self.people).zip(roles) {
            let password: String = random_token()?.chars().take(16).collect();
            account::set_password(&self.site, time, *id, &NewPassword::parse(&password)?).await?;
            if let Some(role) = role {
                roles::set_role(&self.site, time, *id, (role, true)).await?;
            }
            accounts.push(Account { name, password });
        }
        Ok(accounts)
    }

    /// Somebody, by their place in the archive, counted around.
    fn somebody(&self, place: usize) -> &(UserId, String) {
        &self.people[place % self.people.len()]
    }

    /// A person as they act now, and where they write from: an address of documentation.
    async fn person(&self, id: UserId) -> anyhow::Result<(User, IpAddr)> {
        let hash = self.site.store.fetch(read::hash(keys::user(id))).await?;
        let user = User::from_hash(&hash).context("a person is gone")?;
        let address = Ipv4Addr::new(203, 0, 113, u8::try_from(id.0).unwrap_or(u8::MAX));
        Ok((user.acting(&self.site.rules, self.now), address.into()))
    }

    async fn follow_and_post(&self) -> anyhow::Result<()> {
        let now = self.before(AGE - DAY);
        for (place, (id, own_name)) in self.people.iter().enumerate() {
            let (user, address) = self.person(*id).await?;
            for step in 1..=3 + place % 7 {
                let (_, name) = self.somebody(place + step * step);
                if name != own_name {
                    follow(&self.site, now, Actor { user: &user, address }, name).await?;
                }
            }
        }
        let posts: Vec<&str> = texts("posts").collect();
        let count = posts.len() as u64;
        for (place, text) in posts.into_iter().enumerate() {
            let now = self.before((AGE - DAY) * (count - 1 - place as u64) / count + HOUR);
            let ((author, _), (_, mentioned)) = (self.somebody(3 + place * 7), self.somebody(place * 11));
            let (user, address) = self.person(*author).await?;
            let text = TweetText::parse(&text.replace("{p}", mentioned))?;
            post_tweet(&self.site, now, Actor { user: &user, address }, &text).await?;
        }
        Ok(())
    }

    /// Adds the answers and the open decisions that the three accounts find when they log in.
    async fn live_the_last_days(&self) -> anyhow::Result<()> {
        for (back, line) in [9, 7, 6, 3].into_iter().zip(texts("answers")) {
            let parts: Vec<&str> = line.split(" | ").collect();
            let [text, name, answer] = parts[..] else { continue };
            let by = self.people.iter().find(|(_, known)| known == name).context("nobody answers")?.0;
            let asked = self.comment(self.people[2].0, (back, None), back * HOUR, text).await?;
            self.comment(by, (back, Some(asked.comment)), back * HOUR - 20 * MINUTE, answer).await?;
        }
        let mut spam = Vec::new();
        for ((back, minutes), text) in [(4, 120), (8, 100), (5, 80), (10, 60)].into_iter().zip(texts("spam"))
        {
            let by = self.writer(usize::from(back > 5)).0;
            spam.push(Thing::Comment(self.comment(by, (back, None), minutes * MINUTE, text).await?));
        }
        let about_spam = (FlagReason::Spam, "Also posted under other stories.");
        let about_words = (FlagReason::Unkind, "");
        let flagged = [(5, about_spam), (2, about_spam), (6, about_words), (1, about_words)];
        for (thing, (count, flag)) in spam.iter().zip(flagged) {
            self.flag(thing, count, flag).await?;
        }
        let broken = (FlagReason::Broken, "It leads to a page about something else.");
        self.flag(&Thing::Story(self.recent(12)), 2, broken).await?;
        self.moderate(spam.into_iter().nth(2)).await?;
        self.hold().await
    }

    /// The number of a story, counted back from the newest.
    const fn recent(&self, back: u64) -> NewsId {
        NewsId(self.stories - back)
    }

    /// One of the last people, who write what others flag.
    fn writer(&self, back: usize) -> &(UserId, String) {
        &self.people[self.people.len() - 1 - back]
    }

    async fn comment(
        &self,
        by: UserId,
        (back, parent): (u64, Option<CommentId>),
        age: u64,
        text: &str,
    ) -> anyhow::Result<CommentAddress> {
        let ((user, address), body) = (self.person(by).await?, Body::parse_comment(text)?);
        let draft = CommentDraft { news: self.recent(back), parent, body: &body, speaks_as_moderator: None };
        let actor = Actor { user: &user, address };
        Ok(post_comment(&self.site, self.before(age).timestamp(), actor, draft).await?.address)
    }

    async fn flag(
        &self,
        thing: &Thing,
        count: usize,
        (reason, note): (FlagReason, &str),
    ) -> anyhow::Result<()> {
        let flagging = Flagging { reason, note: FlagNote::parse(note)? };
        for (by, _) in self.people.iter().skip(2).take(count) {
            let (user, address) = self.person(*by).await?;
            flags::flag(&self.site, self.before(0), Actor { user: &user, address }, (thing, &flagging))
                .await?;
        }
        Ok(())
    }

    async fn moderate(&self, unkind: Option<Thing>) -> anyhow::Result<()> {
        let (moderator, _) = self.person(self.people[1].0).await?;
        let writer = |back: usize| Thing::User(self.writer(back).1.as_str().into());
        let mut deeds = vec![
            (11 * DAY, Deed::Remove, Thing::Story(self.recent(60)), "It is an advertisement."),
            (9 * DAY, Deed::Lock, Thing::Story(self.recent(250)), "Only insults were added at the end."),
            (3 * DAY, Deed::Warn, writer(1), "Please discuss the article and not the people here."),
            (2 * DAY, Deed::Note, writer(2), "Has been asked twice not to advertise."),
        ];
        deeds.extend(unkind.map(|comment| (HOUR, Deed::Remove, comment, "Attacks other members.")));
        for (age, deed, thing, reason) in deeds {
            let reason = Reason::parse(reason)?;
            let request = ModerationRequest::new(deed, thing, reason);
            moderate(&self.site, self.before(age), &moderator, &request).await?;
        }
        Ok(())
    }

    /// A rule, and a story that waits because of it.
    async fn hold(&self) -> anyhow::Result<()> {
        let rule = NewRule {
            pattern: Pattern::parse(RuleKind::Domain, "cheap-likes.example")?,
            effect: RuleEffect::Hold,
            reason: Reason::parse("Repeatedly advertised here.")?,
        };
        let (administrator, _) = self.person(self.people[0].0).await?;
        add_rule(&self.site, self.before(10 * MINUTE), &administrator, &rule).await?;
        let (user, address) = self.person(self.writer(0).0).await?;
        let submission =
            Submission::parse("1,000 followers in one day", "https://cheap-likes.example/start", "")?;
        let actor = Actor { user: &user, address };
        submissions::submit_news(&self.site, self.before(5 * MINUTE), actor, &submission).await?;
        Ok(())
    }
}
