//! Backup files and power cuts: whenever it happens, there is no file of the name or a whole one.

use super::super::disk::{Disk, NewFile};
use super::super::format::Record;
use super::super::writer::BackupWriter;
use super::{HEADER, read, records};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tidings_keyspace::Value;

const SECTOR: usize = 512;

/// A disk that loses power after a number of steps. Data that was not flushed is then lost in any
/// order: sectors of files, and names.
#[derive(Clone)]
struct FailingDisk(Arc<Mutex<State>>);

struct State {
    steps_left: u32,
    seed: u64,
    /// Whether flushing a file does nothing, to see that the test notices.
    lies: bool,
    files: Vec<FileState>,
    names: HashMap<PathBuf, usize>,
    pending_names: Vec<(PathBuf, Option<usize>)>,
}

#[derive(Default)]
struct FileState {
    flushed: Vec<u8>,
    written: Vec<u8>,
}

struct OpenFile {
    disk: FailingDisk,
    number: usize,
}

impl State {
    fn step(&mut self) -> io::Result<()> {
        self.steps_left =
            self.steps_left.checked_sub(1).ok_or_else(|| io::Error::other("the power is off"))?;
        Ok(())
    }

    fn coin(&mut self) -> bool {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.seed >> 63 == 0
    }

    /// The number of the file under a name while the power is on.
    fn now(&self, path: &Path) -> Option<usize> {
        let pending = self.pending_names.iter().rev().find(|(name, _)| name == path);
        pending.map_or_else(|| self.names.get(path).copied(), |(_, file)| *file)
    }

    /// The content of the file under a name after the power has come back.
    fn after_the_cut(&mut self, path: &Path) -> Option<Vec<u8>> {
        let mut names = self.names.clone();
        for (name, file) in std::mem::take(&mut self.pending_names) {
            if self.coin() {
                match file {
                    Some(file) => names.insert(name, file),
                    None => names.remove(&name),
                };
            }
        }
        let number = *names.get(path)?;
        let FileState { flushed, written } = std::mem::take(&mut self.files[number]);
        let mut content = flushed;
        for (index, sector) in written.chunks(SECTOR).enumerate() {
            if self.coin() {
                let start = index * SECTOR;
                // The last sector that is written may be torn.
                let length = if self.coin() { sector.len() } else { sector.len() / 2 };
                if content.len() < start + length {
                    content.resize(start + length, 0);
                }
                content[start..start + length].copy_from_slice(&sector[..length]);
            }
        }
        Some(content)
    }
}

impl Write for OpenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.0.lock().unwrap();
        state.step()?;
        // No more than that at a time, so that there are many moments for a cut.
        let bytes = &bytes[..bytes.len().min(SECTOR)];
        state.files[self.number].written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk for FailingDisk {
    type File = OpenFile;

    fn exists(&self, path: &Path) -> bool {
        self.0.lock().unwrap().now(path).is_some()
    }

    fn create(&self, path: &Path) -> io::Result<OpenFile> {
        let mut state = self.0.lock().unwrap();
        state.step()?;
        state.files.push(FileState::default());
        let number = state.files.len() - 1;
        state.pending_names.push((path.to_owned(), Some(number)));
        Ok(OpenFile { disk: self.clone(), number })
    }

    fn sync(&self, file: &OpenFile) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.step()?;
        if !state.lies {
            let written = state.files[file.number].written.clone();
            state.files[file.number].flushed = written;
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.step()?;
        let number = state.now(from).unwrap();
        state.pending_names.push((to.to_owned(), Some(number)));
        state.pending_names.push((from.to_owned(), None));
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.step()?;
        for (name, file) in std::mem::take(&mut state.pending_names) {
            match file {
                Some(file) => state.names.insert(name, file),
                None => state.names.remove(&name),
            };
        }
        Ok(())
    }

    fn remove(&self, path: &Path) {
        let mut state = self.0.lock().unwrap();
        if state.step().is_ok() {
            state.pending_names.push((path.to_owned(), None));
        }
    }
}

/// A key that does not compress, so that the file has many sectors.
fn noise() -> Record {
    let mut seed = 1_u64;
    let mut character = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + u8::try_from((seed >> 40) % 90).unwrap())
    };
    let text = (0..20_000).map(|_| character()).collect();
    Record { expires_at_ms: 0, key: "noise".to_owned(), value: Value::String(text) }
}

/// Writes a backup to a disk that loses power after so many steps. Returns whether it was
/// reported as done, and what is found under its name afterwards.
fn cut(steps: u32, seed: u64, lies: bool) -> (bool, Option<Vec<u8>>) {
    let (files, names, pending_names) = Default::default();
    let state = State { steps_left: steps, seed, lies, files, names, pending_names };
    let disk = FailingDisk(Arc::new(Mutex::new(state)));
    let path = Path::new("folder/a.backup");
    let write = || {
        let mut new = NewFile::create(&disk, path)?;
        let mut writer = BackupWriter::create(new.file()?, HEADER)?;
        for record in records() {
            writer.add(&record)?;
        }
        writer.add(&noise())?;
        writer.finish()?;
        new.finish()
    };
    let done = write();
    let found = disk.0.lock().unwrap().after_the_cut(path);
    (done.is_ok(), found)
}

/// How many steps a whole backup takes.
fn all_steps() -> u32 {
    (1..).find(|steps| cut(*steps, 1, false).0).unwrap()
}

#[test]
fn a_power_cut_leaves_no_file_or_a_whole_one() {
    let all = all_steps();
    assert!(all > 12, "{all}");
    let (mut whole, mut absent) = (0, 0);
    for seed in 0..1_000_u64 {
        let steps = u32::try_from(seed).unwrap() % (all + 2);
        let (done, found) = cut(steps, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), false);
        match found {
            Some(content) => {
                assert_eq!(read(&content).unwrap().1.keys, 6, "cut {seed} after {steps} steps");
                whole += 1;
            }
            None => {
                assert!(!done, "cut {seed}: a backup that was reported as done is gone");
                absent += 1;
            }
        }
    }
    assert!(whole > 50 && absent > 50, "{whole} whole, {absent} absent");
}

#[test]
fn the_test_of_power_cuts_notices_a_disk_that_lies() {
    let all = all_steps();
    let is_noticed = |seed: u64| {
        let (_, found) = cut(all, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), true);
        found.is_some_and(|content| read(&content).is_err())
    };
    assert!((0..100).any(is_noticed));
}
