//! Lines of an export of the whole site: items and people as this API has them, each with what an import needs besides.

use super::items::ItemEntry;
use super::users::UserEntry;
use serde_json::{Map, Value, json};
use tidings_domain::exports::site::{Exported, ExportedItem};
use tidings_domain::numbered::ItemState;

/// A line, without the line break.
///
/// # Errors
/// None is expected: when something cannot be written as JSON.
pub fn line(exported: Exported) -> serde_json::Result<String> {
    let value = match exported {
        Exported::Person(person) => {
            let (about, fullname) = (person.about.clone(), person.fullname.clone());
            let typed = (!about.trim().is_empty()).then_some(about);
            let mut line = serde_json::to_value(UserEntry::of(person))?;
            add(&mut line, "source_text", typed.map(Value::from));
            add(&mut line, "fullname", (!fullname.is_empty()).then(|| fullname.into()));
            line
        }
        Exported::Item(ExportedItem { item, source_text, topics, votes }) => {
            let is_hidden = item.state == ItemState::Hidden;
            let mut line = serde_json::to_value(ItemEntry::of(item))?;
            if is_hidden && let Value::Object(members) = &mut line {
                // Nothing is in their place that could be taken for a title or a text.
                for member in ["title", "text", "by", "score", "descendants"] {
                    members.shift_remove(member);
                }
            }
            let topics: Vec<Value> = topics.iter().map(|topic| topic.as_str().into()).collect();
            add(&mut line, "source_text", source_text.map(Value::from));
            add(&mut line, "topics", (!topics.is_empty()).then(|| topics.into()));
            add(&mut line, "votes", votes.map(serde_json::to_value).transpose()?);
            line
        }
        Exported::Topic(topic, about) => json!({"type": "topic", "id": topic, "about": about}),
        Exported::Site(host, votes) => json!({"type": "site", "id": host.as_str(), "votes": votes}),
    };
    serde_json::to_string(&value)
}

fn add(line: &mut Value, member: &str, value: Option<Value>) {
    if let (Value::Object(members), Some(value)) = (line, value) {
        let members: &mut Map<String, Value> = members;
        members.insert(member.to_owned(), value);
    }
}
