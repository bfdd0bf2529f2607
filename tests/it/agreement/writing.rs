//! The actions of people: they write, vote, flag and leave.

use super::model::{Kind, Person, Place, State, Thing, text_of};
use super::steps::{Deed, FIRST_COMMENTS, HELD, HOSTS, Step, Walk, call, is_ok, kind_of, profile, said};
use crate::client::PASSWORD;
use std::collections::BTreeMap;

impl Walk {
    pub async fn submit(&mut self, step: &Step) -> Option<()> {
        let [title, url, text] = [Place::Title, Place::Url, Place::Text]
            .map(|place| self.model.word(place, step.by, Some(step.number)));
        let is_link = step.deed == Deed::Submit;
        let host = step.die % HOSTS;
        let topic = (step.die / 7 % 4).checked_sub(1).map(|topic| self.model.topics[topic].clone());
        let topic_name = topic.clone().unwrap_or_default();
        let held = if (step.die / 4).is_multiple_of(9) { HELD } else { "" };
        let title_text = format!("{} {held}", said(title));
        let address =
            if is_link { format!("http://site{host}.example/{}", text_of(url)) } else { String::new() };
        let with_text = !is_link || (step.die / 11).is_multiple_of(4);
        let body = if with_text { self.text(step, text) } else { String::new() };
        let request = format!(
            "/api/submit?news_id=-1&title={title_text}&url={address}&text={body}&topics={topic_name}"
        );
        let answer = call(&self.clients[step.by], &request).await;
        let id = answer["news_id"].as_u64()?;
        let is_held = answer["held"] == true;
        let mut words = BTreeMap::from([(Place::Title, title)]);
        words.insert(if is_link { Place::Url } else { Place::Text }, if is_link { url } else { text });
        let thing = Thing {
            state: if is_held { State::Held } else { State::Open },
            host: is_link.then_some(host),
            topic,
            ..Thing::new(Kind::Story, id.to_string(), step.by, words)
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

    pub async fn edit_story(&mut self, step: &Step) -> Option<()> {
        let thing = self.thing(step.about)?.clone();
        let author = thing.author;
        let title = self.model.word(Place::Title, author, Some(step.about));
        let is_link = thing.host.is_some();
        let place = if is_link { Place::Url } else { Place::Text };
        let other = self.model.word(place, author, Some(step.about));
        let url =
            thing.host.map_or(String::new(), |host| format!("http://site{host}.example/{}", text_of(other)));
        let text = if is_link { String::new() } else { self.text(step, other) };
        let answer = self.clients[author].edit(thing.number(), &said(title), &url, &text).await;
        is_ok(&answer).then_some(())?;
        let thing = self.model.things.get_mut(&step.about)?;
        thing.words = BTreeMap::from([(Place::Title, title), (place, other)]);
        self.learn(step.about).await;
        Some(())
    }

    pub async fn comment(&mut self, step: &Step) -> Option<()> {
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
        let words = BTreeMap::from([(Place::Text, word)]);
        let thing = Thing {
            story: Some(story),
            state: if answer["held"] == true { State::Held } else { State::Open },
            mentions: self.mentioned(step),
            ..Thing::new(Kind::Comment, format!("{number}-{id}"), step.by, words)
        };
        self.model.things.insert(step.number, thing);
        Some(())
    }

    pub async fn edit_comment(&mut self, step: &Step) -> Option<()> {
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

    pub async fn delete(&mut self, step: &Step) -> Option<()> {
        let thing = self.thing(step.about)?.clone();
        let client = &self.clients[thing.author];
        let answer = match thing.kind {
            Kind::Story => client.delete(thing.number()).await,
            Kind::Comment => {
                let story = self.thing(thing.story?)?.number();
                client.edit_comment(story, thing.number(), "").await
            }
            _ => call(client, &format!("/api/deltweet?tweet_id={}", thing.id)).await,
        };
        is_ok(&answer).then_some(())?;
        self.model.things.get_mut(&step.about)?.state = State::Deleted;
        Some(())
    }

    pub async fn tweet(&mut self, step: &Step) -> Option<()> {
        let word = self.model.word(Place::Text, step.by, Some(step.number));
        let text = self.text(step, word);
        let answer = self.clients[step.by].try_tweet(&text).await;
        let id = answer["tweet_id"].as_u64()?;
        let words = BTreeMap::from([(Place::Text, word)]);
        let thing = Thing {
            state: if answer["held"] == true { State::Held } else { State::Open },
            mentions: self.mentioned(step),
            ..Thing::new(Kind::Tweet, id.to_string(), step.by, words)
        };
        self.model.things.insert(step.number, thing);
        Some(())
    }

    pub async fn change_profile(&mut self, step: &Step) -> Option<()> {
        let made = profile(step.by);
        let [about, name] =
            [Place::Text, Place::Name].map(|place| self.model.word(place, step.by, Some(made)));
        let (text, full_name) = (said(about), text_of(name));
        let request = format!("/api/updateprofile?about={text}&email=&fullname={full_name}");
        self.done(step.by, &request).await?;
        let thing = self.model.things.get_mut(&made)?;
        thing.words = BTreeMap::from([(Place::Text, about), (Place::Name, name)]);
        self.learn(made).await;
        Some(())
    }

    pub async fn vote(&mut self, step: &Step, direction: &'static str) -> Option<()> {
        let thing = self.thing(step.about)?.clone();
        let client = &self.clients[step.by];
        let answer = match thing.story {
            None => client.vote(thing.number(), direction).await,
            Some(story) => client.vote_comment(self.thing(story)?.number(), thing.number(), direction).await,
        };
        is_ok(&answer).then_some(())
    }

    pub async fn flag(&mut self, step: &Step) -> Option<()> {
        let thing = self.thing(step.about)?.clone();
        let (kind, id) = (kind_of(thing.kind), thing.id);
        if step.deed == Deed::Unflag {
            return self.done(step.by, &format!("/api/unflag?kind={kind}&id={id}")).await;
        }
        let note = said(self.model.word(Place::Note, step.by, None));
        self.done(step.by, &format!("/api/flag?kind={kind}&id={id}&reason=harmful&note={note}")).await?;
        self.learn(step.about).await;
        Some(())
    }

    pub async fn appeal(&mut self, step: &Step) -> Option<()> {
        let line = self.model.lines.get(&step.about)?.clone();
        let author = self.thing(line.about)?.author;
        let text = said(self.model.word(Place::Message, author, None));
        self.done(author, &format!("/api/appeal?moderation_id={}&text={text}", line.id)).await?;
        self.model.appeals.push(step.about);
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
}
