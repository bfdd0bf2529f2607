//! The actions of moderators, and undoing them.

use super::model::{Kind, Line, Made, Person, Place, State, text_of};
use super::steps::{ADMIN, FIRST_COMMENTS, Step, TOPICS, Walk, call, kind_of, profile, said};
use serde_json::Value as Json;

impl Walk {
    pub async fn answer(&mut self, step: &Step) -> Option<()> {
        let threads = self.clients[step.by].api_get("/api/messages").await;
        let thread = threads["threads"].as_array()?.get(step.die % 3)?.clone();
        let name = thread["username"].as_str()?.to_owned();
        let member = self.model.people.iter().position(|person| person.name == name)?;
        // Read by the member too, so it is as if the member had written it.
        let text = said(self.model.word(Place::Message, member, None));
        let id = thread["thread_id"].as_str().map_or_else(|| thread["thread_id"].to_string(), str::to_owned);
        self.done(step.by, &format!("/api/messages?thread={id}&text={text}")).await
    }

    pub async fn answer_appeal(&mut self, step: &Step, action: &'static str) -> Option<()> {
        let line = self.model.lines.get(&step.about)?.clone();
        let (reason, id) = (self.reason(step.by), line.id);
        let request = format!("/api/moderate?action={action}&kind=appeal&id={id}&reason={reason}");
        self.done(step.by, &request).await?;
        self.model.appeals.retain(|appeal| *appeal != step.about);
        // Nothing is undone twice.
        if action == "approve" && !line.is_undone {
            self.note_undone(step.about).await;
        }
        Some(())
    }

    pub async fn move_topic(&mut self, step: &Step, action: &'static str) -> Option<()> {
        let (from, to) = (step.die % TOPICS, (step.die + 1) % TOPICS);
        let name = match action {
            "renametopic" => format!("topic{}", step.number),
            _ => self.model.topics[to].clone(),
        };
        let former = self.model.topics[from].clone();
        self.done(ADMIN, &format!("/api/{action}?topic={former}&name={name}")).await?;
        self.server.finish_jobs().await;
        if action == "renametopic" {
            self.model.topics[from].clone_from(&name);
        }
        for thing in self.model.things.values_mut().filter(|thing| thing.topic.as_ref() == Some(&former)) {
            // A story that was rejected before anybody saw it is not among those of the topic.
            if thing.state != State::Rejected {
                thing.topic = Some(name.clone());
            }
        }
        Some(())
    }

    /// Notes a line of the log.
    pub fn note_line(
        &mut self,
        step: &Step,
        (action, about): (&'static str, Made),
        answer: &Json,
    ) -> Option<()> {
        let id = answer["moderation_id"].as_u64()?;
        let before = self.thing(about).cloned();
        let line = Line { id, action, about, before, is_undone: false };
        self.model.lines.insert(step.number, line);
        Some(())
    }

    pub async fn moderate(&mut self, step: &Step, action: &'static str) -> Option<()> {
        let thing = self.thing(step.about)?.clone();
        let (reason, kind, id) = (self.reason(step.by), kind_of(thing.kind), &thing.id);
        let mut request =
            format!("/api/moderate?action={action}&kind={kind}&id={id}&reason={reason}&confirm={id}");
        let into = self.thing(step.other).map_or(String::new(), |other| other.id.clone());
        let mut words = thing.words.clone();
        match action {
            "merge" => request += &format!("&into={into}"),
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
                        _ => said(*word),
                    };
                    request += &format!("&{name}={text}");
                }
            }
            _ => {}
        }
        let answer = call(&self.clients[step.by], &request).await;
        self.note_line(step, (action, step.about), &answer)?;
        self.server.finish_jobs().await;
        let thing = self.model.things.get_mut(&step.about)?;
        let kind = thing.kind;
        match action {
            // The profile is empty, and can be written again.
            "remove" if thing.kind == Kind::Profile => thing.words.clear(),
            "remove" => (thing.before, thing.state) = (thing.state, State::Removed),
            "restore" | "split" => {
                thing.return_to((thing.before, thing.before), None);
                // That ends the decision, so that an appeal against it has nothing left to undo.
                let ended = self.model.lines.values_mut().filter(|line| line.about == step.about);
                ended
                    .filter(|line| ["remove", "merge"].contains(&line.action))
                    .for_each(|line| line.is_undone = true);
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
        if ["edit", "lock"].contains(&action) || kind == Kind::Profile {
            // A moderator has looked at it, and flags hide it no more.
            self.learn(step.about).await;
        }
        self.learn(step.about + FIRST_COMMENTS).await;
        Some(())
    }

    pub async fn restrict(&mut self, step: &Step, action: &'static str) -> Option<()> {
        let place = if action == "note" { Place::Staff } else { Place::Reason };
        let reason = said(self.model.word(place, step.by, None));
        let name = &self.model.people[step.about].name;
        let request = format!("/api/moderate?action={action}&kind=user&id={name}&reason={reason}");
        let answer = call(&self.clients[step.by], &request).await;
        self.note_line(step, (action, profile(step.about)), &answer)?;
        self.server.finish_jobs().await;
        self.learn_person(step.about).await;
        Some(())
    }

    pub async fn remove_all(&mut self, step: &Step) -> Option<()> {
        let (reason, name) = (self.reason(step.by), &self.model.people[step.about].name);
        let request = format!("/api/moderate?action=remove_all&kind=user&id={name}&reason={reason}&days=2");
        let answer = call(&self.clients[step.by], &request).await;
        self.note_line(step, ("remove_all", profile(step.about)), &answer)?;
        self.server.finish_jobs().await;
        self.learn_posts(step.about).await;
        Some(())
    }

    /// Undoes a line.
    pub async fn undo(&mut self, made: Made, by: Person) -> Option<()> {
        let line = self.model.lines.get(&made)?.clone();
        let (reason, id) = (self.reason(by), line.id);
        self.done(by, &format!("/api/moderate/undo?moderation_id={id}&reason={reason}")).await?;
        self.note_undone(made).await
    }

    /// Notes that a line was undone.
    pub async fn note_undone(&mut self, made: Made) -> Option<()> {
        let line = self.model.lines.get(&made)?.clone();
        self.server.finish_jobs().await;
        self.model.lines.get_mut(&made)?.is_undone = true;
        let Some(thing) = self.thing(line.about).cloned() else { return Some(()) };
        if line.action == "remove_all" {
            self.learn_posts(thing.author).await;
        }
        if thing.kind == Kind::Profile {
            self.learn_person(thing.author).await;
        }
        let before = line.before?;
        let now = self.model.things.get_mut(&line.about)?;
        match line.action {
            // A thing that left with its author stays away.
            _ if now.state == State::Deleted => {}
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
        if ["edit", "lock"].contains(&line.action) {
            self.learn(line.about).await;
        }
        self.learn(line.about + FIRST_COMMENTS).await;
        Some(())
    }
}
