//! Why a visitor must log in. It is one of a fixed list, because a page that shows what its
//! address says could be made to say anything.

use strum::{EnumIter, EnumString, IntoStaticStr};

/// The action that a visitor wanted to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LoginReason {
    /// Vote on a story, a comment or a site.
    Vote,
    /// Submit a story.
    Submit,
    /// Comment or reply.
    Comment,
    /// Follow a person or a topic.
    Follow,
    /// Save a story.
    Save,
    /// Hide a story.
    Hide,
    /// Write a tweet.
    Tweet,
    /// Flag something.
    Flag,
}

impl LoginReason {
    /// The reason as a parameter.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The reason in a sentence, after "Log in to".
    pub const fn wish(self) -> &'static str {
        match self {
            Self::Vote => "vote",
            Self::Submit => "submit a story",
            Self::Comment => "comment",
            Self::Follow => "follow people and topics",
            Self::Save => "save stories",
            Self::Hide => "hide stories",
            Self::Tweet => "write posts",
            Self::Flag => "flag something for moderators",
        }
    }

    /// The reason of somebody who asks for an address that needs a login.
    pub fn of_path(path: &str) -> Option<Self> {
        let family = path.split('/').nth(1).unwrap_or_default();
        Some(match family {
            "vote" | "votenews" | "votecomment" | "votesite" => Self::Vote,
            "submit" => Self::Submit,
            "reply" | "postcomment" => Self::Comment,
            "follow" | "unfollow" | "followtopic" | "unfollowtopic" => Self::Follow,
            "save" | "unsave" => Self::Save,
            "hide" | "unhide" => Self::Hide,
            "flag" | "unflag" => Self::Flag,
            "tweet" if path == "/tweet" => Self::Tweet,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    #[test]
    fn reasons_are_known_by_their_names_only() {
        for reason in LoginReason::iter() {
            assert_eq!(reason.name().parse(), Ok(reason));
        }
        for other in ["", "Vote", "win a prize", "<b>"] {
            assert!(other.parse::<LoginReason>().is_err());
        }
    }

    #[test]
    fn an_address_says_what_somebody_wants() {
        for (path, reason) in [
            ("/submit", Some(LoginReason::Submit)),
            ("/reply/1/2", Some(LoginReason::Comment)),
            ("/votenews", Some(LoginReason::Vote)),
            ("/vote/story/7", Some(LoginReason::Vote)),
            ("/tweet", Some(LoginReason::Tweet)),
            ("/flag/story/7", Some(LoginReason::Flag)),
            ("/tweet/1", None),
            ("/saved/0", None),
            ("/", None),
        ] {
            assert_eq!(LoginReason::of_path(path), reason, "{path}");
        }
    }
}
