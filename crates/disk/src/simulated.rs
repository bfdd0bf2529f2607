//! A disk in memory whose power can be cut.
//!
//! A cut keeps what was flushed. Of the rest, it keeps any sectors, in any order, and may tear the
//! last one. Changes of a file's length, creations, renames and removals may be lost as well, each
//! on its own. The sectors of one cut have 512 or 4,096 bytes.

use crate::{DiskFile, Folder};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Debug, Formatter};
use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::Arc;

/// The content of a disk: what is durable, and what was written since.
#[derive(Debug, Clone, Default)]
pub struct Content {
    names: BTreeMap<OsString, usize>,
    durable_names: BTreeMap<OsString, usize>,
    name_changes: Vec<NameChange>,
    files: Vec<FileContent>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Create(OsString, usize),
    Rename(OsString, OsString, usize),
    Remove(OsString),
}

#[derive(Debug, Clone, Default)]
struct FileContent {
    durable: Vec<u8>,
    now: Vec<u8>,
    /// The changes since the last flush.
    changes: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

/// The faults of a simulated disk.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Whether every write and every growth fails because there is no room.
    pub full: bool,
    /// The file whose flushes fail.
    pub failing_flush: Option<OsString>,
    /// The file whose flushes do nothing and succeed. A test of the tests: they must notice it.
    pub ignored_flush: Option<OsString>,
    /// Whether flushes of the folder do nothing and succeed.
    pub ignored_folder_flush: bool,
    /// A file and the place in it that cannot be read.
    pub unreadable: Option<(OsString, Range<u64>)>,
    /// Whether the next write panics.
    pub panics: bool,
}

/// Called before each change of the disk, with the disk's content.
pub type Watcher = Box<dyn FnMut(&Content) + Send>;

#[derive(Default)]
struct State {
    content: Content,
    faults: Faults,
    flushes: usize,
    watcher: Option<Watcher>,
}

/// A disk in memory. Clones share it.
#[derive(Clone, Default)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

impl Debug for SimulatedDisk {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a simulated disk")
    }
}

/// Pseudo-random bits from a seed, so that a failure can be reproduced.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that always fall the same way after this seed.
    pub fn new(seed: u64) -> Self {
        // The generator never leaves zero, and takes a while to forget a small seed.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// A number below an end that is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.bits()).unwrap_or_default() % end.max(1)
    }

    fn hits(&mut self, quarters: usize) -> bool {
        self.below(4) < quarters
    }
}

impl Content {
    /// The content after a power cut at this moment. All of it is durable.
    pub fn after_cut(&self, dice: &mut Dice) -> Self {
        let sector = if dice.hits(2) { 512 } else { 4096 };
        let mut names = self.durable_names.clone();
        let kept = dice.below(5);
        for change in &self.name_changes {
            if dice.hits(kept) {
                change.apply(&mut names);
            }
        }
        let files = self.files.iter().map(|file| {
            // From none to all of the changes of this file, so that all kinds of loss are met.
            let kept = dice.below(5);
            FileContent::flushed(file.after_cut(sector, kept, dice))
        });
        let files = files.collect();
        Self { durable_names: names.clone(), names, name_changes: Vec::new(), files }
    }

    /// The bytes of a file, if there is one of this name.
    pub fn bytes(&self, name: &OsStr) -> Option<&[u8]> {
        self.names.get(name).and_then(|file| self.files.get(*file)).map(|file| file.now.as_slice())
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<OsString, usize>) {
        match self {
            Self::Create(name, file) => {
                names.insert(name.clone(), *file);
            }
            Self::Rename(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), *file);
            }
            Self::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

impl FileContent {
    fn flushed(bytes: Vec<u8>) -> Self {
        Self { durable: bytes.clone(), now: bytes, changes: Vec::new() }
    }

    fn apply(&mut self, change: Change) {
        match &change {
            Change::Write(offset, bytes) => overwrite(&mut self.now, *offset, bytes),
            Change::Length(length) => self.now.resize(*length, 0),
        }
        self.changes.push(change);
    }

    fn after_cut(&self, sector: usize, kept: usize, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        let mut parts: Vec<(usize, &[u8])> = Vec::new();
        for change in &self.changes {
            match change {
                Change::Write(offset, data) => {
                    let sectors = sectors_of(*offset, data, sector);
                    parts = sectors.into_iter().filter(|_| dice.hits(kept)).collect();
                    for (offset, part) in &parts {
                        overwrite(&mut bytes, *offset, part);
                    }
                }
                Change::Length(length) if dice.hits(kept) => bytes.resize(*length, 0),
                Change::Length(_) => {}
            }
        }
        // The last sector that was being written may be torn.
        if let Some((offset, part)) = parts.last()
            && dice.hits(2)
        {
            let torn = dice.below(part.len());
            for (place, byte) in bytes.iter_mut().enumerate().skip(offset + torn).take(part.len() - torn) {
                *byte = self.durable.get(place).copied().unwrap_or_default();
            }
        }
        bytes
    }
}

/// Overwrites the bytes within the file. Data beyond its end is lost, like the change of the length that
/// would have made room for it.
fn overwrite(bytes: &mut [u8], offset: usize, data: &[u8]) {
    let end = bytes.len().min(offset + data.len());
    if let Some(place) = bytes.get_mut(offset..end) {
        place.copy_from_slice(&data[..end - offset]);
    }
}

/// The parts of a write in each sector of the disk.
fn sectors_of(offset: usize, data: &[u8], sector: usize) -> Vec<(usize, &[u8])> {
    let mut parts = Vec::new();
    let (mut offset, mut rest) = (offset, data);
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.len().min(sector - offset % sector));
        parts.push((offset, part));
        offset += part.len();
        rest = after;
    }
    parts
}

