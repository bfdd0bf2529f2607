//! Makes the site of the demo: accounts, stories with votes and threads, posts, votes on sites, flags and
//! what moderators did. It is the same each time, and begins two months before now.
//!
//! It is made in memory, in large imports and by the actions of the site, and then copied into the file. A
//! file waits for the disk at each action.

use super::random::Random;
use super::texts::{Composer, StoryText, Texts};
use crate::config::Config;
use anyhow::Context;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidings_domain::accounts::actor::Actor;
use tidings_domain::accounts::roles::{self, GivenRole};
use tidings_domain::accounts::signup;
use tidings_domain::accounts::users::User;
use tidings_domain::comments::posting::{CommentChange, CommentDraft, post_comment};
use tidings_domain::flags::{self, Flagging};
use tidings_domain::imports::{self, ImportedComment, ImportedLink};
use tidings_domain::moderation::rules::{NewRule, add_rule};
use tidings_domain::moderation::{ModerationRequest, moderate};
use tidings_domain::news::item::Direction;
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::site::Site;
use tidings_domain::sites::{self, Listed, SiteVote, StartingVoters, Verdict};
use tidings_domain::submissions::{self, Submission};
use tidings_domain::timelines::follows::follow;
use tidings_domain::timelines::tweets::post_tweet;
use tidings_domain::values::actions::Deed;
use tidings_domain::values::clock::{Moment, Timestamp};
use tidings_domain::values::flag::{FlagNote, FlagReason};
use tidings_domain::values::hostname::Hostname;
use tidings_domain::values::ids::{CommentAddress, CommentId, NewsId, UserId};
use tidings_domain::values::imported::ImportedVotes;
use tidings_domain::values::moderation::{Reason, Thing};
use tidings_domain::values::post_rule::{Pattern, RuleEffect, RuleKind};
use tidings_domain::values::rules::{LimitRules, RateRules, Rules, TrustRules};
use tidings_domain::values::secrets::random_token;
use tidings_domain::values::text::{Body, NewPassword, TweetText, Username};
use tidings_domain::values::topic::Topics;
use tidings_domain::values::urls::NewsUrl;
use tidings_domain::votes::vote_news;
use tidings_domain::{background, keys, migrations};
use tidings_keyspace::{EngineClock, Store, StoreOptions, read};

/// Those who can log in.
const ACCOUNTS: [&str; 3] = ["administrator", "moderator", "reader"];
const SEED: u64 = 20_110_503;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// How long the site has been there.
const AGE: u64 = 60 * DAY;
/// How long people talk about a story, and vote on it.
const TALK: u64 = 2 * DAY;
/// Comments of the longest thread.
const MOST_COMMENTS: f64 = 400.0;
/// The place of the story with the longest thread, from the newest.
const LONGEST_THREAD: usize = 5;
const DEEPEST: usize = 8;
/// Stories in one batch, and keys that are copied at a time.
const STORIES_AT_ONCE: usize = 50;
const KEYS_AT_ONCE: usize = 5_000;

/// Somebody who can log in.
pub(super) struct Account {
    pub(super) name: &'static str,
    pub(super) password: String,
}

/// Makes the site in the store of these settings, which is empty. Returns the accounts to log in with.
///
/// # Errors
/// When the store fails.
pub(super) async fn make(config: &Config, now: Timestamp) -> anyhow::Result<Vec<Account>> {
    let clock = Arc::new(AtomicU64::new(0));
    let options = StoreOptions { clock: EngineClock::Manual(clock.clone()), ..StoreOptions::default() };
    let store = Store::open("redb::memory:", &options).await?;
    migrations::begin_new(&store).await?;
    let site = Site::new(store.clone(), rules(&config.rules), PasswordWorker::default());
    let site = site.reached_at(config.site.url.as_str()).for_command();
    let texts = Texts::read();
    let mut community = Community {
        site,
        clock,
        now,
        texts: &texts,
        random: Random::new(SEED),
        people: Vec::new(),
        stories: Vec::new(),
    };
    let accounts = community.add_people().await?;
    community.follow_and_post().await?;
    community.vote_on_sites().await?;
    community.add_stories().await?;
    migrations::number_items(&community.site, &|_, _| {}).await?;
    community.live_the_last_days().await?;
    background::finish_waiting(&community.site, Moment::from_timestamp(now)).await?;
    copy(&store, config).await?;
    store.close().await;
    Ok(accounts)
}

