//! Reasons and replies that moderators have at hand.

use crate::values::text::{line, line_or_nothing, lines};
use crate::values::{InputError, MAX_REASON, MAX_SAVED_REASONS, MAX_SAVED_RULE, MAX_SAVED_TITLE};
use serde::{Deserialize, Serialize};
use tidings_language::{Message, m};

/// A reason that the fields for reasons offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedReason {
    /// Its number.
    pub id: u64,
    /// The title in the list.
    pub title: String,
    /// The text.
    pub text: String,
    /// The rule of the site that it is about; may be empty.
    pub rule: String,
}

/// The reasons of a site where nobody has changed them, in its language.
static FIRST: [[&Message; 2]; 6] = [
    [m!("reason" => "Spam"), m!("This is advertising, or was posted again and again.")],
    [m!("reason" => "Off topic"), m!("This does not belong here.")],
    [m!("reason" => "Unkind"), m!("This attacks somebody. Criticise what they say, not who they are.")],
    [m!("reason" => "Broken"), m!("The link leads nowhere, or to something else than the title says.")],
    [m!("reason" => "Duplicate"), m!("This was posted before.")],
    [m!("reason" => "Harmful"), m!("This can hurt people: a threat, private data, or harmful software.")],
];

impl SavedReason {
    /// Checks a reason.
    ///
    /// # Errors
    /// When a part is missing or too long, or has control characters.
    pub fn parse(id: u64, title: &str, text: &str, rule: &str) -> Result<Self, InputError> {
        let title = line("title", title, MAX_SAVED_TITLE)?;
        let text = lines("text", text.trim(), MAX_REASON, 1)?;
        let rule = line_or_nothing("rule", rule, MAX_SAVED_RULE)?;
        Ok(Self { id, title, text, rule })
    }
}

/// A change of the reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReasonChange {
    /// One more, whose number does not matter.
    Add(SavedReason),
    /// Another in place of the one with its number.
    Replace(SavedReason),
    /// One less.
    Remove(u64),
}

/// The reasons of a site, in their order: that of their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedReasons(Vec<SavedReason>);

impl Default for SavedReasons {
    fn default() -> Self {
        let reason = |(id, [title, text]): (u64, [&'static Message; 2])| SavedReason {
            id,
            title: title.text().to_owned(),
            text: text.text().to_owned(),
            rule: String::new(),
        };
        Self((1..).zip(FIRST).map(reason).collect())
    }
}

impl SavedReasons {
    /// The reasons from their JSON, checked as if they had been typed.
    pub fn from_json(json: &str) -> Option<Self> {
        let stored: Vec<SavedReason> = serde_json::from_str(json).ok()?;
        let checked = stored
            .into_iter()
            .take(MAX_SAVED_REASONS)
            .map(|SavedReason { id, title, text, rule }| SavedReason::parse(id, &title, &text, &rule).ok());
        checked.collect::<Option<Vec<_>>>().map(Self)
    }

    /// The reasons as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// All of them.
    pub fn all(&self) -> &[SavedReason] {
        &self.0
    }

    /// The one with this text.
    pub fn with_text(&self, text: &str) -> Option<&SavedReason> {
        self.0.iter().find(|reason| reason.text == text)
    }

    /// A number that none of them has.
    pub fn next_id(&self) -> u64 {
        self.0.iter().map(|reason| reason.id).max().unwrap_or(0).saturating_add(1)
    }

    /// The same with a reason added at the place of its number, or in place of the one that has it.
    pub fn with(&self, reason: SavedReason) -> Self {
        let mut reasons = self.0.clone();
        match reasons.iter_mut().find(|other| other.id == reason.id) {
            Some(other) => *other = reason,
            None => reasons.push(reason),
        }
        reasons.sort_by_key(|reason| reason.id);
        Self(reasons)
    }

    /// The same without one.
    pub fn without(&self, id: u64) -> Self {
        Self(self.0.iter().filter(|reason| reason.id != id).cloned().collect())
    }

    /// The bytes of all texts.
    pub fn text_bytes(&self) -> usize {
        let bytes = |reason: &SavedReason| {
            size_of::<SavedReason>() + reason.title.len() + reason.text.len() + reason.rule.len()
        };
        self.0.iter().map(bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_added_changed_and_removed() {
        let first = SavedReasons::default();
        assert_eq!((first.all().len(), first.next_id()), (6, 7));
        assert_eq!(SavedReasons::from_json(&first.to_json()), Some(first.clone()));
        let new = SavedReason::parse(first.next_id(), " Politics ", "No politics here.", "Rule 3").unwrap();
        let more = first.with(new.clone());
        assert_eq!(more.with_text("No politics here."), Some(&new));
        let changed = more.with(SavedReason::parse(7, "Politics", "Not here.", "").unwrap());
        assert_eq!((changed.all().len(), changed.all()[6].text.as_str()), (7, "Not here."));
        assert_eq!(changed.without(7), first);
    }

    #[test]
    fn a_reason_has_a_title_and_a_text() {
        assert!(SavedReason::parse(1, "", "text", "").is_err());
        assert!(SavedReason::parse(1, "title", " ", "").is_err());
        assert!(SavedReason::parse(1, "two\nlines", "text", "").is_err());
        assert!(SavedReason::parse(1, "title", &"x".repeat(MAX_REASON + 1), "").is_err());
        assert_eq!(SavedReasons::from_json("[{}]"), None);
    }
}
