//! Topics: following, muting, describing, renaming and merging.

use crate::error::Result;
use crate::request::Fields;
#[cfg(test)]
use crate::request::description::values;
use crate::request::form::{form, valid};
use tidings_domain::Error;
use tidings_domain::values::{Topic, TopicSentence};

form! {
    /// A new name for a topic.
    pub struct RenameForm {
        /// The topic.
        pub topic: Topic = topic, values::TopicName;
        /// The new name.
        pub name: Topic = topic, values::TopicName;
    }

    /// A topic to merge into another.
    pub struct MergeForm {
        /// The topic to remove.
        pub topic: Topic = topic, values::TopicName;
        /// The topic that receives its articles.
        pub into: Topic = topic, values::TopicName;
    }

    /// A topic.
    pub struct TopicForm {
        /// The topic.
        pub topic: Topic = topic, values::TopicName;
    }

    /// The description of a topic.
    pub struct DescribeForm {
        /// The sentence; empty to remove it.
        pub about: Option<TopicSentence> = valid(TopicSentence::parse), values::TopicSentence, required = true;
        /// The topic.
        pub topic: Topic = topic, values::TopicName;
    }
}

fn topic(fields: &Fields, name: &'static str) -> Result<Topic> {
    Ok(Topic::parse(name, fields.required(name)?).map_err(Error::from)?)
}
