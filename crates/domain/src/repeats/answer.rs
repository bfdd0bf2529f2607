//! The answer of an action, as the short text that is stored for its request.

use crate::values::{
    CommentAddress, CommentId, HookId, MessageAddress, ModerationId, NewsId, OriginBanId, RuleId, TweetId,
};

/// The answer of an action. Its text is at most some hundred bytes.
pub trait KeptAnswer: Sized {
    /// The text.
    fn to_text(&self) -> String;

    /// The answer that has this text, if one has.
    fn from_text(text: &str) -> Option<Self>;
}

/// That it was done.
impl KeptAnswer for () {
    fn to_text(&self) -> String {
        String::new()
    }

    fn from_text(text: &str) -> Option<Self> {
        text.is_empty().then_some(())
    }
}

macro_rules! shown_as_text {
    ($($type:ty),*) => {
        $(impl KeptAnswer for $type {
            fn to_text(&self) -> String {
                self.to_string()
            }

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        })*
    };
}

shown_as_text!(
    bool,
    u64,
    String,
    NewsId,
    CommentId,
    CommentAddress,
    MessageAddress,
    TweetId,
    ModerationId,
    RuleId,
    OriginBanId,
    HookId
);

/// Several answers, with commas between them. The texts have no commas.
impl<A: KeptAnswer> KeptAnswer for Vec<A> {
    fn to_text(&self) -> String {
        self.iter().map(A::to_text).collect::<Vec<_>>().join(",")
    }

    fn from_text(text: &str) -> Option<Self> {
        if text.is_empty() { Some(Self::new()) } else { text.split(',').map(A::from_text).collect() }
    }
}

/// An answer that may be missing.
impl<A: KeptAnswer> KeptAnswer for Option<A> {
    fn to_text(&self) -> String {
        self.as_ref().map_or_else(|| "-".to_owned(), A::to_text)
    }

    fn from_text(text: &str) -> Option<Self> {
        if text == "-" { Some(None) } else { A::from_text(text).map(Some) }
    }
}

/// Two answers. The text of the first has no space.
impl<A: KeptAnswer, B: KeptAnswer> KeptAnswer for (A, B) {
    fn to_text(&self) -> String {
        format!("{} {}", self.0.to_text(), self.1.to_text())
    }

    fn from_text(text: &str) -> Option<Self> {
        let (first, second) = text.split_once(' ')?;
        Some((A::from_text(first)?, B::from_text(second)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        fn check<A: KeptAnswer + PartialEq + std::fmt::Debug>(answer: A, text: &str) {
            assert_eq!(answer.to_text(), text);
            assert_eq!(A::from_text(text), Some(answer));
        }
        check((), "");
        check(NewsId(7), "7");
        check((RuleId(1), ModerationId(2)), "1 2");
        check((TweetId(3), true), "3 true");
        check(None::<u64>, "-");
        check(Vec::<u64>::new(), "");
        check(vec![ModerationId(7), ModerationId(8)], "7,8");
        check(("secret".to_owned(), "otpauth://totp/a b".to_owned()), "secret otpauth://totp/a b");
    }

    #[test]
    fn another_text_is_no_answer() {
        assert_eq!(<()>::from_text("7"), None);
        assert_eq!(NewsId::from_text("x"), None);
        assert_eq!(<(NewsId, bool)>::from_text("7"), None);
    }
}
