//! Editing the title, the topics, the URL or the text of a story, with a note that readers see.

use super::{Case, ChangedFact, Effect, read_story};
use crate::articles::stories::StoredStory;
use crate::contributions::erasing::place_of;
use crate::moderation::log::Line;
use crate::news::item::{EDITED, EditNote, TEXT_SCHEME, parts_in_words};
use crate::post_state::Moderated;
use crate::submissions::write_edit;
use crate::values::{Body, NewsId, NewsUrl, Timestamp, Title, Topics};
use crate::{News, NothingToDo, Refusal, Result, keys};
use tidings_language::t;

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
) -> Result<Effect> {
    if let Some(line) = case.undoes {
        return undo(case, id, line).await;
    }
    let news = read_editable(case, id).await?;
    Refusal::TextHasNoUrl.when(url.is_some() && news.link().is_none())?;
    Refusal::NothingToModerate(NothingToDo::LinkHasNoText).when(text.is_some() && news.text().is_none())?;
    let content = url.map(|url| url.as_str().to_owned());
    let content = content.or_else(|| text.map(|text| format!("{TEXT_SCHEME}{}", text.as_str())));
    let before = Version::of(&news);
    let after = Version {
        title: title.map_or(&*before.title, Title::as_str).to_owned(),
        topics: topics.map_or_else(|| before.topics.clone(), Topics::stored),
        url: content.unwrap_or_else(|| before.url.clone()),
    };
    let what = after.differences(&before).join(" and ");
    Refusal::NothingToModerate(NothingToDo::StoryUnchanged).when(what.is_empty())?;
    let note = EditNote { moderation: case.id, what: what.into(), reason: case.reason.as_str().into() };
    change(case, &news, (after, Some(note)), (Some(case.now.timestamp()), false)).await
}

/// Edits a story back.
async fn undo(case: &Case<'_>, id: NewsId, line: &Line) -> Result<Effect> {
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
    let note = line.changed_from(EDITED).ok_or(Refusal::CannotBeUndone)?.and_then(|note| note.parse().ok());
    // The last line: older versions kept more.
    let earlier = line.before.as_deref().and_then(|before| before.rsplit('\n').next()?.parse().ok());
    // A later edit has another time.
    let edited_at = if news.edited_at == Some(line.time) { earlier.map(Timestamp) } else { news.edited_at };
    change(case, &news, (to, note), (edited_at, true)).await
}

/// A story that moderators can edit.
async fn read_editable(case: &Case<'_>, id: NewsId) -> Result<StoredStory> {
    let news = read_story(case, id).await?;
    news.state().demand_open(case.moderator)?;
    Ok(news)
}

/// Changes a story into a version, with a note on it. `comes_back` says whether it has had that text before.
async fn change(
    case: &Case<'_>,
    story: &StoredStory,
    (to, note): (Version, Option<EditNote>),
    (edited_at, comes_back): (Option<Timestamp>, bool),
) -> Result<Effect> {
    let (key, from) = (keys::news(story.id), Version::of(story));
    let mut effect = Effect::default();
    let notes = [&story.edited, &note].map(|note| note.as_ref().map(ToString::to_string));
    let mut news = News::clone(story);
    news.edit(&to.title, &to.url);
    news.topics = Topics::from_stored(&to.topics);
    (news.edited, news.edited_at) = (note, edited_at);
    news.withhold(case.state_of_kept(story.withheld.as_ref()));
    let parts = [
        ("title", &from.title, &to.title),
        ("url", &from.url, &to.url),
        ("topics", &from.topics, &to.topics),
    ];
    for (field, before, after) in parts.into_iter().filter(|(_, before, after)| before != after) {
        effect.changed.push(ChangedFact::of_field(&key, field, (Some(before), Some(after))));
    }
    let change = (notes[0].as_deref(), notes[1].as_deref());
    effect.changed.push(ChangedFact::of_field(&key, EDITED, change));
    write_edit((case.site, case.now), case.moderator, (story, news), comes_back, &mut effect.batch).await?;
    effect.tells(t!(
        "A moderator has edited the {parts} of your story “{title}” {place}: {reason}",
        parts = parts_in_words(&to.differences(&from).join(" and ")),
        title = &to.title,
        place = place_of(case.thing),
        reason = case.reason.as_str(),
    ));
    effect.before = story.edited_at.map(|time| time.to_string());
    Ok(effect)
}
