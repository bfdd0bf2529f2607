//! Topics: following, muting, describing, renaming and merging.

use crate::error::RequestError;
use crate::form::{Fields, FromFields};
use crate::openapi::values;
use tidings_domain::Error;
use tidings_domain::values::text::TopicSentence;
use tidings_domain::values::topic::Topic;
use utoipa::ToSchema;

/// A new name for a topic.
#[derive(ToSchema)]
pub struct RenameForm {
    /// The topic.
    #[schema(value_type = values::TopicName)]
    pub topic: Topic,
    /// The new name.
    #[schema(value_type = values::TopicName)]
    pub name: Topic,
}

impl FromFields for RenameForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { topic: topic(fields, "topic")?, name: topic(fields, "name")? })
    }
}

/// A topic to merge into another.
#[derive(ToSchema)]
pub struct MergeForm {
    /// The topic to remove.
    #[schema(value_type = values::TopicName)]
    pub topic: Topic,
    /// The topic that receives its articles.
    #[schema(value_type = values::TopicName)]
    pub into: Topic,
}

impl FromFields for MergeForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { topic: topic(fields, "topic")?, into: topic(fields, "into")? })
    }
}

/// A topic.
#[derive(ToSchema)]
pub struct TopicForm {
    /// The topic.
    #[schema(value_type = values::TopicName)]
    pub topic: Topic,
}

impl FromFields for TopicForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { topic: topic(fields, "topic")? })
    }
}

/// What a topic is about.
#[derive(ToSchema)]
pub struct DescribeForm {
    /// The topic.
    #[schema(value_type = values::TopicName)]
    pub topic: Topic,
    /// The sentence; empty to remove it.
    #[schema(value_type = values::TopicSentence, required = true)]
    pub about: Option<TopicSentence>,
}

impl FromFields for DescribeForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let about = TopicSentence::parse(fields.required("about")?).map_err(Error::from)?;
        Ok(Self { topic: topic(fields, "topic")?, about })
    }
}

fn topic(fields: &Fields, name: &'static str) -> Result<Topic, RequestError> {
    Ok(Topic::parse(name, fields.required(name)?).map_err(Error::from)?)
}
