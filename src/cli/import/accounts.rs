//! The accounts behind imported stories: their authors, and generated voters.
//! Nobody can log in to them before the operator sets a password.

use anyhow::Context;
use std::collections::{BTreeSet, HashMap};
use tidings_domain::values::{Timestamp, UserId, Username};
use tidings_domain::{Site, imports};

/// Accounts created in one batch.
const CHUNK: usize = 500;

/// Finds or creates accounts.
pub(super) struct ImportAccounts<'a> {
    site: &'a Site,
    now: Timestamp,
    known: HashMap<String, UserId>,
}

impl<'a> ImportAccounts<'a> {
    pub(super) fn new(site: &'a Site, now: Timestamp) -> Self {
        Self { site, now, known: HashMap::new() }
    }

    /// The generated voters.
    pub(super) async fn voters(&mut self, count: u64) -> anyhow::Result<Vec<UserId>> {
        let names: Vec<String> = (1..=count).map(|number| format!("voter-{number}")).collect();
        let found = self.find("voter", names.iter().map(String::as_str)).await?;
        Ok(names.iter().filter_map(|name| found.get(name).copied()).collect())
    }

    /// The accounts of one kind (voter or author), by their names in the file. An author with the name of a generated voter is a different
    /// account.
    pub(super) async fn find(
        &mut self,
        kind: &str,
        names: impl Iterator<Item = &str>,
    ) -> anyhow::Result<HashMap<String, UserId>> {
        let wanted: BTreeSet<&str> = names.collect();
        let source = |name: &str| format!("{kind}/{name}");
        let missing: Vec<&str> =
            wanted.iter().copied().filter(|name| !self.known.contains_key(&source(name))).collect();
        for chunk in missing.chunks(CHUNK) {
            let names = chunk
                .iter()
                .map(|name| Ok((source(name), username(name)?)))
                .collect::<anyhow::Result<Vec<(String, Username)>>>()?;
            self.known.extend(imports::import_accounts(self.site, self.now, &names).await?);
        }
        Ok(wanted
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), self.known.get(&source(name)).copied()?)))
            .collect())
    }
}

/// A username for an author: the same if it is valid, otherwise with the invalid
/// characters replaced.
pub(super) fn username(author: &str) -> anyhow::Result<Username> {
    let mut name: String = author
        .chars()
        .map(
            |character| {
                if character.is_ascii_alphanumeric() || "_-".contains(character) { character } else { '-' }
            },
        )
        .collect();
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        name.insert(0, 'u');
    }
    if name.len() < 2 {
        name.push('-');
    }
    name.truncate(28);
    Username::parse(&name).with_context(|| format!("author {author:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_keep_their_names_where_the_rules_allow() {
        for (author, expected) in [
            ("ne0phyte", "ne0phyte"),
            ("_pius", "u_pius"),
            ("0xmohit", "u0xmohit"),
            ("x", "x-"),
            ("mary.jane", "mary-jane"),
            ("é", "u-"),
        ] {
            assert_eq!(username(author).unwrap().as_str(), expected);
        }
    }
}
