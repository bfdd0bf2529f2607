//! Lines of an export of the whole site: items and people as this API has them, each with what an import needs besides.

use super::items::item_line;
use super::users::person_line;
use serde_json::json;
use tidings_domain::exports::site::{Exported, ExportedItem};
use tidings_domain::imports::lines::WrittenLine;
use tidings_domain::numbered::ItemState;

/// A line, without the line break.
///
/// # Errors
/// None is expected: when something cannot be written as JSON.
pub fn line(exported: Exported) -> serde_json::Result<String> {
    let line = match exported {
        Exported::Person(person) => {
            let (about, fullname) = (person.about.clone(), person.fullname.clone());
            WrittenLine {
                source_text: Some(about).filter(|about| !about.trim().is_empty()),
                fullname: Some(fullname).filter(|name| !name.is_empty()),
                ..person_line(person)
            }
        }
        Exported::Item(ExportedItem { item, source_text, topics, votes }) => {
            let is_hidden = item.state == ItemState::Hidden;
            let mut line = item_line(item);
            if is_hidden {
                // Nothing is in their place that could be taken for a title or a text.
                (line.title, line.text, line.by, line.score, line.descendants) = Default::default();
            }
            let topics: Vec<String> = topics.iter().map(ToString::to_string).collect();
            WrittenLine {
                source_text,
                topics: Some(topics).filter(|topics| !topics.is_empty()),
                votes,
                ..line
            }
        }
        Exported::Topic(topic, about) => {
            return serde_json::to_string(&json!({"type": "topic", "id": topic, "about": about}));
        }
        Exported::Site(host, votes) => {
            return serde_json::to_string(&json!({"type": "site", "id": host.as_str(), "votes": votes}));
        }
    };
    serde_json::to_string(&line)
}