/// The rules of the site without the limits that keep strangers from doing much at once.
fn rules(rules: &Rules) -> Rules {
    let mut rules = rules.clone();
    rules.rates = RateRules::off();
    rules.limits = LimitRules {
        submission_seconds: 0,
        new_hosts_of_site_per_day: 0,
        new_voters_of_site_per_day: 0,
        site_votes_per_network: 0,
        site_account_votes_per_network: 0,
        ..rules.limits
    };
    rules.trust = TrustRules { days: 0, karma: 0 };
    (rules.karma.downvote_minimum, rules.karma.downvote_cost) = (0, 0);
    rules
}

/// Copies everything into the file.
async fn copy(from: &Store, config: &Config) -> anyhow::Result<()> {
    let to = Store::open(config.server.store.as_str(), &StoreOptions::default()).await?;
    let mut cursor = None;
    loop {
        let page = from.scan(cursor, KEYS_AT_ONCE).await?;
        to.restore(page.entries).await?;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    to.close().await;
    Ok(())
}

/// A story that is there.
struct Story<'a> {
    id: NewsId,
    text: &'a StoryText,
    posted: Timestamp,
    author: UserId,
}

/// The community that is being made.
struct Community<'a> {
    site: Site,
    /// The clock of the store, by which keys expire.
    clock: Arc<AtomicU64>,
    now: Timestamp,
    texts: &'a Texts,
    random: Random,
    /// Everybody, in the order in which they joined: the administrator, the moderator and the reader first.
    people: Vec<(UserId, String)>,
    /// All stories, in the order of time.
    stories: Vec<Story<'a>>,
}

impl<'a> Community<'a> {
    /// Puts the clock of the store forward to so many seconds before now.
    fn set_time(&self, before: u64) -> Timestamp {
        let time = Timestamp(self.now.0.saturating_sub(before));
        self.clock.store(Moment::from_timestamp(time).0, Ordering::SeqCst);
        time
    }

    async fn add_people(&mut self) -> anyhow::Result<Vec<Account>> {
        let mut time = self.set_time(AGE + DAY);
        let mut accounts = Vec::new();
        for name in ACCOUNTS {
            let password: String = random_token()?.chars().take(16).collect();
            let (username, parsed) = (Username::parse(name)?, NewPassword::parse(&password)?);
            let added = signup::add_account_with_password(&self.site, time, &username, &parsed).await?;
            self.people.push((added.user_id, name.to_owned()));
            accounts.push(Account { name, password });
        }
        let moderator = self.people[1].0;
        roles::set_role(&self.site, time, moderator, (GivenRole::Moderator, true)).await?;
        for name in &self.texts.people {
            time = Timestamp(time.0 + self.random.below(36 * HOUR));
            let person = [((*name).to_owned(), Username::parse(name)?)];
            let ids = imports::import_accounts(&self.site, time, &person).await?;
            self.people.extend(ids.into_iter().map(|(name, id)| (id, name)));
        }
        Ok(accounts)
    }

    /// Somebody, most often one of those who came first. The three accounts do less than others.
    fn somebody(&mut self) -> UserId {
        let accounts = if self.random.chance(6) { 0 } else { ACCOUNTS.len() };
        let place = self.random.low((self.people.len() - accounts) as u64);
        self.people[accounts + usize::try_from(place).unwrap_or(0)].0
    }

    /// So many different people, none of them `except`.
    fn others(&mut self, count: usize, except: UserId) -> Vec<UserId> {
        let mut people: Vec<UserId> =
            self.people.iter().map(|(id, _)| *id).filter(|id| *id != except).collect();
        self.random.shuffle(&mut people);
        people.truncate(count);
        people
    }

    /// A person as they act now.
    async fn person(&self, id: UserId) -> anyhow::Result<User> {
        let hash = self.site.store.fetch(read::hash(keys::user(id))).await?;
        let user = User::from_hash(&hash).context("a person is gone")?;
        Ok(user.acting(&self.site.rules, self.now))
    }

    /// Where somebody writes from: an address of documentation.
    fn address(id: UserId) -> IpAddr {
        Ipv4Addr::new(203, 0, 113, u8::try_from(id.0).unwrap_or(u8::MAX)).into()
    }

