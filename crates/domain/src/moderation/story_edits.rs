//! Editing the title, the topics, the URL or the text of a story, with a note that readers see.

use super::case::{Case, Effect};
use super::changes::ChangedFact;
use super::threads::read_story;
use crate::articles::article::ArticleChange;
use crate::error::{Error, Refusal};
use crate::keys;
use crate::moderation::log::Line;
use crate::news::item::{EDITED, EDITED_AT, EditNote, News, TEXT_SCHEME};
use crate::submissions::url_guards::UrlGuards;
use crate::submissions::{StoryChange, StoryText};
use crate::values::clock::Timestamp;
use crate::values::ids::NewsId;
use crate::values::text::{Body, Title};
use crate::values::topic::Topics;
use crate::values::urls::NewsUrl;
use tidings_keyspace::read;

/// The parts of a story that can be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    title: String,
    topics: String,
    url: String,
}

impl Version {
    fn of(news: &News) -> Self {
        let topics = news.stored_topics.clone().unwrap_or_default();
        Self { title: news.title.clone(), topics, url: news.url.clone() }
    }

    /// The names of the parts that differ from another version.
    fn differences(&self, other: &Self) -> Vec<&'static str> {
        let content = if self.url.starts_with(TEXT_SCHEME) { "text" } else { "URL" };
        let differs = [
            ("title", self.title != other.title),
            ("topics", self.topics != other.topics),
            (content, self.url != other.url),
        ];
        differs.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what).collect()
    }
}

/// Edits a story; what is `None` stays. A link stays a link, and a text a text.
pub(super) async fn edit(
    case: &Case<'_>,
    id: NewsId,
    (title, topics): (Option<&Title>, Option<&Topics>),
    (url, text): (Option<&NewsUrl>, Option<&Body>),
) -> Result<Effect, Error> {
    if let Some(line) = case.undoes {
        return undo(case, id, line).await;
    }
    let news = read_editable(case, id).await?;
    if url.is_some() && news.link().is_none() {
        return Err(Refusal::TextHasNoUrl.into());
    }
    if text.is_some() && news.text().is_none() {
        return Err(Refusal::NothingToModerate("this story is a link, so it has no text").into());
    }
    let content = url.map(|url| url.as_str().to_owned());
    let content = content.or_else(|| text.map(|text| format!("{TEXT_SCHEME}{}", text.as_str())));
    let before = Version::of(&news);
    let after = Version {
        title: title.map_or(&*before.title, Title::as_str).to_owned(),
        topics: topics.map_or_else(|| before.topics.clone(), Topics::stored),
        url: content.unwrap_or_else(|| before.url.clone()),
    };
    let what = after.differences(&before).join(" and ");
    if what.is_empty() {
        return Err(Refusal::NothingToModerate("the story already reads like that").into());
    }
    let note =
        EditNote { moderation: case.id, what: what.into(), reason: case.reason.as_str().into() }.to_string();
    change(case, &news, (after, Some(note)), (Some(case.now.timestamp()), None)).await
}

/// Edits a story back.
async fn undo(case: &Case<'_>, id: NewsId, line: &Line) -> Result<Effect, Error> {
    let news = read_editable(case, id).await?;
    let now = Version::of(&news);
    // Parts that this edit did not change stay as they are now.
    let back = |field, now: String| match line.changed_from(field) {
        Some(before) => before.unwrap_or_default().to_owned(),
        None => now,
    };
    let to = Version {
        title: back("title", now.title),
        topics: back("topics", now.topics),
        url: back("url", now.url),
    };
    let note = line.changed_from(EDITED).ok_or(Refusal::CannotBeUndone)?.map(str::to_owned);
    let (guards, earlier) = replaced(line);
    // A later edit has another time.
    let edited_at = if news.edited_at == Some(line.time) { earlier } else { news.edited_at };
    change(case, &news, (to, note), (edited_at, Some(&guards))).await
}

/// The guards of the former URL, and when the story had been edited before that, as a line of the log has them: a line
/// of text for each guard, which has a blank, and then one for the time, if there is one.
fn replaced(line: &Line) -> (UrlGuards, Option<Timestamp>) {
    let before = line.before.as_deref().unwrap_or_default();
    let last = before.rsplit_once('\n').filter(|(_, last)| !last.contains(' '));
    let (guards, time) = last.unwrap_or((before, ""));
    (guards.parse().unwrap_or_default(), time.parse().ok().map(Timestamp))
}

/// A story that moderators can edit.
async fn read_editable(case: &Case<'_>, id: NewsId) -> Result<News, Error> {
    let news = read_story(case, id).await?;
    news.refuse_if_gone(case.moderator)?;
    Ok(news)
}

/// Changes a story into a version, with a note on it.
async fn change(
    case: &Case<'_>,
    news: &News,
    (to, note_after): (Version, Option<String>),
    (edited_at, former): (Option<Timestamp>, Option<&UrlGuards>),
) -> Result<Effect, Error> {
    let key = keys::news(news.id);
    let reads = (read::fields(&key, ["title", EDITED]), ArticleChange::of(news.id));
    let ([title, note_before], article) = case.site.store.fetch(reads).await?;
    let mut effect = Effect { concerns: Some(news.user_id), ..Effect::default() };
    let change = StoryChange::read(case.site, case.now, news, article).await?;
    let topics = Topics::from_stored(&to.topics);
    let text = StoryText { title: &to.title, url: &to.url, topics: &topics };
    change.write(&mut effect.batch, case.moderator, text, former).await?;
    effect.batch.field_unchanged(&key, "title", title.as_deref());
    let now = Version::of(news);
    let parts = [("title", &now.title, &to.title), ("url", &now.url, &to.url)];
    for (field, before, after) in parts.into_iter().filter(|(_, before, after)| before != after) {
        effect.changed.push(ChangedFact::of_field(&key, field, (Some(before), Some(after))));
    }
    if to.topics != now.topics {
        let (before, after) = (news.stored_topics.as_deref(), topics.stored());
        effect.changed.push(ChangedFact::of_field(&key, "topics", (before, Some(&after))));
    }
    effect.change(&key, EDITED, (note_before.as_deref(), note_after.as_deref()));
    match edited_at {
        Some(time) => effect.batch.set_field(&key, EDITED_AT, time.to_string()),
        None => effect.batch.delete_field(&key, EDITED_AT),
    }
    let what = to.differences(&Version::of(news)).join(" and ");
    effect.message = Some(format!(
        "A moderator has edited the {what} of your story “{}” (/news/{}): {}",
        to.title, news.id, case.reason
    ));
    let edited_at = news.edited_at.map(|time| format!("\n{time}")).unwrap_or_default();
    effect.before = Some(format!("{}{edited_at}", change.guards));
    Ok(effect)
}
