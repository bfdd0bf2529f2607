//! Traces of erased posts in the records of moderation: the texts before edits, appeals, the notes of
//! flags, and quotes in messages. Jobs go through the log, from the first line on.

use super::{Line, log};
use crate::accounts::inbox::erase_messages;
use crate::contributions::erasing::{NAME, TRACES, place_of};
use crate::deactivation::leave;
use crate::jobs::{self, Job, JobKind, Step, StepOutcome};
use crate::news::item::ERASED;
use crate::values::{Action, Moment, NewsId, Thing, UserId};
use crate::{Decision, Result, Site, flags, keys, review};
use std::collections::{BTreeMap, HashMap};
use tidings_keyspace::{Batch, Fetch, read};

/// The jobs `erase:<thing>`.
pub(crate) const KIND: JobKind = JobKind { name: TRACES, step: |current| Box::pin(of_thing(current)) };

/// The field of a job with the last line that it has looked at.
pub(super) const LINE: &str = "line";

/// The traces that are erased.
pub(super) enum TracesOf {
    /// Those of a post.
    Thing(Thing),
    /// Those of all posts of a person.
    Person(UserId),
}

impl TracesOf {
    /// Whether a line is about it. A line about a story that was merged into it is.
    fn concerns(&self, line: &Line, authors: &HashMap<NewsId, UserId>) -> bool {
        let into = merged_into(line);
        match self {
            Self::Thing(Thing::Story(id)) if into == Some(*id) => true,
            Self::Thing(thing) => line.thing.key() == thing.key(),
            Self::Person(person) => {
                line.concerns == Some(*person) || into.is_some_and(|into| authors.get(&into) == Some(person))
            }
        }
    }

    /// Whether a story goes.
    fn is_of_story(&self, news: NewsId, authors: &HashMap<NewsId, UserId>) -> bool {
        match self {
            Self::Thing(thing) => *thing == Thing::Story(news),
            Self::Person(person) => authors.get(&news) == Some(person),
        }
    }
}

/// The story that a line names beside its thing: the one that another was merged into, or that a comment is on.
fn other_story(line: &Line) -> Option<NewsId> {
    match &line.thing {
        Thing::Comment(address) => Some(address.news),
        _ => merged_into(line),
    }
}

/// The story into which a line has merged another.
fn merged_into(line: &Line) -> Option<NewsId> {
    (line.action == Action::Merge).then_some(())?;
    line.before.as_deref()?.parse().ok()
}

/// Does the job of a thing.
pub(super) async fn erase(site: &Site, now: Moment, thing: &Thing) -> Result<()> {
    jobs::work_on(site, now, &KIND, &Job::new(TRACES, thing)).await.map(drop)
}

async fn of_thing(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
    match current.subject::<Thing>() {
        Some(thing) => step(current, &TracesOf::Thing(thing)).await,
        None => Ok(current.skip()),
    }
}

/// One step: looks at some lines of the log, and after the last at flags. Rounds: at most 6, and 1 for each
/// person with messages.
pub(super) async fn step(current: &Step<'_>, about: &TracesOf) -> Result<Decision<StepOutcome>> {
    let (site, mut batch) = (current.site, current.batch());
    let after: u64 = current.field(LINE).unwrap_or(0);
    let (lines, last) = log::lines_after(site, after).await?;
    let Some(last) = last else {
        match about {
            TracesOf::Thing(thing) => flags::erase(site, &mut batch, thing).await?,
            // Only now, because it deletes lists of posts.
            TracesOf::Person(person) => {
                if let Some(name) = current.field::<String>(NAME) {
                    let profile = Thing::User(name.into());
                    flags::erase(site, &mut batch, &profile).await?;
                    review::settle(&mut batch, &profile);
                }
                let leaving = leave::job(*person);
                jobs::add(&mut batch, &leaving, current.now, *person);
                current.starts([leaving]);
            }
        }
        return Ok(current.finish(batch));
    };
    let authors = authors_of(site, &lines, about).await?;
    let about_it: Vec<&Line> = lines.iter().filter(|line| about.concerns(line, &authors)).collect();
    erase_appeals(site, &mut batch, &about_it).await?;
    let mut told: BTreeMap<UserId, Vec<String>> = BTreeMap::new();
    for line in about_it {
        line.forget_texts(&mut batch);
        if let Some(person) = line.concerns {
            let places = [place_of(&line.thing), format!("/appeal/{}", line.id)];
            // The message about a merge names both stories.
            let into = merged_into(line).map(|into| place_of(&Thing::Story(into)));
            told.entry(person).or_default().extend(places.into_iter().chain(into));
        }
    }
    // Messages about the comments on a story begin with its title.
    for line in &lines {
        if let (Thing::Comment(address), Some(person)) = (&line.thing, line.concerns)
            && about.is_of_story(address.news, &authors)
        {
            told.entry(person).or_default().push(place_of(&line.thing));
        }
    }
    for (person, places) in told {
        // The message that says that something was erased names no post.
        let quotes = |text: &str| places.iter().any(|place| names(text, place));
        erase_messages(site, &mut batch, person, quotes).await?;
    }
    Ok(current.advance(batch, &[(LINE, last.to_string())]))
}

/// Whether a text names an address, and not one of which it is the beginning.
fn names(text: &str, address: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_digit());
    text.match_indices(address).any(|(at, found)| text.get(at + found.len()..).is_some_and(is_end))
}

/// The authors of the other stories that lines name. Rounds: 1, none without any.
async fn authors_of(site: &Site, lines: &[Line], about: &TracesOf) -> Result<HashMap<NewsId, UserId>> {
    let TracesOf::Person(_) = about else { return Ok(HashMap::new()) };
    let author = |id| {
        let author = read::field(keys::news(id), "user_id");
        author.map(move |author: Option<String>| Some((id, author?.parse().ok()?)))
    };
    let reads: Vec<_> = lines.iter().filter_map(other_story).map(author).collect();
    Ok(site.store.fetch(reads).await?.into_iter().flatten().collect())
}

/// Adds to a batch that the texts of appeals against some lines are gone. Rounds: 1, none without lines.
async fn erase_appeals(site: &Site, batch: &mut Batch, lines: &[&Line]) -> Result<()> {
    let texts: Vec<_> = lines.iter().map(|line| read::field(keys::appeal(line.id), "text")).collect();
    for (line, text) in lines.iter().zip(site.store.fetch(texts).await?) {
        if text.is_some() {
            batch.set_field(keys::appeal(line.id), "text", ERASED);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_not_named_by_a_longer_one() {
        assert!(names("your story “a” (/news/7): spam", "(/news/7)"));
        assert!(names("You can appeal: http://a/appeal/7", "/appeal/7"));
        assert!(!names("You can appeal: http://a/appeal/71", "/appeal/7"));
        assert!(names("/appeal/71 and /appeal/7.", "/appeal/7"));
    }
}
