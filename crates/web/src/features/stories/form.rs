//! Stories: submitting, deleting, voting.

use crate::error::{RequestError, Result};
use crate::request::Fields;
#[cfg(test)]
use crate::request::description::values;
use crate::request::form::{form, id_or_none, optional, parsed, text, text_or_empty, valid};
use tidings_domain::news::item::Direction;
use tidings_domain::values::{NewsId, Topics};
use tidings_language::{Message, m};

/// The error message for a field that is not the number of a story.
pub const STORY: &Message = m!("it must be the number of a story");

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

    /// A story.
    pub struct NewsIdForm {
        /// The story.
        pub news_id: NewsId = parsed(STORY), values::Id;
    }

    /// A vote on a story.
    pub struct NewsVoteForm {
        /// The story.
        pub news_id: NewsId = parsed(STORY), values::Id;
        /// The vote.
        pub vote_type: Option<Direction> = vote_choice, values::VoteChoice, required = true;
    }
}

/// Reads the choice of a vote: its direction, or none to take one's own vote back.
pub fn vote_choice(fields: &Fields, name: &'static str) -> Result<Option<Direction>> {
    match fields.required(name)? {
        "up" => Ok(Some(Direction::Up)),
        "down" => Ok(Some(Direction::Down)),
        "none" => Ok(None),
        _ => Err(RequestError::field(name, m!("it must be up, down or none"))),
    }
}
