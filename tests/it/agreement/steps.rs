//! The deeds of people and moderators, a step at a time.

use super::model::{Kind, Made, Model, Person, Place, State, Thing, text_of};
use crate::client::{Client, ok};
use crate::server::Server;
use crate::undo_is_exact::Dice;
use serde_json::Value as Json;

/// A word that a rule holds.
pub const HELD: &str = "holdme";
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
    Site(&'static str),
}

use Deed::{
    Answer, AnswerAppeal, Appeal, Comment, DeleteComment, DeleteStory, DeleteTweet, EditComment, EditStory,
    Flag, Leave, Mark, Message, Moderate, Profile, Read, ReadInbox, RemoveAll, Reply, Restrict, Site, Stand,
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
    (4, Site("apply")),
    (4, Site("accept")),
    (2, Site("reject")),
    (2, Site("lift the rule")),
    (4, Site("add the rule")),
    (4, Site("save a reason")),
    (3, Site("announce")),
    (3, Site("ban a domain")),
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
        let alice = walk.server.register("alice").await;
        walk.welcome("alice", alice).await;
        let writers = (0..WRITERS).map(|number| format!("writer{number}"));
        for (made, name) in
            ["milo", "mina", "watcher"].map(str::to_owned).into_iter().chain(writers).enumerate()
        {
            walk.apply(made, name).await;
            walk.answer_application((ADMIN, made), true).await;
        }
        let admin = walk.clients[ADMIN].clone();
        walk.server.set_field(&format!("user:{}", admin.user_id), "flags", "a").await;
        for moderator in MODERATORS {
            let name = walk.model.people[moderator].name.clone();
            ok(admin
                .call(&format!("/api/moderate?action=make_moderator&kind=user&id={name}&reason=trust"))
                .await);
        }
        for person in [ADMIN, MODERATORS[0], MODERATORS[1]] {
            walk.model.people[person].is_staff = true;
        }
        for person in FIRST..FIRST + WRITERS {
            walk.clients[WATCHER].follow(&walk.model.people[person].name).await;
        }
        walk.add_rule(ADMIN).await;
        walk
    }

    /// The lines of the log that can be undone.
    pub fn open_lines(&self) -> Vec<Made> {
        let lines = self.model.lines.iter();
        lines.filter(|(_, line)| !line.is_undone).map(|(made, _)| *made).collect()
    }

    /// Chooses a step.
    pub fn choose(&self, number: Made, dice: &mut Dice) -> Step {
        let mut deeds = DEEDS.iter().flat_map(|(weight, deed)| std::iter::repeat_n(*deed, *weight));
        let deed = deeds.nth(dice.below(DEEDS.iter().map(|(weight, _)| weight).sum())).unwrap();
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
            one_of(&found[from..], dice)
        };
        let staff = [ADMIN, MODERATORS[0], MODERATORS[1]][dice.below(3)];
        let about = match deed {
            Submit | SubmitText | Tweet | Profile | Message | Read | ReadInbox => 0,
            Topic(_) => 0,
            Answer => {
                by = staff;
                0
            }
            Site(what) => {
                by = if matches!(what, "announce" | "ban a domain") { ADMIN } else { staff };
                one_of(&self.model.applicants.keys().copied().collect::<Vec<_>>(), dice)
            }
            AnswerAppeal(_) => {
                by = staff;
                one_of(&self.model.appeals, dice)
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
                one_of(&self.open_lines(), dice)
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
                self.done(step.by, &format!("/api/{action}?news_id={story}")).await?;
                let pair = (step.by, step.about);
                _ = match action {
                    "hide" => self.model.hidden.insert(pair),
                    "unhide" => self.model.hidden.remove(&pair),
                    _ => false,
                };
                Some(())
            }
            Stand(action) => {
                let field = if action.ends_with("mute") { "what=user&value" } else { "username" };
                let name = &self.model.people[step.about].name;
                self.done(step.by, &format!("/api/{action}?{field}={name}")).await?;
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
                let text = said(self.model.word(Place::Message, step.by, None));
                self.done(step.by, &format!("/api/messages?text={text}")).await
            }
            Answer => self.answer(step).await,
            Read => {
                let addresses = "/ /latest/0 /everyone /comments /inbox /best /rss /home /news/1";
                let count = addresses.split(' ').count();
                let address = addresses.split(' ').nth(step.die % count).unwrap();
                self.clients[step.by].get(address).await;
                Some(())
            }
            ReadInbox => self.done(step.by, "/api/readinbox?id=all").await,
            Appeal => self.appeal(step).await,
            AnswerAppeal(action) => self.answer_appeal(step, action).await,
            Topic(action) => self.move_topic(step, action).await,
            Moderate(action) => self.moderate(step, action).await,
            Restrict(action) => self.restrict(step, action).await,
            RemoveAll => self.remove_all(step).await,
            Undo => self.undo(step.about, step.by).await,
            Leave { erases } => self.leave(step.by, erases).await,
            Site(what) => self.change_site(step, what).await,
        }
    }

    /// Makes a call that may be refused.
    pub async fn done(&self, by: Person, request: &str) -> Option<()> {
        is_ok(&call(&self.clients[by], request).await).then_some(())
    }

    pub fn thing(&self, made: Made) -> Option<&Thing> {
        self.model.things.get(&made)
    }

    /// The person whom the text of a step mentions.
    pub fn mentioned(&self, step: &Step) -> Option<Person> {
        match step.die % 4 {
            0 => Some(step.other),
            1 => Some(WATCHER),
            _ => None,
        }
    }

    /// The words around a word: mentions, and sometimes what a rule holds.
    pub fn text(&self, step: &Step, word: usize) -> String {
        let mention = self.mentioned(step);
        let mention =
            mention.map_or(String::new(), |person| format!(" for @{}", self.model.people[person].name));
        let held = if (step.die / 4).is_multiple_of(9) { format!(" {HELD}") } else { String::new() };
        format!("{}{mention}{held}", said(word))
    }
}

/// The number that the first comment of a story has among what steps make.
pub const FIRST_COMMENTS: Made = 500_000;

/// One of those that steps have made, or no step's.
fn one_of(found: &[Made], dice: &mut Dice) -> Made {
    found.get(dice.below(found.len().max(1))).copied().unwrap_or_default()
}

pub fn is_gone(thing: &Thing) -> bool {
    !matches!(thing.state, State::Open | State::Flagged)
}

/// The answer of a call, `/api/x?field=value&…`, also one with another status than 200.
pub async fn call(client: &Client, request: &str) -> Json {
    client.answer_to(request).await.json()
}

/// A text with a word, which searches find.
pub fn said(word: usize) -> String {
    format!("{COMMON} {}", text_of(word))
}

pub fn is_ok(answer: &Json) -> bool {
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
