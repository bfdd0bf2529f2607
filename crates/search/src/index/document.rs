//! The documents of the index, with their fields.

use std::hash::{DefaultHasher, Hash, Hasher};
use strum::{EnumCount, EnumString, IntoStaticStr, VariantArray};

/// A kind of document.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumCount, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// A story.
    #[default]
    Story,
    /// A comment.
    Comment,
    /// A post to followers.
    Post,
    /// A person.
    Person,
    /// A web site.
    Site,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether its documents are found by titles.
    pub const fn has_title(self) -> bool {
        !matches!(self, Self::Comment | Self::Post)
    }

    /// Whether its documents are found by the words of their host, path and topics.
    pub const fn has_place(self) -> bool {
        !matches!(self, Self::Comment)
    }
}

/// Something that can be found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    /// A name that means something to the caller.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// The number of its author.
    pub author: Option<u64>,
    /// The number of the author of the story that it belongs to.
    pub story_author: Option<u64>,
    /// The number of the story that it is or belongs to.
    pub story: Option<u64>,
    /// Its title or name.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Its URL, in the form in which URLs are compared.
    pub url: Option<String>,
    /// The host of its URL, or of that of its story, in lower case.
    pub host: Option<String>,
    /// Its topics, or those of its story.
    pub topics: Vec<String>,
    /// When it was posted: Unix seconds.
    pub time: i64,
    /// Its votes.
    pub votes: i64,
    /// Its comments.
    pub comments: i64,
    /// The people who find it.
    pub audience: Audience,
    /// For a person: what only moderators search by.
    pub account: Option<Account>,
}

/// The people who find a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Audience {
    /// Everybody.
    #[default]
    Everybody,
    /// The person with this number, and who sees what is hidden.
    Only(u64),
    /// Only who sees what is hidden.
    Insiders,
}

/// The data by which moderators find a person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// Names of what applies to it, such as `staff` or `name:alice`. One can ask for a whole tag or its beginning.
    pub tags: Vec<String>,
    /// Its number; newer accounts have higher ones.
    pub number: i64,
    /// Whether only moderators find the person.
    pub is_hidden: bool,
    /// Their karma.
    pub karma: i64,
    /// The day of their last visit, counted from the beginning of Unix time.
    pub seen: i64,
    /// When something of this ends by itself, such as a ban: Unix seconds.
    pub ends: Option<i64>,
}

/// The numbers of a document that change often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Its votes.
    pub votes: i64,
    /// Its comments.
    pub comments: i64,
    /// The karma of a person.
    pub karma: i64,
    /// The day of a person's last visit.
    pub seen: i64,
    /// A digest of who finds it, and of a person's tags.
    pub digest: i64,
}

impl Document {
    /// Its numbers that change often.
    pub fn counts(&self) -> Counts {
        let account = self.account.as_ref();
        let mut hasher = DefaultHasher::new();
        (self.audience, account.map(|account| (&account.tags, account.is_hidden, account.ends)))
            .hash(&mut hasher);
        Counts {
            votes: self.votes,
            comments: self.comments,
            karma: account.map_or(0, |account| account.karma),
            seen: account.map_or(0, |account| account.seen),
            digest: hasher.finish().cast_signed(),
        }
    }
}
