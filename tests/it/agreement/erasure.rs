//! Nothing is left of somebody who has left with "erase".

use super::model::{Person, Place, Word, text_of, words_in};
use super::steps::{COMMON, Walk};
use super::views::{Faults, note};
use std::collections::BTreeSet;
use std::path::Path;
use tidings::backup::reader::BackupReader;
use tidings::backup::take;
use tidings::compaction::compact;

impl Walk {
    /// The words that somebody has written in their own name.
    fn words_of(&self, person: Person) -> BTreeSet<Word> {
        let sources = self.model.sources.iter().enumerate();
        let is_theirs = |place: Place| !matches!(place, Place::Reason | Place::Staff);
        sources
            .filter(|(_, source)| source.by == person && is_theirs(source.place))
            .map(|(word, _)| word)
            .collect()
    }

    /// Notes where words of somebody still are.
    fn note_words(&self, faults: &mut Faults, (place, content): (&str, &[u8]), words: &BTreeSet<Word>) {
        for word in words_in(content).into_iter().filter(|word| words.contains(word)) {
            let what = format!("erased: {place} has {}", self.model.describe(word));
            note(faults, what, || format!("{} in {}", text_of(word), String::from_utf8_lossy(content)));
        }
    }

    /// Lets somebody leave with "erase", and looks everywhere for their words.
    pub async fn leave_and_look(&mut self, person: Person, index: &Path, faults: &mut Faults) {
        let mut words = self.words_of(person);
        if self.leave(person, true).await.is_none() {
            note(faults, "somebody cannot leave".to_owned(), || self.model.people[person].name.clone());
            return;
        }
        self.server.finish_jobs().await;
        let mut left = BTreeSet::new();
        for (key, value) in self.server.dump().await {
            let kind: String =
                key.chars().map(|letter| if letter.is_ascii_digit() { 'N' } else { letter }).collect();
            let place = kind.split("writer").next().unwrap_or_default().to_owned();
            let content = format!("{key} {value:?}");
            self.note_words(faults, (&place, content.as_bytes()), &words);
            left.extend(words_in(content.as_bytes()));
        }
        // Words that are left in the store are elsewhere, too.
        words.retain(|word| !left.contains(word));
        let folder = tempfile::tempdir().unwrap();
        let backup = folder.path().join("backup");
        take::to_file(self.server.store(), backup.clone(), Box::new(|_, _| {})).await.unwrap();
        let mut reader = BackupReader::open(std::fs::File::open(&backup).unwrap()).unwrap();
        while let Some(record) = reader.next_part().unwrap() {
            self.note_words(faults, ("a new backup", format!("{record:?}").as_bytes()), &words);
        }
        let exported = crate::filtered::exported(&self.server).await;
        self.note_words(faults, ("the export of the site", exported.as_bytes()), &words);
        self.follow_index().await;
        let searching = self.server.app.search.get();
        compact(self.server.store(), searching).await.unwrap();
        look_into(index, &mut |path, content| {
            let kind = path.extension().map_or("none".into(), |kind| kind.to_string_lossy());
            self.note_words(faults, (&format!("a file of the index ({kind})"), content), &words);
        });
        let visitor = self.server.visitor();
        for kind in ["stories", "comments", "posts", "people"] {
            let answer = visitor.get(&format!("/api/search?q={COMMON}&kind={kind}")).await;
            self.note_words(faults, ("search", &answer.body), &words);
        }
    }
}

/// Reads all files of a folder.
fn look_into(folder: &Path, look: &mut impl FnMut(&Path, &[u8])) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            look_into(&path, look);
        } else if let Ok(content) = std::fs::read(&path) {
            look(&path, &content);
        }
    }
}
