//! Comments: writing, editing, deleting, voting.

use crate::error::{RequestError, Result};
use crate::features::stories::form::{STORY, vote_choice};
use crate::request::Fields;
#[cfg(test)]
use crate::request::description::values;
use crate::request::form::{form, id_or_none, parsed, text};
use tidings_domain::news::item::Direction;
use tidings_domain::values::{CommentAddress, CommentId, NewsId};
use tidings_language::m;

// The rules for the text depend on the action, so it is not parsed here.
form! {
    /// A comment to write, edit or delete.
    pub struct CommentForm {
        /// The story.
        pub news_id: NewsId = parsed(STORY), values::Id;
        /// The comment to edit; `-1` for a new one.
        pub comment_id: Option<CommentId> = id_or_none, values::IdOrNone, required = true;
        /// The text; empty to delete the comment.
        pub comment: String = text, values::CommentText;
        /// The comment that a new one replies to; `-1` for the story itself. Ignored when a
        /// comment is edited.
        pub parent_id: Option<CommentId> = parent, values::IdOrNone, required = false;
        /// `moderator` in a new comment of a moderator who speaks as such: it is marked, and the moderation log says
        /// so. Ignored when a comment is edited.
        pub speaking_as: bool = speaks_as_moderator, values::Speaker, required = false;
    }

    /// A text to see as HTML.
    pub struct PreviewForm {
        /// The text.
        pub text: String = text, values::DraftText;
    }

    /// A vote on a comment.
    pub struct CommentVoteForm {
        /// The comment.
        pub comment_id: CommentAddress = parsed(m!("it must be two numbers, <news id>-<comment id>")), values::CommentAddress;
        /// The vote.
        pub vote_type: Option<Direction> = vote_choice, values::VoteChoice, required = true;
    }
}

/// The comment above, unless one is edited.
fn parent(fields: &Fields, name: &'static str) -> Result<Option<CommentId>> {
    let edited: Option<CommentId> = id_or_none(fields, "comment_id")?;
    if edited.is_none() { id_or_none(fields, name) } else { Ok(None) }
}

fn speaks_as_moderator(fields: &Fields, name: &'static str) -> Result<bool> {
    match fields.text(name) {
        "" => Ok(false),
        "moderator" => Ok(true),
        _ => Err(RequestError::field(name, m!("it must be moderator"))),
    }
}
