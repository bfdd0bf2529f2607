//! Announcements of administrators: a line above every page, and stories above all others.

use crate::values::identity::parse_address;
use crate::values::text::line_or_nothing;
use crate::values::{IdentityError, MAX_ANNOUNCEMENT, MAX_PINNED, NewsId, Timestamp};
use serde::{Deserialize, Serialize};

/// An announcement, and the stories that are pinned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Announcement {
    /// When it was made, or the second after the last one. Members who have dismissed it have noted this time.
    pub made: Timestamp,
    text: String,
    url: String,
    /// When the line goes; `None` is never.
    pub until: Option<Timestamp>,
    pinned: Vec<NewsId>,
    /// When the stories are no longer pinned; `None` is never.
    pub pinned_until: Option<Timestamp>,
}

/// The stored form: numbers are those of stories, and seconds of Unix time.
#[derive(Deserialize)]
struct StoredAnnouncement {
    made: u64,
    text: String,
    url: String,
    until: Option<u64>,
    pinned: Vec<u64>,
    pinned_until: Option<u64>,
}

impl Announcement {
    /// Checks an announcement. Without a text there is no line.
    ///
    /// # Errors
    /// When the text is too long or has more than a line, when the address is none, or when there are too many
    /// stories.
    pub fn parse(
        made: Timestamp,
        (text, url, until): (&str, &str, Option<Timestamp>),
        (pinned, pinned_until): (&[NewsId], Option<Timestamp>),
    ) -> Result<Self, IdentityError> {
        let text = line_or_nothing("text", text, MAX_ANNOUNCEMENT)?;
        let url = url.trim();
        let url = if url.is_empty() { String::new() } else { parse_address(url)? };
        if pinned.len() > MAX_PINNED {
            return Err(IdentityError::TooManyPinned);
        }
        Ok(Self { made, text, url, until, pinned: pinned.to_vec(), pinned_until })
    }

    /// An announcement from its JSON, checked as if it had been typed.
    pub fn from_json(json: &str) -> Option<Self> {
        let StoredAnnouncement { made, text, url, until, pinned, pinned_until } =
            serde_json::from_str(json).ok()?;
        let pinned: Vec<NewsId> = pinned.into_iter().map(NewsId).collect();
        let line = (&*text, &*url, until.map(Timestamp));
        Self::parse(Timestamp(made), line, (&pinned, pinned_until.map(Timestamp))).ok()
    }

    /// The announcement as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The text of the line; empty without one.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the line leads; may be empty.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether the line is shown.
    pub fn is_shown(&self, now: Timestamp) -> bool {
        !self.text.is_empty() && self.until.is_none_or(|until| until > now)
    }

    /// All stories that were pinned, also if that has ended.
    pub fn stories(&self) -> &[NewsId] {
        &self.pinned
    }

    /// The stories that are pinned.
    pub fn pinned(&self, now: Timestamp) -> &[NewsId] {
        let is_over = self.pinned_until.is_some_and(|until| until <= now);
        if is_over { &[] } else { &self.pinned }
    }

    /// The same line with other stories that are pinned.
    pub fn with_pinned(self, pinned: Vec<NewsId>, pinned_until: Option<Timestamp>) -> Self {
        Self { pinned, pinned_until, ..self }
    }

    /// The bytes of its texts.
    pub fn text_bytes(&self) -> usize {
        self.text.len() + self.url.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, url: &str) -> Result<Announcement, IdentityError> {
        Announcement::parse(Timestamp(1), (text, url, Some(Timestamp(9))), (&[NewsId(4)], None))
    }

    #[test]
    fn an_announcement_has_an_end() {
        let announcement = parse(" We move on Sunday. ", "/news/4").unwrap();
        assert_eq!((announcement.text(), announcement.url()), ("We move on Sunday.", "/news/4"));
        assert!(announcement.is_shown(Timestamp(8)) && !announcement.is_shown(Timestamp(9)));
        assert_eq!(announcement.pinned(Timestamp(9)), [NewsId(4)]);
        assert_eq!(Announcement::from_json(&announcement.to_json()), Some(announcement));
        assert!(!parse("", "").unwrap().is_shown(Timestamp(1)));
    }

    #[test]
    fn what_is_no_line_and_what_is_no_address_is_refused() {
        assert!(parse("two\nlines", "").is_err());
        assert!(parse(&"x".repeat(MAX_ANNOUNCEMENT + 1), "").is_err());
        assert_eq!(parse("x", "javascript:alert(1)"), Err(IdentityError::LinkAddress));
        let three = [NewsId(1), NewsId(2), NewsId(3)];
        let many = Announcement::parse(Timestamp(1), ("", "", None), (&three, None));
        assert_eq!(many, Err(IdentityError::TooManyPinned));
        assert_eq!(Announcement::from_json("{}"), None);
    }
}
