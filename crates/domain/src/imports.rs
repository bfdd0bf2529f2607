//! Importing submissions from other sites: accounts, news, comments and votes in bulk.
//!
//! The same batch notes the ids of the source in `import:links`, `import:accounts` and `imported:<source>`, so
//! that nothing is imported twice.

pub mod archive;
pub mod lines;
mod people;
pub(crate) mod store_rules;

pub use people::import_accounts;

use crate::articles::stories as stored;
use crate::draws::{Draw, Sequence};
use crate::news::item::TEXT_SCHEME;
use crate::submissions::url_guards;
use crate::values::{Body, ImportedVotes, ItemNumber, NewsId, NewsUrl, Timestamp, Topics, UserId};
use crate::{Error, Item, News, Result, Site, items, keys};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tidings_keyspace::{Batch, read};

/// The time over which the votes of an imported item are spread.
const VOTES_SPREAD_SECONDS: u64 = 2 * 86_400;

/// The content of a story from another site.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedStory {
    /// The title to store.
    pub title: String,
    /// The link; `None` for a text item.
    pub url: Option<NewsUrl>,
    /// The text of a text item, if it is known.
    pub text: Option<Body>,
    /// When it was posted.
    pub posted: Timestamp,
    /// Votes of nobody who is known.
    pub votes: ImportedVotes,
    /// The topics.
    pub topics: Topics,
}

/// A story to import, with the people who are known here.
#[derive(Debug, Clone)]
pub struct ImportedLink {
    /// The content.
    pub story: ImportedStory,
    /// The author.
    pub author: UserId,
    /// The other users who voted it up: all different, and not the author.
    pub voters: Vec<UserId>,
    /// Where it comes from, as `<source>:<number there>`, if that is noted with it.
    pub source: Option<String>,
}

/// Those of the submissions that have been imported before. Rounds: 1.
pub async fn known_links<'a>(
    site: &Site,
    source_ids: impl Iterator<Item = &'a str>,
) -> Result<HashSet<String>> {
    let ids: Vec<&str> = source_ids.collect();
    let found = site.store.fetch(read::hash_fields(keys::IMPORTED_LINKS, ids.iter().copied())).await?;
    Ok(ids.iter().zip(found).filter(|(_, found)| found.is_some()).map(|(id, _)| (*id).to_owned()).collect())
}

/// Imports submissions, each with its id in its source, in one batch and in the order given. Authors get the karma
/// of their votes; voters pay none.
///
/// # Errors
/// [`Error::Busy`] when another import of the same submissions runs at the
/// same time, or the store's.
pub async fn import_links(
    site: &Site,
    now: Timestamp,
    links: Vec<(String, ImportedLink)>,
) -> Result<Vec<NewsId>> {
    let count = u64::try_from(links.len()).unwrap_or(u64::MAX);
    let draw = Draw::new([(Sequence::Stories, count), (Sequence::Items, count)]);
    let [first, item] = draw.apart(site).await?;
    let mut batch = Batch::new();
    let mut karma: HashMap<UserId, i64> = HashMap::new();
    let mut ids = Vec::with_capacity(links.len());
    for ((id, item), (source_id, link)) in (first..).map(NewsId).zip((item..).map(ItemNumber)).zip(&links) {
        items::write(&mut batch, Item::Story(id), item);
        batch.field_absent(keys::IMPORTED_LINKS, source_id);
        batch.set_field(keys::IMPORTED_LINKS, source_id, id.to_string());
        write_link(&mut batch, site, now, id, link);
        let earned = i64::try_from(link.voters.len()).unwrap_or(i64::MAX);
        *karma.entry(link.author).or_default() += earned * site.rules.karma.upvote_transfer;
        ids.push(id);
    }
    for (author, earned) in karma.into_iter().filter(|(_, earned)| *earned > 0) {
        batch.increment_field(keys::user(author), "karma", earned);
    }
    site.apply(batch).await?.or(Error::Busy)?;
    Ok(ids)
}

fn write_link(batch: &mut Batch, site: &Site, now: Timestamp, id: NewsId, link: &ImportedLink) {
    let ImportedLink { story, author, voters, source } = link;
    let others = u64::try_from(voters.len()).unwrap_or(u64::MAX);
    let text = || format!("{TEXT_SCHEME}{}", story.text.as_ref().map_or("", Body::as_str));
    let url = story.url.as_ref().map_or_else(text, |url| url.as_str().to_owned());
    let mut news = News::new(id, *author, (&story.title, url), story.topics.clone(), story.posted);
    news.up = i64::try_from(others).unwrap_or(i64::MAX).saturating_add(1);
    news.imported_votes = story.votes;
    news.source = source.as_deref().map(Into::into);
    news.rank_anew(now, &site.rules.ranking);
    let voters = (0_u64..).zip(std::iter::once(author).chain(voters)).map(|(position, voter)| {
        let voted = story.posted.0.saturating_add(VOTES_SPREAD_SECONDS * position / (others + 1));
        (*voter, Timestamp(voted.min(now.0.max(story.posted.0))))
    });
    stored::add(batch, &news);
    stored::publish(batch, (site, now), &news, &voters.collect::<Vec<_>>());
    let life = site.rules.limits.repost_seconds.saturating_sub(now.seconds_since(story.posted));
    if let Some(url) = story.url.as_ref().filter(|_| life > 0) {
        url_guards::hold(batch, url, id, Duration::from_secs(life));
    }
}

/// The topics in a text from another site: names separated by commas, semicolons or spaces,
/// in any case. Names that are not valid here are left out, and so are more topics than an
/// item may have.
pub fn imported_topics(text: &str) -> Topics {
    let separators = |character: char| character == ',' || character == ';' || character.is_whitespace();
    Topics::from_stored(&text.to_lowercase().split(separators).collect::<Vec<_>>().join(","))
}

/// Repairs text that was encoded as UTF-8 twice (`Ã©` for `é`), a common fault of exported
/// files. Returns other text unchanged.
pub fn mend_encoding(text: &str) -> String {
    let bytes: Option<Vec<u8>> =
        text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect();
    match bytes.map(String::from_utf8) {
        Some(Ok(mended)) => mended.chars().map(from_windows_1252).collect(),
        _ => text.to_owned(),
    }
}

/// The character that Windows-1252 has in place of a control character of Latin-1.
fn from_windows_1252(character: char) -> char {
    const SPECIAL: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    let offset = u32::from(character).checked_sub(0x80).and_then(|offset| usize::try_from(offset).ok());
    offset.and_then(|offset| SPECIAL.get(offset)).copied().unwrap_or(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imported_topics_are_made_valid() {
        for (text, topics) in [
            ("Rust, Databases", "rust,databases"),
            ("rust;go rust", "rust,go"),
            ("c++,a,web", "web"),
            ("aa bb cc dd ee ff", "aa,bb,cc,dd,ee"),
            ("", ""),
        ] {
            assert_eq!(imported_topics(text).stored(), topics);
        }
    }

    #[test]
    fn twice_encoded_text_is_repaired_and_other_text_unchanged() {
        for (text, expected) in [
            ("Branwell BrontÃ« died", "Branwell Brontë died"),
            ("an 11Ã\u{97}17 printer", "an 11×17 printer"),
            ("Â\u{80}2bn wiped off", "€2bn wiped off"),
            ("plain", "plain"),
            ("Brontë", "Brontë"),
            ("日本語", "日本語"),
        ] {
            assert_eq!(mend_encoding(text), expected);
        }
    }
}