impl SimulatedDisk {
    /// A disk with this content.
    pub fn of(content: Content) -> Self {
        Self(Arc::new(Mutex::new(State { content, ..State::default() })))
    }

    /// Calls a function before each change of the disk. The disk waits for it.
    pub fn watch(&self, watcher: Option<Watcher>) {
        self.0.lock().watcher = watcher;
    }

    /// Changes what is wrong with the disk.
    pub fn set_faults(&self, faults: Faults) {
        self.0.lock().faults = faults;
    }

    /// A copy of the content.
    pub fn content(&self) -> Content {
        self.0.lock().content.clone()
    }

    /// The number of flushes of files so far.
    pub fn flushes(&self) -> usize {
        self.0.lock().flushes
    }

    /// The state, before a change.
    fn changing(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.lock();
        let State { content, watcher, .. } = &mut *state;
        if let Some(watcher) = watcher {
            watcher(content);
        }
        state
    }

    fn file(&self, file: usize) -> Box<dyn DiskFile> {
        Box::new(SimulatedFile { disk: self.clone(), file })
    }

    fn rename_or_remove(&self, change: impl FnOnce(usize) -> NameChange, name: &OsStr) -> Result<()> {
        let mut state = self.changing();
        let file = *state.content.names.get(name).ok_or(ErrorKind::NotFound)?;
        state.content.change_names(change(file));
        Ok(())
    }
}

impl Content {
    fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.name_changes.push(change);
    }
}

impl Folder for SimulatedDisk {
    fn open(&self, name: &OsStr) -> Result<Box<dyn DiskFile>> {
        let file = *self.0.lock().content.names.get(name).ok_or(ErrorKind::NotFound)?;
        Ok(self.file(file))
    }

    fn create(&self, name: &OsStr) -> Result<Box<dyn DiskFile>> {
        let mut state = self.changing();
        let content = &mut state.content;
        let file = match content.names.get(name) {
            Some(file) => {
                let file = *file;
                content.files[file].apply(Change::Length(0));
                file
            }
            None => {
                content.files.push(FileContent::default());
                let file = content.files.len() - 1;
                content.change_names(NameChange::Create(name.to_owned(), file));
                file
            }
        };
        drop(state);
        Ok(self.file(file))
    }

    fn exists(&self, name: &OsStr) -> bool {
        self.0.lock().content.names.contains_key(name)
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.rename_or_remove(|file| NameChange::Rename(from.to_owned(), to.to_owned(), file), from)
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        self.rename_or_remove(|_| NameChange::Remove(name.to_owned()), name)
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.changing();
        if state.faults.ignored_folder_flush {
            return Ok(());
        }
        let content = &mut state.content;
        content.durable_names = content.names.clone();
        content.name_changes.clear();
        Ok(())
    }
}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    file: usize,
}

impl SimulatedFile {
    fn change(&self, change: Change) -> Result<()> {
        let mut state = self.disk.changing();
        let dies = std::mem::take(&mut state.faults.panics);
        assert!(!dies, "the disk panics, as the test wants it");
        let length = state.content.files[self.file].now.len();
        let end = match &change {
            Change::Write(offset, bytes) => offset + bytes.len(),
            Change::Length(length) => *length,
        };
        let writes = matches!(change, Change::Write(..));
        if state.faults.full && (writes || end > length) {
            return Err(Error::new(ErrorKind::StorageFull, "the disk is full, as the test wants it"));
        }
        let file = &mut state.content.files[self.file];
        if writes && end > length {
            file.apply(Change::Length(end));
        }
        file.apply(change);
        Ok(())
    }
}