    async fn follow_and_post(&mut self) -> anyhow::Result<()> {
        let people = self.people.clone();
        for (id, own_name) in &people {
            let follower = self.person(*id).await?;
            let now = Moment::from_timestamp(self.set_time(AGE - DAY));
            let count = 3 + self.random.place(7);
            let mut names: Vec<&String> =
                people.iter().map(|(_, name)| name).filter(|name| *name != own_name).collect();
            self.random.shuffle(&mut names);
            for name in names.into_iter().take(count) {
                follow(&self.site, now, Actor { user: &follower, address: Self::address(*id) }, name).await?;
            }
        }
        let count = self.texts.posts.len() as u64;
        for (place, text) in (1..).zip(&self.texts.posts) {
            let age = (AGE - DAY) * (count - place) / count + self.random.below(DAY / 2) + HOUR;
            let now = Moment::from_timestamp(self.set_time(age));
            let (author, mentioned) = (self.somebody(), self.somebody());
            let mentioned = people.iter().find(|(id, _)| *id == mentioned).map_or("", |(_, name)| name);
            let text = TweetText::parse(&text.replace("{p}", mentioned))?;
            let user = self.person(author).await?;
            post_tweet(&self.site, now, Actor { user: &user, address: Self::address(author) }, &text).await?;
        }
        Ok(())
    }

    async fn vote_on_sites(&mut self) -> anyhow::Result<()> {
        let hosts: Vec<Hostname> = self.texts.hosts().map(Hostname::parse).collect::<Result<_, _>>()?;
        let mut list: Vec<Listed> = Vec::new();
        for host in &hosts {
            let votes = i64::try_from(self.random.low(60)).unwrap_or(0);
            let votes = if self.random.chance(15) { -votes } else { votes };
            list.push(Listed::of(host.clone(), votes));
        }
        let time = self.set_time(AGE - 2 * DAY);
        let voters = StartingVoters::prepare(&self.site, time, &list).await?;
        for (place, listed) in (0..).zip(&list) {
            let time = self.set_time((AGE - 3 * DAY).saturating_sub(place * DAY));
            voters.import(&self.site, time, listed).await?;
        }
        for place in (0..60).rev() {
            let time = self.set_time(place * 20 * HOUR + HOUR);
            let (Some(host), by) = (self.random.pick(&hosts).cloned(), self.somebody()) else { continue };
            let verdict = Some(if self.random.chance(80) { Verdict::Good } else { Verdict::Bad });
            let user = self.person(by).await?;
            let actor = Actor { user: &user, address: Self::address(by) };
            sites::vote_as(&self.site, time, actor, &SiteVote { host, verdict }).await?;
        }
        Ok(())
    }

    async fn add_stories(&mut self) -> anyhow::Result<()> {
        self.set_time(0);
        let texts = self.texts;
        let mut stories: Vec<&StoryText> = texts.stories.iter().collect();
        self.random.shuffle(&mut stories);
        let count = stories.len();
        let mut popularity: Vec<usize> = (0..count).collect();
        self.random.shuffle(&mut popularity);
        let longest = count - LONGEST_THREAD;
        if let Some(most) = popularity.iter().position(|place| *place == 0) {
            popularity.swap(most, longest);
        }
        let mut links = Vec::new();
        for (number, text) in stories.iter().enumerate() {
            let spacing = AGE / count as u64;
            let age = (count - 1 - number) as u64 * spacing + 7 * MINUTE + self.random.below(spacing / 2);
            let posted = Timestamp(self.now.0 - age);
            let author = self.somebody();
            // Fewer votes the less popular it is, and while it is new.
            let luck = 0.5 + self.random.below(100) as f64 / 100.0;
            let most = 36.0 / (popularity[number] as f64 + 1.0).powf(0.4) * luck;
            let votes = most * ((age as f64 / HOUR as f64 + 1.0) / 8.0).min(1.0);
            let voters = self.others(whole(votes), author);
            let url = match text.text {
                Some(_) => None,
                None => Some(NewsUrl::parse(&texts.link(&mut self.random, text))?),
            };
            links.push(ImportedLink {
                source_id: format!("demo-{number}"),
                title: text.title.to_owned(),
                url,
                text: text.text.map(Body::parse_text).transpose()?,
                author,
                posted,
                voters,
                imported_votes: ImportedVotes::default(),
                topics: Topics::parse(texts.topic(text))?,
            });
        }
        let mut ids = Vec::new();
        for chunk in links.chunks(STORIES_AT_ONCE) {
            ids.extend(imports::import_links(&self.site, self.now, chunk.to_vec()).await?);
        }
        let posted = links.iter().map(|link| (link.posted, link.author));
        self.stories = ids
            .into_iter()
            .zip(stories)
            .zip(posted)
            .map(|((id, text), (posted, author))| Story { id, text, posted, author })
            .collect();
        for (number, popularity) in popularity.into_iter().enumerate() {
            self.add_thread(number, popularity).await?;
        }
        Ok(())
    }

