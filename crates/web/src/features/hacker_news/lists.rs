//! The names of the lists, and what has changed last.

use serde::Serialize;
use tidings_domain::numbered::Updates;
use tidings_domain::numbered::lists::ItemList;
use tidings_domain::values::ids::ItemNumber;

/// The list with a name.
pub(super) fn list_named(name: &str) -> Option<ItemList> {
    Some(match name {
        "topstories" => ItemList::Top,
        "newstories" => ItemList::New,
        "beststories" => ItemList::Best,
        "askstories" => ItemList::Ask,
        "showstories" => ItemList::Show,
        "jobstories" => ItemList::Jobs,
        _ => return None,
    })
}

/// The latest changes.
#[derive(Debug, Serialize)]
pub(super) struct UpdatesEntry {
    items: Vec<ItemNumber>,
    profiles: Vec<String>,
}

impl From<Updates> for UpdatesEntry {
    fn from(Updates { items, people }: Updates) -> Self {
        Self { items, profiles: people }
    }
}