impl DiskFile for SimulatedFile {
    fn length(&self) -> Result<u64> {
        Ok(u64::try_from(self.disk.0.lock().content.files[self.file].now.len()).unwrap_or(u64::MAX))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let state = self.disk.0.lock();
        if let Some((name, bad)) = &state.faults.unreadable {
            let end = offset + u64::try_from(buffer.len()).unwrap_or(u64::MAX);
            if state.content.names.get(name) == Some(&self.file) && offset < bad.end && end > bad.start {
                return Err(Error::other("the disk cannot read this, as the test wants it"));
            }
        }
        let offset = place(offset)?;
        let bytes = state.content.files[self.file].now.get(offset..offset + buffer.len());
        buffer.copy_from_slice(bytes.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.change(Change::Write(place(offset)?, bytes.to_vec()))
    }

    fn set_length(&self, length: u64) -> Result<()> {
        self.change(Change::Length(place(length)?))
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.disk.changing();
        let name = state.content.names.iter().find(|(_, file)| **file == self.file);
        let name = name.map(|(name, _)| name.clone());
        if name.is_some() && state.faults.failing_flush == name {
            return Err(Error::other("the flush fails, as the test wants it"));
        }
        state.flushes += 1;
        if name.is_some() && state.faults.ignored_flush == name {
            return Ok(());
        }
        let file = &mut state.content.files[self.file];
        // Only what has changed is copied: a flush of a few sectors must stay cheap.
        file.durable.resize(file.now.len(), 0);
        for change in std::mem::take(&mut file.changes) {
            match change {
                Change::Write(offset, bytes) => {
                    let end = (offset + bytes.len()).min(file.now.len());
                    if let (Some(durable), Some(now)) =
                        (file.durable.get_mut(offset..end), file.now.get(offset..end))
                    {
                        durable.copy_from_slice(now);
                    }
                }
                Change::Length(length) => {
                    let start = length.min(file.now.len());
                    file.durable[start..].copy_from_slice(&file.now[start..]);
                }
            }
        }
        Ok(())
    }
}

fn place(offset: u64) -> Result<usize> {
    usize::try_from(offset).map_err(|_| ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const NAME: &str = "file";

    /// All contents of the file that a thousand cuts leave; `None` is no file.
    fn left(disk: &SimulatedDisk) -> BTreeSet<Option<Vec<u8>>> {
        let content = disk.content();
        let cut = |seed| content.after_cut(&mut Dice::new(seed)).bytes(OsStr::new(NAME)).map(<[u8]>::to_vec);
        (0..1000).map(cut).collect()
    }

    fn written(bytes: &[u8]) -> (SimulatedDisk, Box<dyn DiskFile>) {
        let disk = SimulatedDisk::default();
        let file = disk.create(OsStr::new(NAME)).unwrap();
        file.write_at(0, bytes).unwrap();
        file.sync().unwrap();
        (disk, file)
    }

    #[test]
    fn a_name_is_durable_after_a_flush_of_the_folder() {
        let (disk, _) = written(b"text");
        assert_eq!(left(&disk), [None, Some(b"text".to_vec())].into());
        disk.sync().unwrap();
        assert_eq!(left(&disk), [Some(b"text".to_vec())].into());
        disk.rename(OsStr::new(NAME), OsStr::new("other")).unwrap();
        assert_eq!(left(&disk), [None, Some(b"text".to_vec())].into());
        disk.rename(OsStr::new("other"), OsStr::new(NAME)).unwrap();
        disk.remove(OsStr::new(NAME)).unwrap();
        disk.sync().unwrap();
        assert_eq!(left(&disk), [None].into());
    }

    #[test]
    fn sectors_are_lost_in_any_order_and_the_last_is_torn() {
        let (disk, file) = written(&[0; 8192]);
        disk.sync().unwrap();
        file.write_at(100, &[1; 8000]).unwrap();
        let left = left(&disk);
        let at = |places: [usize; 3]| {
            left.iter().flatten().map(|bytes| places.map(|place| bytes[place])).collect::<BTreeSet<_>>()
        };
        // The first and the last sector of either size, in every combination.
        let all: BTreeSet<_> =
            [0, 1].into_iter().flat_map(|first| [0, 1].map(|last| [first, 0, last])).collect();
        assert_eq!(at([200, 50, 8050]), all);
        assert!(left.iter().flatten().any(|bytes| bytes[7700] == 1 && bytes[8050] == 0), "none is torn");
        file.sync().unwrap();
        assert_eq!(super::tests::left(&disk).len(), 1);
    }

    #[test]
    fn a_change_of_length_may_be_lost_with_what_was_written_behind_it() {
        let (disk, file) = written(b"one");
        disk.sync().unwrap();
        file.write_at(3, b"two").unwrap();
        let found = left(&disk);
        for expected in ["one", "one\0\0\0", "onetwo"] {
            assert!(found.contains(&Some(expected.as_bytes().to_vec())), "{expected:?}");
        }
        file.set_length(2).unwrap();
        file.sync().unwrap();
        assert_eq!(left(&disk), [Some(b"on".to_vec())].into());
    }

    #[test]
    fn faults_do_what_they_say() {
        let (disk, file) = written(b"text");
        disk.sync().unwrap();
        disk.set_faults(Faults { full: true, ..Faults::default() });
        assert_eq!(file.write_at(0, b"lost").unwrap_err().kind(), ErrorKind::StorageFull);
        disk.set_faults(Faults { ignored_flush: Some(NAME.into()), ..Faults::default() });
        file.write_at(0, b"lost").unwrap();
        file.sync().unwrap();
        assert!(left(&disk).len() > 1);
        disk.set_faults(Faults { failing_flush: Some(NAME.into()), ..Faults::default() });
        assert!(file.sync().is_err());
        disk.set_faults(Faults::default());
        file.sync().unwrap();
        assert_eq!(left(&disk), [Some(b"lost".to_vec())].into());
    }
}
