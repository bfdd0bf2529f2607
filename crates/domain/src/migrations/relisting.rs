//! Makes lists of stories and comments that earlier versions did not have, from what each of those says of itself.

use super::STORIES_AT_ONCE;
use crate::key_walk::{KeyWalk, first_parts};
use crate::keys::families::{self, Family};
use crate::records::RecordEntries;
use crate::report::Advance;
use crate::site::apply;
use crate::values::NewsId;
use crate::{Comment, Result, Site};
use tidings_keyspace::Batch;

/// Writes the members of all lists of some families whose scores follow from a story or a comment. Rounds: 1 for each 1,000 keys,
/// and 2 for each ten stories.
pub(super) async fn list_members<const N: usize>(
    site: &Site,
    advance: Advance<'_>,
    families: [&Family; N],
) -> Result<()> {
    let mut walk = KeyWalk::begin(&site.store, advance).await?;
    while let Some(keys) = walk.next().await? {
        let stories = first_parts(&keys, &families::NEWS).filter_map(|id| id.parse().ok());
        for stories in stories.collect::<Vec<NewsId>>().chunks(STORIES_AT_ONCE) {
            list(site, stories, &families).await?;
        }
    }
    Ok(())
}

/// Lists some stories and their comments. Rounds: 2.
async fn list(site: &Site, stories: &[NewsId], families: &[&Family]) -> Result<()> {
    let read = stories.iter().copied().map(Comment::with_story).collect::<Vec<_>>();
    let mut batch = Batch::new();
    for (news, comments) in site.store.fetch(read).await? {
        let entries = [RecordEntries::of(&news), RecordEntries::of(&comments)];
        for (list, member, score) in entries.iter().flat_map(RecordEntries::members) {
            if Family::of(list).is_some_and(|(family, _)| families.contains(&family)) {
                batch.sorted_add(list, member, score);
            }
        }
    }
    if !batch.writes().is_empty() {
        apply(&site.store, batch).await?;
    }
    Ok(())
}
