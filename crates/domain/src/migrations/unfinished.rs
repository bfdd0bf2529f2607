//! The mark of a store that a command fills, until the command has finished.
//!
//! A restore, a copy, and an import that begins a new site write many batches. The mark is there before their first
//! key and goes with the last. No other command and no server uses a store that has it; the same command, begun
//! again, does. A new store file has the mark from its first moment ([`Filling::first`]).

use crate::migrations::{self, StoreState};
use crate::site::apply;
use crate::values::Timestamp;
use crate::{Error, Result, keys};
use std::fmt::{self, Display, Formatter};
use strum::{EnumString, IntoStaticStr};
use tidings_keyspace::{Batch, Store};

/// A way to fill a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum FilledBy {
    /// `tidings restore` of the backup with this checksum.
    Restore,
    /// `tidings copy` of the store with this address.
    Copy,
    /// The same into a store that had something: `tidings copy --overwrite`.
    Overwrite,
    /// `tidings import` of this kind and file, for a new site.
    Import,
}

/// The filling of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filling {
    /// The command.
    pub by: FilledBy,
    /// When it began; `None` if it is not known.
    pub since: Option<Timestamp>,
    /// With what.
    pub of: String,
}

/// The state of a store that a command is about to fill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It was empty, and has the mark now.
    Anew,
    /// The same command has begun to fill it before, in this way.
    Again(Filling),
    /// It has so many keys, and no mark.
    Filled(u64),
    /// Another command has begun to fill it.
    Other(Filling),
}

impl Filling {
    /// A filling that begins now.
    pub fn begun(by: FilledBy, of: String, now: Timestamp) -> Self {
        Self { by, since: Some(now), of }
    }

    /// Reads the mark. Earlier versions wrote the checksum of a backup alone.
    pub fn parse(mark: &str) -> Self {
        let read = || {
            let mut words = mark.splitn(3, ' ');
            let (by, since, of) = (words.next()?, words.next()?, words.next()?);
            Some(Self {
                by: by.parse().ok()?,
                since: Some(Timestamp(since.parse().ok()?)),
                of: of.to_owned(),
            })
        };
        read().unwrap_or_else(|| Self { by: FilledBy::Restore, since: None, of: mark.to_owned() })
    }

    /// The first key of a new store file, and its text.
    pub fn first(&self) -> (String, String) {
        (keys::UNFINISHED.to_owned(), self.mark())
    }

    fn mark(&self) -> String {
        let since = self.since.map_or(0, |since| since.0);
        format!("{} {since} {}", <&str>::from(self.by), self.of)
    }

    /// Whether the same command goes on with it.
    fn is_as(&self, other: &Self) -> bool {
        let is_copy = |by| matches!(by, FilledBy::Copy | FilledBy::Overwrite);
        self.of == other.of && (self.by == other.by || is_copy(self.by) && is_copy(other.by))
    }
}

impl Display for Filling {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let of = &self.of;
        let (what, command) = match self.by {
            FilledBy::Restore => ("restore into", "restore FILE` with the same file".to_owned()),
            FilledBy::Copy => ("copy into", format!("copy {of}` with this store")),
            FilledBy::Overwrite => ("copy into", format!("copy --overwrite {of}` with this store")),
            FilledBy::Import => ("first import into", format!("import {of}`")),
        };
        write!(formatter, "a {what} the store is not finished")?;
        if let Some(since) =
            self.since.and_then(|since| jiff::Timestamp::from_second(since.0.try_into().ok()?).ok())
        {
            write!(formatter, " (it began at {})", since.strftime("%Y-%m-%d %H:%M:%S UTC"))?;
        }
        write!(
            formatter,
            ", so the store has only a part of the data; to finish it, run `tidings {command}, or choose an \
             empty store"
        )
    }
}

/// Marks a store if it is empty. Rounds: 3.
///
/// # Errors
/// When the store fails, or another command has just begun.
pub async fn begin(store: &Store, filling: &Filling) -> Result<Begun> {
    let StoreState { keys, unfinished, .. } = migrations::state_of(store).await?;
    match unfinished {
        // A new file has it.
        Some(unfinished) if unfinished == *filling => Ok(Begun::Anew),
        Some(unfinished) if unfinished.is_as(filling) => Ok(Begun::Again(unfinished)),
        Some(unfinished) => Ok(Begun::Other(unfinished)),
        None if keys > 0 => Ok(Begun::Filled(keys)),
        None => mark(store, filling).await.map(|()| Begun::Anew),
    }
}

/// Marks a store. Rounds: 1.
///
/// # Errors
/// When the store fails, or another command has just begun.
pub async fn mark(store: &Store, filling: &Filling) -> Result<()> {
    let mut batch = Batch::new();
    batch.key_absent(keys::UNFINISHED);
    batch.set(keys::UNFINISHED, filling.mark());
    apply(store, batch).await?.or(Error::Busy).map(drop)
}

/// Takes the mark away: the store is whole. Rounds: 1.
///
/// # Errors
/// When the store fails.
pub async fn end(store: &Store) -> Result<()> {
    let mut batch = Batch::new();
    batch.delete(keys::UNFINISHED);
    apply(store, batch).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_is_filled_by_the_command_that_has_begun_it() {
        let store = Store::in_memory().await.unwrap();
        let filling = |by, of: &str, now| Filling::begun(by, of.to_owned(), Timestamp(now));
        let first = filling(FilledBy::Import, "hn some items.jsonl", 7);
        assert_eq!(begin(&store, &first).await.unwrap(), Begun::Anew);
        let again = filling(FilledBy::Import, "hn some items.jsonl", 8);
        assert_eq!(begin(&store, &again).await.unwrap(), Begun::Again(first.clone()));
        for (by, of) in [
            (FilledBy::Import, "hn other.jsonl"),
            (FilledBy::Restore, "hn some items.jsonl"),
            (FilledBy::Copy, "redis://there"),
        ] {
            assert_eq!(begin(&store, &filling(by, of, 8)).await.unwrap(), Begun::Other(first.clone()));
        }
        let said = migrations::state_of(&store).await.unwrap().demand_usable().unwrap_err().to_string();
        assert!(
            said.contains("1970-01-01 00:00:07 UTC") && said.contains("`tidings import hn some items.jsonl`")
        );
        end(&store).await.unwrap();
        assert_eq!(begin(&store, &filling(FilledBy::Copy, "a", 9)).await.unwrap(), Begun::Anew);
        let over = filling(FilledBy::Overwrite, "a", 10);
        assert!(matches!(
            begin(&store, &over).await.unwrap(),
            Begun::Again(Filling { by: FilledBy::Copy, .. })
        ));
        assert_eq!(
            Filling::parse("5e88"),
            Filling { by: FilledBy::Restore, since: None, of: "5e88".to_owned() }
        );
    }
}