    /// Adds the thread of a story; the first in popularity has the most comments.
    async fn add_thread(&mut self, number: usize, popularity: usize) -> anyhow::Result<()> {
        let Story { id, text, posted, author } = self.stories[number];
        let time = TALK.min(self.now.seconds_since(posted));
        let wanted =
            MOST_COMMENTS / (popularity as f64 + 1.0).powf(0.95) - if popularity == 0 { 0.0 } else { 2.0 };
        let most = if popularity == 0 { f64::MAX } else { time as f64 / HOUR as f64 * 12.0 };
        let count = whole(wanted.min(most));
        if count == 0 {
            return Ok(());
        }
        let mut composer = Composer::new(self.texts, text);
        let mut times: Vec<u64> = (0..count).map(|_| self.random.low(time)).collect();
        times.sort_unstable();
        let mut comments: Vec<ImportedComment> = Vec::new();
        let mut depths: Vec<usize> = Vec::new();
        for after in times {
            let parent = self.answered(&depths);
            let answered =
                parent.map(|place| (comments[place].author, comments[place].body.as_str().to_owned()));
            let writer = loop {
                let writer = if self.random.chance(8) { author } else { self.somebody() };
                if answered.as_ref().is_none_or(|(answered, _)| *answered != writer) {
                    break writer;
                }
            };
            let body = composer.compose(&mut self.random, answered.as_ref().map(|(_, text)| text.as_str()));
            let (up, down) = (self.random.low(9), u64::from(self.random.chance(6)));
            let mut up = self.others(whole((up + down) as f64), writer);
            let down = up.split_off(up.len().saturating_sub(whole(down as f64)));
            depths.push(parent.map_or(0, |place| depths[place] + 1));
            comments.push(ImportedComment {
                author: writer,
                parent,
                body: Body::parse_comment(&body)?,
                posted: Timestamp(posted.0 + after),
                votes: [up, down],
            });
        }
        Ok(imports::import_comments(&self.site, id, comments).await?)
    }

    /// Picks the parent of the next comment: often the story, else a comment, most often a new one.
    fn answered(&mut self, depths: &[usize]) -> Option<usize> {
        if depths.is_empty() || self.random.chance(30) {
            return None;
        }
        let back = usize::try_from(self.random.low(depths.len() as u64)).unwrap_or(0);
        let place = depths.len() - 1 - back;
        (depths[place] < DEEPEST).then_some(place)
    }

    /// Adds the answers, the votes and the open decisions that the three accounts find when they log in.
    async fn live_the_last_days(&mut self) -> anyhow::Result<()> {
        self.set_time(0);
        let [administrator, moderator, reader] = [0, 1, 2].map(|place| self.people[place].0);
        self.answer_reader(reader).await?;
        self.vote_down().await?;
        let spam: Vec<CommentAddress> = self.post_spam().await?;
        self.flag(&spam).await?;
        self.moderate(moderator, &spam).await?;
        self.hold(administrator).await
    }

