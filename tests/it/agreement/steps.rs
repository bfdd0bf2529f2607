//! The deeds of people and moderators, a step at a time.

use super::model::{Kind, Line, Made, Member, Model, Person, Place, State, Thing, Word, text_of, words_in};
use crate::client::{Client, PASSWORD, ok};
use crate::server::Server;
use crate::undo_is_exact::Dice;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A word that a rule holds.
const HELD: &str = "holdme";
/// A word that is in everything, for searches.
pub const COMMON: &str = "wandering";

pub const ADMIN: Person = 0;
pub const MODERATORS: [Person; 2] = [1, 2];
/// Somebody who reads everything, follows everybody, and writes nothing.
pub const WATCHER: Person = 3;
/// The first of those who write.
pub const FIRST: Person = 4;
const WRITERS: usize = 5;

pub const TOPICS: usize = 3;
pub const HOSTS: usize = 3;

/// A deed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Submit,
    SubmitText,
    EditStory,
    DeleteStory,
    Comment,
    Reply,
    EditComment,
    DeleteComment,
    Tweet,
    DeleteTweet,
    Profile,
    Vote(&'static str),
    Flag,
    Unflag,
    Mark(&'static str),
    Stand(&'static str),
    Message,
    Answer,
    Read,
    ReadInbox,
    Appeal,
    AnswerAppeal(&'static str),
    Topic(&'static str),
    Moderate(&'static str),
    Restrict(&'static str),
    RemoveAll,
    Undo,
    Leave { erases: bool },
    Join,
}

use Deed::{
    Answer, AnswerAppeal, Appeal, Comment, DeleteComment, DeleteStory, DeleteTweet, EditComment, EditStory,
    Flag, Join, Leave, Mark, Message, Moderate, Profile, Read, ReadInbox, RemoveAll, Reply, Restrict, Stand,
    Submit, SubmitText, Topic, Tweet, Undo, Unflag, Vote,
};

/// The deeds, with how often they are done.
const DEEDS: &[(usize, Deed)] = &[
    (40, Submit),
    (30, SubmitText),
    (12, EditStory),
    (6, DeleteStory),
    (80, Comment),
    (50, Reply),
    (20, EditComment),
    (10, DeleteComment),
    (60, Tweet),
    (8, DeleteTweet),
    (12, Profile),
    (40, Vote("up")),
    (15, Vote("down")),
    (12, Vote("none")),
    (40, Flag),
    (10, Unflag),
    (6, Mark("hide")),
    (3, Mark("unhide")),
    (6, Mark("save")),
    (3, Mark("unsave")),
    (6, Mark("subscribe")),
    (3, Mark("unsubscribe")),
    (10, Stand("follow")),
    (5, Stand("unfollow")),
    (3, Stand("mute")),
    (3, Stand("unmute")),
    (2, Stand("block")),
    (2, Stand("unblock")),
    (8, Message),
    (5, Answer),
    (15, Read),
    (5, ReadInbox),
    (10, Appeal),
    (5, AnswerAppeal("approve")),
    (3, AnswerAppeal("reject")),
    (2, Topic("renametopic")),
    (2, Topic("mergetopic")),
    (25, Moderate("remove")),
    (15, Moderate("restore")),
    (10, Moderate("edit")),
    (8, Moderate("lock")),
    (5, Moderate("unlock")),
    (8, Moderate("merge")),
    (4, Moderate("split")),
    (20, Moderate("approve")),
    (12, Moderate("reject")),
    (15, Moderate("keep")),
    (4, Moderate("erase")),
    (3, Restrict("warn")),
    (4, Restrict("note")),
    (4, Restrict("silence")),
    (4, Restrict("unsilence")),
    (4, Restrict("hold")),
    (4, Restrict("unhold")),
    (4, Restrict("ban")),
    (5, Restrict("unban")),
    (3, Restrict("discount")),
    (3, Restrict("recount")),
    (3, RemoveAll),
    (35, Undo),
    (1, Leave { erases: false }),
    (1, Leave { erases: true }),
    (3, Join),
];

/// A step. The numbers of what it is about are those of the steps that made them, so a walk with fewer steps means
/// the same.
#[derive(Debug, Clone)]
pub struct Step {
    pub number: Made,
    pub deed: Deed,
    pub by: Person,
    /// A thing, a line or a person.
    pub about: usize,
    pub other: usize,
    pub die: usize,
}

/// A site on which people walk.
pub struct Walk {
    pub server: Server,
    pub model: Model,
    pub clients: Vec<Client>,
    pub steps: Vec<Step>,
}

/// The number of a person's profile among the things that steps have made.
pub fn profile(person: Person) -> Made {
    1_000_000 + person
}

impl Walk {
    pub async fn start(server: Server) -> Self {
        let mut walk = Self { server, model: Model::new(TOPICS), clients: Vec::new(), steps: Vec::new() };
        for name in ["alice", "milo", "mina", "watcher"] {
            walk.join(name).await;
        }
        for number in 0..WRITERS {
            walk.join(&format!("writer{number}")).await;
        }
        let admin = walk.clients[ADMIN].clone();
        walk.server.set_field(&format!("user:{}", admin.user_id), "flags", "a").await;
        for moderator in MODERATORS {
            let name = walk.model.people[moderator].name.clone();
            let fields =
                [("action", "make_moderator"), ("kind", "user"), ("id", &*name), ("reason", "trust")];
            ok(admin.api_post("/api/moderate", &fields).await);
        }
        for person in [ADMIN, MODERATORS[0], MODERATORS[1]] {
            walk.model.people[person].is_staff = true;
        }
        for person in FIRST..FIRST + WRITERS {
            walk.clients[WATCHER].follow(&walk.model.people[person].name).await;
        }
        let rule = [
            ("what", "phrase"),
            ("pattern", HELD),
            ("effect", "hold"),
            ("reason", "a moderator looks first"),
        ];
        ok(admin.api_post("/api/moderate/rule", &rule).await);
        walk
    }

    async fn join(&mut self, name: &str) {
        let mut client = self.server.register(name).await;
        client.user_id =
            self.server.string(&format!("username.to.id:{name}")).await.unwrap().parse().unwrap();
        self.server.set_karma(&client, 1_000).await;
        self.clients.push(client);
        self.model.people.push(Member { name: name.to_owned(), ..Member::default() });
        let author = self.model.people.len() - 1;
        let thing = Thing {
            kind: Kind::Profile,
            id: name.to_owned(),
            author,
            story: None,
            state: State::Open,
            before: State::Open,
            into: None,
            words: BTreeMap::new(),
            host: None,
            topic: None,
            mentions: None,
        };
        self.model.things.insert(profile(author), thing);
    }

    /// Chooses a step.
    pub fn choose(&self, number: Made, dice: &mut Dice) -> Step {
        let mut at = dice.below(DEEDS.iter().map(|(weight, _)| weight).sum());
        let deed = DEEDS.iter().find(|(weight, _)| {
            let is_it = at < *weight;
            at = at.saturating_sub(*weight);
            is_it
        });
        let deed = deed.unwrap().1;
        let present: Vec<Person> =
            (FIRST..self.model.people.len()).filter(|person| !self.model.people[*person].has_left).collect();
        let person =
            |dice: &mut Dice| present.get(dice.below(present.len().max(1))).copied().unwrap_or(FIRST);
        let (mut by, mut other) = (person(dice), person(dice));
        let things = |wanted: &dyn Fn(&Thing) -> bool, dice: &mut Dice| {
            let found: Vec<Made> =
                self.model.things.iter().filter(|(_, thing)| wanted(thing)).map(|(made, _)| *made).collect();
            // More is done to the latest things.
            let from = if dice.below(2) == 0 { found.len().saturating_sub(8) } else { 0 };
            found.get(from + dice.below((found.len() - from).max(1))).copied().unwrap_or_default()
        };
        let staff = [ADMIN, MODERATORS[0], MODERATORS[1]][dice.below(3)];
        let about = match deed {
            Submit | SubmitText | Tweet | Profile | Message | Read | ReadInbox | Join => 0,
            Topic(_) => 0,
            Answer => {
                by = staff;
                0
            }
            AnswerAppeal(_) => {
                by = staff;
                let appeals = &self.model.appeals;
                appeals.get(dice.below(appeals.len().max(1))).copied().unwrap_or_default()
            }
            EditStory | DeleteStory => {
                things(&|thing| thing.kind == Kind::Story && self.may_act(thing.author), dice)
            }
            Comment | Mark(_) => things(&|thing| thing.kind == Kind::Story && !is_gone(thing), dice),
            Reply => things(&|thing| thing.kind == Kind::Comment && !is_gone(thing), dice),
            EditComment | DeleteComment => {
                things(&|thing| thing.kind == Kind::Comment && self.may_act(thing.author), dice)
            }
            DeleteTweet => things(&|thing| thing.kind == Kind::Tweet && self.may_act(thing.author), dice),
            Vote(_) => things(&|thing| matches!(thing.kind, Kind::Story | Kind::Comment), dice),
            Flag | Unflag => {
                if dice.below(4) == 0 {
                    by = WATCHER;
                }
                things(&|thing| !is_gone(thing), dice)
            }
            Stand(_) => other,
            Moderate(action) => {
                by = if action == "erase" { ADMIN } else { staff };
                things(
                    &|thing| match action {
                        "remove" => matches!(thing.state, State::Open | State::Flagged),
                        "restore" => thing.state == State::Removed,
                        "approve" | "reject" => thing.state == State::Held,
                        "keep" => thing.state == State::Flagged,
                        "edit" => matches!(thing.kind, Kind::Story | Kind::Comment),
                        "lock" | "unlock" => thing.kind == Kind::Story,
                        "merge" => thing.kind == Kind::Story && !is_gone(thing),
                        "split" => thing.state == State::Merged,
                        _ => thing.kind != Kind::Profile,
                    },
                    dice,
                )
            }
            Restrict(_) | RemoveAll => {
                by = staff;
                other
            }
            Undo | Appeal => {
                by = staff;
                let open: Vec<Made> = self
                    .model
                    .lines
                    .iter()
                    .filter(|(_, line)| !line.is_undone)
                    .map(|(made, _)| *made)
                    .collect();
                open.get(dice.below(open.len().max(1))).copied().unwrap_or_default()
            }
            Leave { .. } => by,
        };
        if by == FIRST && matches!(deed, Stand("mute" | "block") | Mark("hide")) {
            // One of them sees everything that is in the lists.
            by += 1;
        }
        if deed == Moderate("merge") {
            other = things(&|thing| thing.kind == Kind::Story && !is_gone(thing), dice);
        }
        Step { number, deed, by, about, other, die: dice.below(1 << 20) }
    }

    pub fn may_act(&self, person: Person) -> bool {
        !self.model.people[person].has_left && !self.model.people[person].is_banned
    }

    /// Takes a step; a refusal changes nothing.
    pub async fn take(&mut self, step: &Step) {
        self.server.advance(1 + step.die as u64 % 30);
        let is_about_somebody = matches!(step.deed, Stand(_) | Restrict(_) | RemoveAll);
        let people = self.clients.len();
        // With fewer steps, somebody may not have joined.
        let is_possible = step.by < people
            && (step.other < people || step.deed == Moderate("merge"))
            && (step.about < people || !is_about_somebody);
        if is_possible && self.try_take(step).await.is_some() {
            self.steps.push(step.clone());
        }
    }

    async fn try_take(&mut self, step: &Step) -> Option<()> {
        match step.deed {
            Submit | SubmitText => self.submit(step).await,
            EditStory => self.edit_story(step).await,
            Comment | Reply => self.comment(step).await,
            EditComment => self.edit_comment(step).await,
            DeleteStory | DeleteComment | DeleteTweet => self.delete(step).await,
            Tweet => self.tweet(step).await,
            Profile => self.change_profile(step).await,
            Vote(direction) => self.vote(step, direction).await,
            Flag | Unflag => self.flag(step).await,
            Mark(action) => {
                let story = self.thing(step.about)?.id.clone();
                let path = format!("/api/{action}");
                is_ok(&call(&self.clients[step.by], &path, &[("news_id", &*story)]).await).then_some(())?;
                let pair = (step.by, step.about);
                _ = match action {
                    "hide" => self.model.hidden.insert(pair),
                    "unhide" => self.model.hidden.remove(&pair),
                    _ => false,
                };
                Some(())
            }
            Stand(action) => {
                let name = self.model.people[step.about].name.clone();
                let path = format!("/api/{action}");
                let fields = match action {
                    "mute" | "unmute" => vec![("what", "user"), ("value", &*name)],
                    _ => vec![("username", &*name)],
                };
                is_ok(&call(&self.clients[step.by], &path, &fields).await).then_some(())?;
                let pair = (step.by, step.about);
                _ = match action {
                    "mute" => self.model.mutes.insert(pair),
                    "unmute" => self.model.mutes.remove(&pair),
                    "block" => self.model.blocks.insert(pair),
                    "unblock" => self.model.blocks.remove(&pair),
                    _ => false,
                };
                Some(())
            }
            Message => {
                let word = self.model.word(Place::Message, step.by, None);
                let text = format!("{COMMON} {}", text_of(word));
                is_ok(&call(&self.clients[step.by], "/api/messages", &[("text", &*text)]).await).then_some(())
            }
            Answer => self.answer(step).await,
            Read => {
                let addresses = [
                    "/",
                    "/latest/0",
                    "/everyone",
                    "/comments",
                    "/inbox",
                    "/best",
                    "/rss",
                    "/home",
                    "/news/1",
                ];
                self.clients[step.by].get(addresses[step.die % addresses.len()]).await;
                Some(())
            }
            ReadInbox => {
                is_ok(&call(&self.clients[step.by], "/api/readinbox", &[("id", "all")]).await).then_some(())
            }
            Appeal => self.appeal(step).await,
            AnswerAppeal(action) => self.answer_appeal(step, action).await,
            Topic(action) => self.move_topic(step, action).await,
            Moderate(action) => self.moderate(step, action).await,
            Restrict(action) => self.restrict(step, action).await,
            RemoveAll => self.remove_all(step).await,
            Undo => self.undo(step.about, step.by).await,
            Leave { erases } => self.leave(step.by, erases).await,
            Join => {
                let name = format!("writer{}", self.model.people.len() - FIRST);
                self.join(&name).await;
                Some(())
            }
        }
    }

    fn thing(&self, made: Made) -> Option<&Thing> {
        self.model.things.get(&made)
    }

    /// The person whom the text of a step mentions.
    fn mentioned(&self, step: &Step) -> Option<Person> {
        match step.die % 4 {
            0 => Some(step.other),
            1 => Some(WATCHER),
            _ => None,
        }
    }

    /// The words around a word: mentions, and sometimes what a rule holds.
    fn text(&self, step: &Step, word: usize) -> String {
        let mention = self.mentioned(step);
        let mention =
            mention.map_or(String::new(), |person| format!(" for @{}", self.model.people[person].name));
        let held = if (step.die / 4).is_multiple_of(9) { format!(" {HELD}") } else { String::new() };
        format!("{COMMON} {}{mention}{held}", text_of(word))
    }

    async fn submit(&mut self, step: &Step) -> Option<()> {
        let [title, url, text] = [Place::Title, Place::Url, Place::Text]
            .map(|place| self.model.word(place, step.by, Some(step.number)));
        let is_link = step.deed == Submit;
        let host = step.die % HOSTS;
        let topic = (step.die / 7 % 4).checked_sub(1).map(|topic| self.model.topics[topic].clone());
        let topic_name = topic.clone().unwrap_or_default();
        let held = if (step.die / 4).is_multiple_of(9) { HELD } else { "" };
        let title_text = format!("{COMMON} {} {held}", text_of(title));
        let address =
            if is_link { format!("http://site{host}.example/{}", text_of(url)) } else { String::new() };
        let with_text = !is_link || (step.die / 11).is_multiple_of(4);
        let body = if with_text { self.text(step, text) } else { String::new() };
        let fields = [
            ("news_id", "-1"),
            ("title", &*title_text),
            ("url", &*address),
            ("text", &*body),
            ("topics", &*topic_name),
        ];
        let answer = call(&self.clients[step.by], "/api/submit", &fields).await;
        let id = answer["news_id"].as_u64()?;
        let is_held = answer["held"] == true;
        let mut words = BTreeMap::from([(Place::Title, title)]);
        words.insert(if is_link { Place::Url } else { Place::Text }, if is_link { url } else { text });
        let thing = Thing {
            kind: Kind::Story,
            id: id.to_string(),
            author: step.by,
            story: None,
            state: if is_held { State::Held } else { State::Open },
            before: State::Open,
            into: None,
            words,
            host: is_link.then_some(host),
            topic,
            mentions: None,
        };
        self.model.things.insert(step.number, thing.clone());
        if is_link && with_text {
            // The text is the first comment, with a number of its own among what is made.
            let made = step.number + FIRST_COMMENTS;
            let place = Place::Text;
            self.model.sources[text].thing = Some(made);
            let comment = Thing {
                kind: Kind::Comment,
                id: format!("{id}-1"),
                story: Some(step.number),
                words: BTreeMap::from([(place, text)]),
                host: None,
                topic: None,
                mentions: self.mentioned(step),
                ..thing
            };
            self.model.things.insert(made, comment);
            self.learn(made).await;
        }
        Some(())
    }

    async fn edit_story(&mut self, step: &Step) -> Option<()> {
        let thing = self.thing(step.about)?.clone();
        let author = thing.author;
        let title = self.model.word(Place::Title, author, Some(step.about));
        let is_link = thing.host.is_some();
        let place = if is_link { Place::Url } else { Place::Text };
        let other = self.model.word(place, author, Some(step.about));
        let title_text = format!("{COMMON} {}", text_of(title));
        let url =
            thing.host.map_or(String::new(), |host| format!("http://site{host}.example/{}", text_of(other)));
        let text = if is_link { String::new() } else { self.text(step, other) };
        let answer = self.clients[author].edit(thing.number(), &title_text, &url, &text).await;
        is_ok(&answer).then_some(())?;
        let thing = self.model.things.get_mut(&step.about)?;
        thing.words = BTreeMap::from([(Place::Title, title), (place, other)]);
        self.learn(step.about).await;
        Some(())
    }

    async fn comment(&mut self, step: &Step) -> Option<()> {
        let about = self.thing(step.about)?.clone();
        let (story, parent) = match about.story {
            Some(story) => (story, Some(step.about)),
            None => (step.about, None),
        };
        let number = self.thing(story)?.number();
        let word = self.model.word(Place::Text, step.by, Some(step.number));
        let text = self.text(step, word);
        let to = parent.map(|_| about.number());
        let answer = self.clients[step.by].try_comment(number, to, &text).await;
        let id = answer["comment_id"].as_u64()?;
        let thing = Thing {
            kind: Kind::Comment,
            id: format!("{number}-{id}"),
            author: step.by,
            story: Some(story),
            state: if answer["held"] == true { State::Held } else { State::Open },
            before: State::Open,
            into: None,
            words: BTreeMap::from([(Place::Text, word)]),
            host: None,
            topic: None,
            mentions: self.mentioned(step),
        };
        self.model.things.insert(step.number, thing);
        Some(())
    }

    async fn edit_comment(&mut self, step: &Step) -> Option<()> {
        let thing = self.thing(step.about)?.clone();
        let story = self.thing(thing.story?)?.number();
        let word = self.model.word(Place::Text, thing.author, Some(step.about));
        let text = self.text(step, word);
        is_ok(&self.clients[thing.author].edit_comment(story, thing.number(), &text).await).then_some(())?;
        let mentions = self.mentioned(step);
        let thing = self.model.things.get_mut(&step.about)?;
        thing.words.insert(Place::Text, word);
        if thing.mentions != mentions {
            // A first mention by an edit is another matter.
            thing.mentions = None;
        }
        Some(())
    }

    async fn delete(&mut self, step: &Step) -> Option<()> {
        let thing = self.thing(step.about)?.clone();
        let client = &self.clients[thing.author];
        let answer = match thing.kind {
            Kind::Story => client.delete(thing.number()).await,
            Kind::Comment => {
                let story = self.thing(thing.story?)?.number();
                client.edit_comment(story, thing.number(), "").await
            }
            _ => call(client, "/api/deltweet", &[("tweet_id", &*thing.id)]).await,
        };
        is_ok(&answer).then_some(())?;
        self.model.things.get_mut(&step.about)?.state = State::Deleted;
        Some(())
    }

    async fn tweet(&mut self, step: &Step) -> Option<()> {
        let word = self.model.word(Place::Text, step.by, Some(step.number));
        let text = self.text(step, word);
        let answer = self.clients[step.by].try_tweet(&text).await;
        let id = answer["tweet_id"].as_u64()?;
        let thing = Thing {
            kind: Kind::Tweet,
            id: id.to_string(),
            author: step.by,
            story: None,
            state: if answer["held"] == true { State::Held } else { State::Open },
            before: State::Open,
            into: None,
            words: BTreeMap::from([(Place::Text, word)]),
            host: None,
            topic: None,
            mentions: self.mentioned(step),
        };
        self.model.things.insert(step.number, thing);
        Some(())
    }

    async fn change_profile(&mut self, step: &Step) -> Option<()> {
        let made = profile(step.by);
        let [about, name] =
            [Place::Text, Place::Name].map(|place| self.model.word(place, step.by, Some(made)));
        let text = format!("{COMMON} {}", text_of(about));
        let fields = [("about", &*text), ("email", ""), ("fullname", &*text_of(name))];
        is_ok(&call(&self.clients[step.by], "/api/updateprofile", &fields).await).then_some(())?;
        let thing = self.model.things.get_mut(&made)?;
        thing.words = BTreeMap::from([(Place::Text, about), (Place::Name, name)]);
        self.learn(made).await;
        Some(())
    }

    async fn vote(&mut self, step: &Step, direction: &'static str) -> Option<()> {
        let thing = self.thing(step.about)?.clone();
        let client = &self.clients[step.by];
        let answer = match thing.story {
            None => client.vote(thing.number(), direction).await,
            Some(story) => client.vote_comment(self.thing(story)?.number(), thing.number(), direction).await,
        };
        is_ok(&answer).then_some(())
    }

    async fn flag(&mut self, step: &Step) -> Option<()> {
        let thing = self.thing(step.about)?.clone();
        let kind = kind_of(thing.kind);
        let client = &self.clients[step.by].clone();
        if step.deed == Unflag {
            let fields = [("kind", kind), ("id", &*thing.id)];
            return is_ok(&call(client, "/api/unflag", &fields).await).then_some(());
        }
        let word = self.model.word(Place::Note, step.by, None);
        let note = format!("{COMMON} {}", text_of(word));
        let fields = [("kind", kind), ("id", &*thing.id), ("reason", "harmful"), ("note", &*note)];
        is_ok(&call(client, "/api/flag", &fields).await).then_some(())?;
        self.learn(step.about).await;
        Some(())
    }

    async fn answer(&mut self, step: &Step) -> Option<()> {
        let client = &self.clients[step.by].clone();
        let threads = client.api_get("/api/messages").await;
        let thread = threads["threads"].as_array()?.get(step.die % 3)?.clone();
        let name = thread["username"].as_str()?.to_owned();
        let member = self.model.people.iter().position(|person| person.name == name)?;
        // Read by the member too, so it is as if the member had written it.
        let word = self.model.word(Place::Message, member, None);
        let text = format!("{COMMON} {}", text_of(word));
        let id = thread["thread_id"].as_str().map_or_else(|| thread["thread_id"].to_string(), str::to_owned);
        is_ok(&call(client, "/api/messages", &[("thread", &*id), ("text", &*text)]).await).then_some(())
    }

    async fn appeal(&mut self, step: &Step) -> Option<()> {
        let line = self.model.lines.get(&step.about)?.clone();
        let author = self.thing(line.about)?.author;
        let word = self.model.word(Place::Message, author, None);
        let text = format!("{COMMON} {}", text_of(word));
        let fields = [("moderation_id", &*line.id.to_string()), ("text", &*text)];
        is_ok(&call(&self.clients[author], "/api/appeal", &fields).await).then_some(())?;
        self.model.appeals.push(step.about);
        Some(())
    }

    async fn answer_appeal(&mut self, step: &Step, action: &'static str) -> Option<()> {
        let line = self.model.lines.get(&step.about)?.clone();
        let reason = self.model.word(Place::Reason, step.by, None);
        let reason = format!("{COMMON} {}", text_of(reason));
        let id = line.id.to_string();
        let fields = [("action", action), ("kind", "appeal"), ("id", &*id), ("reason", &*reason)];
        is_ok(&call(&self.clients[step.by], "/api/moderate", &fields).await).then_some(())?;
        self.model.appeals.retain(|appeal| *appeal != step.about);
        // Nothing is undone twice.
        if action == "approve" && !line.is_undone {
            self.note_undone(step.about).await;
        }
        Some(())
    }

    async fn move_topic(&mut self, step: &Step, action: &'static str) -> Option<()> {
        let (from, to) = (step.die % TOPICS, (step.die + 1) % TOPICS);
        let name = match action {
            "renametopic" => format!("topic{}", step.number),
            _ => self.model.topics[to].clone(),
        };
        let fields = [("topic", &*self.model.topics[from].clone()), ("name", &*name)];
        is_ok(&call(&self.clients[ADMIN], &format!("/api/{action}"), &fields).await).then_some(())?;
        self.server.finish_jobs().await;
        let former = self.model.topics[from].clone();
        if action == "renametopic" {
            self.model.topics[from].clone_from(&name);
        }
        for thing in self.model.things.values_mut().filter(|thing| thing.topic.as_ref() == Some(&former)) {
            // A story that nobody has been shown is not among those of the topic.
            if !matches!(thing.state, State::Held | State::Rejected) {
                thing.topic = Some(name.clone());
            }
        }
        Some(())
    }

    /// Notes a line of the log.
    fn note_line(&mut self, step: &Step, (action, about): (&'static str, Made), answer: &Json) -> Option<()> {
        let id = answer["moderation_id"].as_u64()?;
        let before = self.thing(about).cloned();
        let line = Line { id, action, about, before, is_undone: false };
        self.model.lines.insert(step.number, line);
        Some(())
    }

    async fn moderate(&mut self, step: &Step, action: &'static str) -> Option<()> {
        let thing = self.thing(step.about)?.clone();
        let reason = self.model.word(Place::Reason, step.by, None);
        let (reason, id) = (format!("{COMMON} {}", text_of(reason)), thing.id.clone());
        let mut fields = vec![
            ("action", action),
            ("kind", kind_of(thing.kind)),
            ("id", &*id),
            ("reason", &*reason),
            ("confirm", &*id),
        ];
        let into = self.thing(step.other).map_or(String::new(), |other| other.id.clone());
        let mut words = thing.words.clone();
        let mut texts = Vec::new();
        match action {
            "merge" => fields.push(("into", &*into)),
            "edit" => {
                for (place, word) in &mut words {
                    *word = self.model.word(*place, thing.author, Some(step.about));
                    let name = match place {
                        Place::Title => "title",
                        Place::Url => "url",
                        _ => "text",
                    };
                    let text = match thing.host {
                        Some(host) if *place == Place::Url => {
                            format!("http://site{host}.example/{}", text_of(*word))
                        }
                        _ => format!("{COMMON} {}", text_of(*word)),
                    };
                    texts.push((name, text));
                }
            }
            _ => {}
        }
        fields.extend(texts.iter().map(|(name, text)| (*name, &**text)));
        let answer = call(&self.clients[step.by], "/api/moderate", &fields).await;
        self.note_line(step, (action, step.about), &answer)?;
        self.server.finish_jobs().await;
        let thing = self.model.things.get_mut(&step.about)?;
        match action {
            // The profile is empty, and can be written again.
            "remove" if thing.kind == Kind::Profile => thing.words.clear(),
            "remove" => (thing.before, thing.state) = (thing.state, State::Removed),
            "restore" | "split" => {
                thing.return_to((thing.before, thing.before), None);
            }
            "merge" => {
                (thing.before, thing.state, thing.into) = (thing.state, State::Merged, Some(step.other));
            }
            "approve" => thing.state = State::Open,
            "reject" => (thing.before, thing.state) = (State::Held, State::Rejected),
            "keep" => thing.state = if thing.state == State::Flagged { State::Open } else { thing.state },
            "erase" => thing.erase(),
            "edit" => (thing.words, thing.mentions) = (words, None),
            _ => {}
        }
        self.learn(step.about + FIRST_COMMENTS).await;
        Some(())
    }

    async fn restrict(&mut self, step: &Step, action: &'static str) -> Option<()> {
        let place = if action == "note" { Place::Staff } else { Place::Reason };
        let reason = self.model.word(place, step.by, None);
        let reason = format!("{COMMON} {}", text_of(reason));
        let name = self.model.people[step.about].name.clone();
        let fields = [("action", action), ("kind", "user"), ("id", &*name), ("reason", &*reason)];
        let answer = call(&self.clients[step.by], "/api/moderate", &fields).await;
        self.note_line(step, (action, profile(step.about)), &answer)?;
        self.server.finish_jobs().await;
        self.learn_person(step.about).await;
        Some(())
    }

    async fn remove_all(&mut self, step: &Step) -> Option<()> {
        let reason = self.model.word(Place::Reason, step.by, None);
        let reason = format!("{COMMON} {}", text_of(reason));
        let name = self.model.people[step.about].name.clone();
        let fields =
            [("action", "remove_all"), ("kind", "user"), ("id", &*name), ("reason", &*reason), ("days", "2")];
        let answer = call(&self.clients[step.by], "/api/moderate", &fields).await;
        self.note_line(step, ("remove_all", profile(step.about)), &answer)?;
        self.server.finish_jobs().await;
        self.learn_posts(step.about).await;
        Some(())
    }

    /// Undoes a line.
    pub async fn undo(&mut self, made: Made, by: Person) -> Option<()> {
        let line = self.model.lines.get(&made)?.clone();
        let reason = self.model.word(Place::Reason, by, None);
        let reason = format!("{COMMON} {}", text_of(reason));
        let fields = [("moderation_id", &*line.id.to_string()), ("reason", &*reason)];
        let answer = call(&self.clients[by], "/api/moderate/undo", &fields).await;
        is_ok(&answer).then_some(())?;
        self.note_undone(made).await
    }

    /// Notes that a line was undone.
    async fn note_undone(&mut self, made: Made) -> Option<()> {
        let line = self.model.lines.get(&made)?.clone();
        self.server.finish_jobs().await;
        self.model.lines.get_mut(&made)?.is_undone = true;
        let thing = self.thing(line.about)?.clone();
        if line.action == "remove_all" {
            self.learn_posts(thing.author).await;
        }
        if thing.kind == Kind::Profile {
            self.learn_person(thing.author).await;
        }
        let before = line.before?;
        let now = self.model.things.get_mut(&line.about)?;
        match line.action {
            "edit" => (now.words, now.mentions) = (before.words.clone(), None),
            // A public thing is removed.
            "approve" => (now.before, now.state) = (State::Open, State::Removed),
            // Only the words of a profile come and go.
            "remove" if now.kind == Kind::Profile => {}
            // It is hidden again only if nothing else has happened to it.
            "keep" if now.state != State::Open => {}
            "remove" | "restore" | "merge" | "split" | "reject" | "keep" => {
                now.return_to((before.state, before.before), before.into);
            }
            _ => {}
        }
        if line.action == "remove" && now.kind == Kind::Profile {
            // A later text stays.
            for (place, word) in before.words {
                now.words.entry(place).or_insert(word);
            }
        }
        self.learn(line.about + FIRST_COMMENTS).await;
        Some(())
    }

    pub async fn leave(&mut self, person: Person, erases: bool) -> Option<()> {
        let writings = if erases { "erase" } else { "keep" };
        let fields = [("password", PASSWORD), ("writings", writings)];
        let answer = self.clients[person].post("/settings/deactivate", &fields).await;
        let goes_to = answer.headers.get("location").map(|address| address.as_bytes());
        (goes_to == Some(b"/settings/deactivated")).then_some(())?;
        self.server.finish_jobs().await;
        self.model.people[person].has_left = true;
        if erases {
            let merged = self.model.things.values_mut().filter(|thing| thing.state == State::Merged);
            merged.filter(|thing| thing.author == person).for_each(Thing::erase);
        }
        self.learn_posts(person).await;
        Some(())
    }

    /// Learns from the store what flags and jobs have done to a thing, which follows from more than the model knows.
    async fn learn(&mut self, made: Made) {
        let Some(thing) = self.model.things.get(&made) else { return };
        let (state, _) = stored(&self.server, &self.model, thing).await;
        if let Some(thing) = self.model.things.get_mut(&made) {
            thing.state = match state {
                State::Removed if matches!(thing.state, State::Rejected) => State::Rejected,
                State::Removed => {
                    if thing.state != State::Removed {
                        thing.before = thing.state;
                    }
                    State::Removed
                }
                state => state,
            };
        }
    }

    async fn learn_posts(&mut self, author: Person) {
        let of_author: Vec<Made> = self
            .model
            .things
            .iter()
            .filter(|(_, thing)| thing.author == author)
            .map(|(made, _)| *made)
            .collect();
        for made in of_author {
            self.learn(made).await;
        }
    }

    async fn learn_person(&mut self, person: Person) {
        let user = self.server.hash(&format!("user:{}", self.clients[person].user_id)).await;
        let was_banned =
            std::mem::replace(&mut self.model.people[person].is_banned, user.contains_key("banned"));
        if was_banned && !self.model.people[person].is_banned {
            // The ban has ended the session.
            self.clients[person] = self.server.client_of(self.clients[person].user_id).await;
        }
        self.learn(profile(person)).await;
    }
}

/// The number that the first comment of a story has among what steps make.
const FIRST_COMMENTS: Made = 500_000;

/// The state of a thing as it is stored, and its words.
pub async fn stored(server: &Server, model: &Model, thing: &Thing) -> (State, Vec<Word>) {
    let (withheld, is_deleted, text) = match thing.kind {
        Kind::Story => {
            let news = server.hash(&format!("news:{}", thing.id)).await;
            (news.get("withheld").cloned(), news.contains_key("del"), format!("{news:?}"))
        }
        Kind::Comment => {
            let story = thing.story.map(|story| model.things[&story].id.clone()).unwrap_or_default();
            let stored = server.field(&format!("thread:comment:{story}"), &thing.number().to_string()).await;
            let stored = stored.unwrap_or_default();
            let comment: Json = serde_json::from_str(&stored).unwrap_or_default();
            (comment["withheld"].as_str().map(str::to_owned), comment["del"] == 1, stored)
        }
        Kind::Tweet => {
            let tweet = server.hash(&format!("tweet:{}", thing.id)).await;
            (tweet.get("withheld").cloned(), tweet.is_empty(), format!("{tweet:?}"))
        }
        Kind::Profile => {
            let user = server.string(&format!("username.to.id:{}", thing.id)).await.unwrap_or_default();
            let user = server.hash(&format!("user:{user}")).await;
            (user.get("withheld").cloned(), user.contains_key("deactivated"), format!("{user:?}"))
        }
    };
    let state = withheld.as_deref().and_then(|withheld| Some(withheld.split_once(':')?.0));
    let state = match state {
        Some("erased") => State::Erased,
        Some("removed") => State::Removed,
        _ if is_deleted => State::Deleted,
        Some("held") => State::Held,
        Some("flagged") => State::Flagged,
        Some("merged") => State::Merged,
        _ => State::Open,
    };
    (state, words_in(text.as_bytes()))
}

impl Walk {
    /// The steps about what a text names by its kind and id.
    pub fn history_of_named(&self, text: &str) -> String {
        let text = text.replace("the tweet ", "tweet:");
        let is_named = |thing: &Thing| {
            let name = format!("{}:{}", kind_of(thing.kind), thing.id);
            text.match_indices(&name).any(|(at, _)| {
                !text[at + name.len()..].starts_with(|next: char| next.is_ascii_digit() || next == '-')
            })
        };
        self.model
            .things
            .iter()
            .filter(|(_, thing)| is_named(thing))
            .map(|(made, _)| self.history(*made))
            .collect()
    }

    /// The steps about the things of somebody whom a text names by number, from their leave on.
    pub fn history_of_person(&self, text: &str) -> String {
        let number = text.split_once("of user ").map(|(_, number)| number.trim());
        let Some(person) =
            self.clients.iter().position(|client| Some(&*client.user_id.to_string()) == number)
        else {
            return String::new();
        };
        let is_about = |step: &&Step| {
            let line = self.model.lines.get(&step.about).map_or(step.about, |line| line.about);
            self.model.things.get(&line).is_some_and(|thing| thing.author == person)
        };
        let steps =
            self.steps.iter().skip_while(|step| step.by != person || !matches!(step.deed, Leave { .. }));
        steps.filter(is_about).map(|step| format!("\n        {step:?}")).collect()
    }

    /// The steps about something that have had an effect.
    pub fn history(&self, made: Made) -> String {
        let is_about = |step: &&Step| {
            let line = self.model.lines.get(&step.about).map(|line| line.about);
            step.about == made || step.number == made || step.other == made || line == Some(made)
        };
        self.steps.iter().filter(is_about).map(|step| format!("\n        {step:?}")).collect()
    }
}

fn is_gone(thing: &Thing) -> bool {
    !matches!(thing.state, State::Open | State::Flagged)
}

/// The answer of a call, also one with another status than 200.
async fn call(client: &Client, path: &str, fields: &[(&str, &str)]) -> Json {
    client.post(path, fields).await.json()
}

fn is_ok(answer: &Json) -> bool {
    answer["status"] == "ok"
}

/// The name of a kind in calls.
pub fn kind_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Story => "story",
        Kind::Comment => "comment",
        Kind::Tweet => "tweet",
        Kind::Profile => "user",
    }
}
