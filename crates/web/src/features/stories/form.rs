//! Stories: submitting, deleting, voting.

use crate::error::RequestError;
use crate::request::form::{Fields, form, id_or_none, optional, parsed, text, text_or_empty, valid};
use crate::request::values;
use serde::Serialize;
use tidings_domain::news::item::Direction;
use tidings_domain::values::ids::NewsId;
use tidings_domain::values::topic::Topics;
use utoipa::ToSchema;

// `Submission` of the domain reads title, URL and text together.
form! {
    /// A story to submit, or to edit.
    pub struct SubmissionForm {
        /// The story to edit; `-1` for a new one.
        pub news_id: Option<NewsId> = id_or_none, values::IdOrNone, required = true;
        /// The topics; missing to keep the topics of an edited story.
        pub topics: Option<Topics> = optional(valid(Topics::parse)), values::TopicNames, required = false;
        /// The title.
        pub title: String = text, values::Title;
        /// The link; empty or missing for a text story.
        pub url: String = text_or_empty, values::Url, required = false;
        /// The text. With a URL, it becomes the first comment.
        pub text: String = text_or_empty, values::NewsText, required = false;
    }
}

/// The error message for a field that is not the number of a story.
pub const STORY: &str = "it must be the number of a story";

form! {
    /// A story.
    pub struct NewsIdForm {
        /// The story.
        pub news_id: NewsId = parsed(STORY), values::Id;
    }
}

form! {
    /// A vote on a story.
    pub struct NewsVoteForm {
        /// The story.
        pub news_id: NewsId = parsed(STORY), values::Id;
        /// The vote.
        pub vote_type: VoteChoice = vote_choice, VoteChoice;
    }
}

/// The direction of a vote in the API.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Vote)]
pub enum VoteType {
    /// A vote up.
    Up,
    /// A vote down.
    Down,
}

impl From<Direction> for VoteType {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Up => Self::Up,
            Direction::Down => Self::Down,
        }
    }
}

/// The choice in the field `vote_type` of a vote.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum VoteChoice {
    /// To vote up.
    Up,
    /// To vote down.
    Down,
    /// To take one's own vote back.
    None,
}

impl VoteChoice {
    /// The vote to cast; `None` to take one's own vote back.
    #[must_use]
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Self::Up => Some(Direction::Up),
            Self::Down => Some(Direction::Down),
            Self::None => None,
        }
    }
}

/// Reads the choice of a vote.
pub fn vote_choice(fields: &Fields, name: &'static str) -> Result<VoteChoice, RequestError> {
    match fields.required(name)? {
        "up" => Ok(VoteChoice::Up),
        "down" => Ok(VoteChoice::Down),
        "none" => Ok(VoteChoice::None),
        _ => Err(RequestError::field(name, "it must be up, down or none")),
    }
}