    /// The number of a story, counted back from the newest.
    fn recent(&self, back: usize) -> &Story<'a> {
        &self.stories[self.stories.len() - 1 - back]
    }

    async fn comment(
        &self,
        by: UserId,
        (news, parent): (NewsId, Option<CommentId>),
        age: u64,
        text: &str,
    ) -> anyhow::Result<CommentAddress> {
        let (user, body) = (self.person(by).await?, Body::parse_comment(text)?);
        let now = Timestamp(self.now.0 - age);
        let actor = Actor { user: &user, address: Self::address(by) };
        let draft = CommentDraft { news, parent, body: &body, speaks_as_moderator: None };
        let posted = post_comment(&self.site, now, actor, draft).await?;
        anyhow::ensure!(posted.change == CommentChange::Insert, "a comment was not inserted");
        Ok(posted.address)
    }

    async fn answer_reader(&mut self, reader: UserId) -> anyhow::Result<()> {
        for back in [9, 7, 6, 3] {
            let (news, story) = (self.recent(back).id, self.recent(back).text);
            let mut composer = Composer::new(self.texts, story);
            let text = composer.compose(&mut self.random, None);
            let place = self.comment(reader, (news, None), (back as u64) * HOUR, &text).await?;
            let answer = composer.compose(&mut self.random, Some(&text));
            let [by] = self.others(1, reader)[..] else { continue };
            let age = back as u64 * HOUR - 20 * MINUTE;
            self.comment(by, (news, Some(place.comment)), age, &answer).await?;
        }
        Ok(())
    }

    async fn vote_down(&mut self) -> anyhow::Result<()> {
        for back in (0..30).step_by(3) {
            let (news, author) = (self.recent(back).id, self.recent(back).author);
            for voter in self.others(4, author) {
                let user = self.person(voter).await?;
                let actor = Actor { user: &user, address: Self::address(voter) };
                match vote_news(&self.site, self.now, actor, news, Direction::Down).await {
                    // Most of them have voted it up.
                    Ok(()) | Err(tidings_domain::Error::Refused(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    async fn post_spam(&mut self) -> anyhow::Result<Vec<CommentAddress>> {
        let mut places = Vec::new();
        for ((back, minutes), text) in
            [(4, 120), (8, 100), (5, 80), (10, 60)].into_iter().zip(&self.texts.spam)
        {
            let by = self.people[self.people.len() - 1 - back / 4].0;
            let age = minutes * MINUTE;
            places.push(self.comment(by, (self.recent(back).id, None), age, text).await?);
        }
        Ok(places)
    }

    async fn flag(&mut self, spam: &[CommentAddress]) -> anyhow::Result<()> {
        let about_spam = (FlagReason::Spam, "The same text is under other stories.");
        let about_words = (FlagReason::Unkind, "");
        let [first, second, third, fourth] = spam else { return Ok(()) };
        let all = [
            (first, 5, about_spam),
            (second, 2, about_spam),
            (third, 6, about_words),
            (fourth, 1, about_words),
        ];
        for (place, count, (reason, note)) in all {
            self.flag_thing(&Thing::Comment(*place), count, (reason, note)).await?;
        }
        let story = Thing::Story(self.recent(12).id);
        self.flag_thing(&story, 2, (FlagReason::Broken, "It leads to a page about something else.")).await
    }

    async fn flag_thing(
        &mut self,
        thing: &Thing,
        count: usize,
        (reason, note): (FlagReason, &str),
    ) -> anyhow::Result<()> {
        let flagging = Flagging { reason, note: FlagNote::parse(note)? };
        let writers = self.people.len() - 3;
        let mut flaggers: Vec<UserId> = self.people[2..writers].iter().map(|(id, _)| *id).collect();
        self.random.shuffle(&mut flaggers);
        for by in flaggers.into_iter().take(count) {
            let (user, now) = (self.person(by).await?, Moment::from_timestamp(self.now));
            let actor = Actor { user: &user, address: Self::address(by) };
            match flags::flag(&self.site, now, actor, (thing, &flagging)).await {
                // Their own story, for one.
                Ok(()) | Err(tidings_domain::Error::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn moderate(&mut self, moderator: UserId, spam: &[CommentAddress]) -> anyhow::Result<()> {
        let moderator = self.person(moderator).await?;
        let writer = |back: usize| Thing::User(self.people[self.people.len() - 1 - back].1.as_str().into());
        let mut deeds = vec![
            (11 * DAY, Deed::Remove, Thing::Story(self.recent(60).id), "It is an advertisement."),
            (9 * DAY, Deed::Lock, Thing::Story(self.recent(250).id), "Only insults were added at the end."),
            (3 * DAY, Deed::Warn, writer(1), "Please discuss the article and not the people here."),
            (2 * DAY, Deed::Note, writer(2), "Has been asked twice not to advertise."),
        ];
        let unkind = spam.get(2).map(|place| Thing::Comment(*place));
        deeds.extend(unkind.map(|comment| (HOUR, Deed::Remove, comment, "It attacks everybody here.")));
        for (age, deed, thing, reason) in deeds {
            let now = Moment::from_timestamp(Timestamp(self.now.0 - age));
            let reason = Reason::parse(reason)?;
            let request = ModerationRequest { deed, thing, reason, anonymous: false, seen: None };
            moderate(&self.site, now, &moderator, &request).await?;
        }
        Ok(())
    }

    /// A rule, and a story that waits because of it.
    async fn hold(&mut self, administrator: UserId) -> anyhow::Result<()> {
        let now = |age: u64| Moment::from_timestamp(Timestamp(self.now.0 - age));
        let rule = NewRule {
            pattern: Pattern::parse(RuleKind::Domain, "cheap-likes.example")?,
            effect: RuleEffect::Hold,
            reason: Reason::parse("It has been advertised here again and again.")?,
        };
        add_rule(&self.site, now(10 * MINUTE), &self.person(administrator).await?, &rule).await?;
        let by = self.people[self.people.len() - 1].0;
        let user = self.person(by).await?;
        let actor = Actor { user: &user, address: Self::address(by) };
        let submission =
            Submission::parse("1,000 followers in one day", "https://cheap-likes.example/start", "")?;
        submissions::submit_news(&self.site, now(5 * MINUTE), actor, &submission).await?;
        Ok(())
    }
}

/// A small number without its fraction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
const fn whole(number: f64) -> usize {
    number as usize
}
