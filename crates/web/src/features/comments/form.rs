//! Comments: writing, editing, deleting, voting.

use crate::error::RequestError;
use crate::features::stories::form::{NewsIdForm, VoteChoice, vote_choice};
use crate::request::form::{Fields, FromFields, form, id_or_none, parsed, text};
use crate::request::values;
use tidings_domain::values::ids::{CommentAddress, CommentId, NewsId};
use utoipa::ToSchema;

// The rules for the text depend on the action, so it is not parsed here.
/// A comment to write, edit or delete.
#[derive(ToSchema)]
pub struct CommentForm {
    /// The story.
    #[schema(value_type = values::Id)]
    pub news_id: NewsId,
    /// The comment to edit; `-1` for a new one.
    #[schema(value_type = values::IdOrNone, required = true)]
    pub comment_id: Option<CommentId>,
    /// The comment that a new one replies to; `-1` for the story itself. Ignored when a
    /// comment is edited.
    #[schema(value_type = values::IdOrNone, required = false)]
    pub parent_id: Option<CommentId>,
    /// The text; empty to delete the comment.
    #[schema(value_type = values::CommentText)]
    pub comment: String,
    /// `moderator` in a new comment of a moderator who speaks as such: it is marked, and the moderation log says
    /// so. Ignored when a comment is edited.
    #[schema(value_type = values::Speaker, required = false)]
    pub speaking_as: bool,
}

impl FromFields for CommentForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let news_id = NewsIdForm::from_fields(fields)?.news_id;
        let comment_id = id_or_none(fields, "comment_id")?;
        let comment = fields.required("comment")?.to_owned();
        let parent_id = if comment_id.is_none() { id_or_none(fields, "parent_id")? } else { None };
        let speaking_as = match fields.get("speaking_as") {
            None | Some("") => false,
            Some("moderator") => true,
            Some(_) => {
                return Err(RequestError::field("speaking_as", "it must be moderator"));
            }
        };
        Ok(Self { news_id, comment_id, parent_id, comment, speaking_as })
    }
}

form! {
    /// A text to see as HTML.
    pub struct PreviewForm {
        /// The text.
        pub text: String = text, values::DraftText;
    }
}

form! {
    /// A vote on a comment.
    pub struct CommentVoteForm {
        /// The comment.
        pub comment_id: CommentAddress = parsed("it must be two numbers, <news id>-<comment id>"), values::CommentAddress;
        /// The vote.
        pub vote_type: VoteChoice = vote_choice, VoteChoice;
    }
}
