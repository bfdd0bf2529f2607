//! The state of the things on the site of a walk, and which steps were about them.

use super::model::{Kind, Made, Model, Person, State, Thing, Word, words_in};
use super::steps::{Deed, Step, Walk, kind_of, profile};
use crate::server::Server;
use serde_json::Value as Json;

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
    /// Learns from the store what flags and jobs have done to a thing, which follows from more than the model knows.
    pub async fn learn(&mut self, made: Made) {
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

    pub async fn learn_posts(&mut self, author: Person) {
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

    pub async fn learn_person(&mut self, person: Person) {
        let user = self.server.hash(&format!("user:{}", self.clients[person].user_id)).await;
        let was_banned =
            std::mem::replace(&mut self.model.people[person].is_banned, user.contains_key("banned"));
        if was_banned && !self.model.people[person].is_banned {
            // The ban has ended the session.
            self.clients[person] = self.server.client_of(self.clients[person].user_id).await;
        }
        self.learn(profile(person)).await;
    }

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
        let steps = self
            .steps
            .iter()
            .skip_while(|step| step.by != person || !matches!(step.deed, Deed::Leave { .. }));
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
