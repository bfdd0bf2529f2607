//! The resources with an address below `/v0/`.

use super::items::item_line;
use super::users::person_line;
use crate::App;
use crate::error::{RequestError, Result};
use serde::Serialize;
use tidings_domain::imports::lines::WrittenLine;
use tidings_domain::numbered::lists::{ItemList, list};
use tidings_domain::numbered::{self, Updates};
use tidings_domain::values::ItemNumber;

/// How all addresses end.
const ENDING: &str = ".json";

/// The resource that an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// A story or a comment.
    Item(ItemNumber),
    /// A person.
    User(String),
    /// The highest number of an item.
    MaxItem,
    /// A list of stories.
    List(ItemList),
    /// The latest changes.
    Updates,
    /// Nothing.
    Nothing,
}

/// The last part of an address without its ending. Only JSON is there.
fn name_of(file: &str) -> Result<&str> {
    file.strip_suffix(ENDING).filter(|name| !name.is_empty()).ok_or(RequestError::NotFound)
}

impl Resource {
    /// The item in a file. A name that is not a number, or not written in the usual way, names nothing.
    pub(super) fn of_item(file: &str) -> Result<Self> {
        let name = name_of(file)?;
        let number: Option<ItemNumber> = name.parse().ok();
        Ok(number.filter(|number| number.to_string() == name).map_or(Self::Nothing, Self::Item))
    }

    /// The person in a file.
    pub(super) fn of_user(file: &str) -> Result<Self> {
        name_of(file).map(|name| Self::User(name.to_owned()))
    }

    /// Something else in a file.
    pub(super) fn of_file(file: &str) -> Result<Self> {
        Ok(match name_of(file)? {
            "maxitem" => Self::MaxItem,
            "updates" => Self::Updates,
            name => {
                let list = name.strip_suffix("stories").and_then(|list| list.parse().ok());
                list.map_or(Self::Nothing, Self::List)
            }
        })
    }

    /// Reads its current content. Rounds: at most 4; a list is in memory, or takes 2.
    pub(super) async fn read(&self, app: &App) -> Result<Content> {
        let mut visit = app.visitor();
        let visit = &mut visit;
        Ok(match self {
            Self::Item(number) => Content::Item(numbered::item(visit, *number).await?.map(item_line)),
            Self::User(name) => Content::User(numbered::person(visit, name).await?.map(person_line)),
            Self::MaxItem => Content::MaxItem(numbered::highest(visit).await?),
            Self::List(name) => Content::List(list(visit, *name).await?.to_vec()),
            Self::Updates => Content::Updates(numbered::updates(visit).await?),
            Self::Nothing => Content::Nothing(()),
        })
    }
}

/// The content of an answer.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content {
    Item(Option<WrittenLine>),
    User(Option<WrittenLine>),
    MaxItem(u64),
    List(Vec<ItemNumber>),
    Updates(Updates),
    /// `null`.
    Nothing(()),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_what_it_says() {
        assert_eq!(Resource::of_item("17.json").unwrap(), Resource::Item(ItemNumber(17)));
        for name in ["017", "0", "-1", "x", "1.5", "99999999999999999999"] {
            assert_eq!(Resource::of_item(&format!("{name}.json")).unwrap(), Resource::Nothing, "{name}");
        }
        assert_eq!(Resource::of_file("topstories.json").unwrap(), Resource::List(ItemList::Top));
        assert_eq!(Resource::of_file("maxitem.json").unwrap(), Resource::MaxItem);
        assert_eq!(Resource::of_file("stories.json").unwrap(), Resource::Nothing);
        for file in ["17", ".json", "topstories", "topstories.xml"] {
            assert!(matches!(Resource::of_item(file), Err(RequestError::NotFound)), "{file}");
            assert!(matches!(Resource::of_file(file), Err(RequestError::NotFound)), "{file}");
        }
    }
}
