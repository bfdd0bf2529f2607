//! A thousand power cuts under load, on a disk that forgets what was not flushed, in any order of
//! sectors. After each, the store is opened and compared with what was acknowledged.

use super::rig::Rig;
use super::*;
use crate::redb::database::open_files;
use crate::redb::journal::JournalFile;
use redb::StorageBackend;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::atomic::AtomicUsize;
use tidings_disk::simulated::{Content, Dice, Faults, SimulatedDisk};
use tidings_disk::{DiskFile, Folder};

pub(super) const STORE: &str = "a.redb";
pub(super) const JOURNAL: &str = "a.redb-journal";

/// So short that it is often full.
const JOURNAL_LENGTH: usize = 4096 + 24 * 1024;

const CLIENTS: usize = 4;

/// A file of a simulated disk, for redb.
#[derive(Debug)]
pub(super) struct Backend(pub(super) Box<dyn DiskFile>);

impl StorageBackend for Backend {
    fn len(&self) -> std::io::Result<u64> {
        self.0.length()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read_at(offset, out)
    }

    fn set_len(&self, length: u64) -> std::io::Result<()> {
        self.0.set_length(length)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.0.write_at(offset, data)
    }
}

/// How to open the store on a simulated disk.
pub(super) fn opener(disk: &SimulatedDisk) -> Opener {
    let disk = disk.clone();
    Box::new(move || {
        let name = OsStr::new(STORE);
        let file = disk.open(name).or_else(|_| {
            let file = disk.create(name)?;
            Folder::sync(&disk)?;
            Ok::<_, std::io::Error>(file)
        });
        let journal = JournalFile::new(Box::new(disk.clone()), JOURNAL.into());
        // A small cache, so that pages are written before a checkpoint too.
        open_files(Box::new(Backend(file.unwrap())), Box::new(journal), 256 << 10, JOURNAL_LENGTH)
    })
}

/// The numbers of the batches of each client.
type Numbers = [usize; CLIENTS];

/// The batch of this number of a client: some of every kind of write. [`expected`] tells what is
/// there after it.
fn batch_of(client: usize, number: usize) -> Batch {
    let mut batch = Batch::new();
    batch.increment(format!("{client}:count"), 1);
    batch.increment("total", 1);
    batch.set(format!("{client}:last"), number.to_string());
    batch.set_field(format!("{client}:hash"), (number % 40).to_string(), value(number, 90));
    batch.sorted_add(format!("{client}:sorted"), format!("{number:06}"), score(number));
    batch.sorted_trim(format!("{client}:sorted"), 30);
    batch.add_member(format!("{client}:set"), number.to_string());
    batch.remove_member(format!("{client}:set"), number.wrapping_sub(20).to_string());
    let day = Duration::from_secs(86_400);
    batch.set_expiring(format!("{client}:stays:{}", number % 10), number.to_string(), day);
    batch.set_expiring(format!("{client}:gone:{number}"), "text", Duration::from_millis(2));
    if number.is_multiple_of(8) {
        // Longer than the journal, and larger than what is there: the file grows.
        batch.set(format!("{client}:long:{number}"), value(number, 20_000 + number * 50));
        batch.delete(format!("{client}:long:{}", number.wrapping_sub(24)));
    }
    batch
}

fn score(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}

fn value(number: usize, length: usize) -> String {
    let digit = char::from(b'a' + u8::try_from(number % 26).unwrap());
    format!("{number}{}", digit.to_string().repeat(length))
}

/// All keys and values after these batches, except those that expire soon.
fn expected(numbers: &Numbers) -> BTreeMap<String, Value> {
    let mut keys = BTreeMap::new();
    let mut put = |key: String, value: Value| keys.insert(key, value);
    let total: usize = numbers.iter().sum();
    if total > 0 {
        put("total".to_owned(), Value::String(total.to_string()));
    }
    for (client, last) in numbers.iter().copied().enumerate().filter(|(_, last)| *last > 0) {
        let recent = |count: usize| last.saturating_sub(count - 1).max(1)..=last;
        put(format!("{client}:count"), Value::String(last.to_string()));
        put(format!("{client}:last"), Value::String(last.to_string()));
        let mut fields: Vec<_> =
            recent(40).map(|number| ((number % 40).to_string(), value(number, 90))).collect();
        fields.sort();
        put(format!("{client}:hash"), Value::Hash(fields));
        let scored = recent(30).map(|number| (format!("{number:06}"), score(number)));
        put(format!("{client}:sorted"), Value::SortedSet(scored.collect()));
        let mut members: Vec<_> = recent(20).map(|number| number.to_string()).collect();
        members.sort();
        put(format!("{client}:set"), Value::Set(members));
        for number in recent(10) {
            put(format!("{client}:stays:{}", number % 10), Value::String(number.to_string()));
        }
        for number in (8..=last).step_by(8).filter(|number| number + 24 > last - last % 8) {
            let text = value(number, 20_000 + number * 50);
            put(format!("{client}:long:{number}"), Value::String(text));
        }
    }
    keys
}

/// Which batches a store has. The error says what is there in part, or what should not be there.
fn found(rig: &Rig) -> Result<Numbers, String> {
    let mut keys = rig.state().values();
    keys.retain(|key, _| !key.contains(":gone:"));
    let number = |client: usize| match keys.get(&format!("{client}:count")) {
        Some(Value::String(count)) => count.parse().unwrap(),
        _ => 0,
    };
    let numbers: Numbers = std::array::from_fn(number);
    let expected = expected(&numbers);
    if keys == expected {
        return Ok(numbers);
    }
    let differs = |key: &&String| keys.get(*key) != expected.get(*key);
    let names: Vec<_> = keys.keys().chain(expected.keys()).filter(differs).collect();
    Err(format!("after {numbers:?}, these keys differ: {names:?}"))
}

fn clock_at(now: u64) -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(now))
}

/// The state at a power cut.
struct Cut {
    content: Content,
    now: u64,
    /// The batches that were acknowledged.
    acknowledged: Numbers,
    /// The batches that were passed to the store.
    submitted: Numbers,
}

/// Opens what a power cut has left, with another cut on the way, and compares.
fn check(cut: &Cut, dice: &mut Dice) -> Result<(), String> {
    let disk = SimulatedDisk::of(cut.content.clone());
    let second: Arc<Mutex<Option<Content>>> = Arc::default();
    let (mut moment, mut seed) = (dice.below(120), Dice::new(dice.bits()));
    let kept = second.clone();
    disk.watch(Some(Box::new(move |content| {
        if moment == 0 {
            *kept.lock() = Some(content.after_cut(&mut seed));
        }
        moment = moment.wrapping_sub(1);
    })));
    let mut rig = Rig::open(opener(&disk), &clock_at(cut.now))?;
    disk.watch(None);
    let numbers = found(&rig)?;
    let within = numbers.iter().zip(&cut.acknowledged).zip(&cut.submitted);
    if within.into_iter().any(|((number, least), most)| number < least || number > most) {
        return Err(format!("{numbers:?} is not from {:?} to {:?}", cut.acknowledged, cut.submitted));
    }
    // The next writes work, and stay.
    let client = dice.below(CLIENTS);
    let mut more = numbers;
    more[client] += 1;
    let outcome = rig.commit([batch_of(client, more[client])]).remove(0);
    outcome.map_err(|error| format!("the next write fails: {error}"))?;
    rig.close();
    let opened = |content: SimulatedDisk, expected: Numbers, what: &str| {
        let found = found(&Rig::open(opener(&content), &clock_at(cut.now))?)?;
        if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} and not {expected:?}")) }
    };
    opened(disk, more, "after closing it")?;
    match second.lock().take() {
        Some(content) => opened(SimulatedDisk::of(content), numbers, "after a cut while it was opened"),
        None => Ok(()),
    }
}

/// A load on a store, with power cuts at random moments.
struct Load {
    disk: SimulatedDisk,
    clock: Arc<AtomicU64>,
    dice: Dice,
    acknowledged: Arc<Mutex<Numbers>>,
    submitted: Arc<Mutex<Numbers>>,
    cuts: Arc<AtomicUsize>,
    failures: Arc<Mutex<Vec<String>>>,
}

impl Load {
    fn new(seed: u64) -> Self {
        Self {
            disk: SimulatedDisk::default(),
            clock: clock(),
            dice: Dice::new(seed),
            acknowledged: Arc::default(),
            submitted: Arc::default(),
            cuts: Arc::default(),
            failures: Arc::default(),
        }
    }

    fn open(&self) -> Rig {
        Rig::open(opener(&self.disk), &self.clock).unwrap()
    }

    /// From now on, the power is cut before one of `every` changes of the disk, on a copy of it.
    fn cut_power(&self, seed: u64, every: usize) {
        let mut dice = Dice::new(seed);
        let (clock, cuts, failures) = (self.clock.clone(), self.cuts.clone(), self.failures.clone());
        let (acknowledged, submitted) = (self.acknowledged.clone(), self.submitted.clone());
        self.disk.watch(Some(Box::new(move |content| {
            if dice.below(every) > 0 {
                return;
            }
            let cut = Cut {
                content: content.after_cut(&mut dice),
                now: clock.load(Ordering::SeqCst),
                acknowledged: *acknowledged.lock(),
                submitted: *submitted.lock(),
            };
            let number = cuts.fetch_add(1, Ordering::SeqCst);
            let checked = catch_unwind(AssertUnwindSafe(|| check(&cut, &mut dice)));
            if let Err(failure) = checked.unwrap_or_else(|_| Err("a panic".to_owned())) {
                failures.lock().push(format!("seed {seed:#x}, cut {number}: {failure}"));
            }
        })));
    }

    fn step(&mut self, rig: &mut Rig) {
        match self.dice.below(40) {
            0..=3 => {
                rig.writer.tidy();
            }
            4..=8 => {
                self.clock.fetch_add(1, Ordering::SeqCst);
            }
            9 => {
                // Some batches meet a full disk.
                self.disk.set_faults(Faults { full: true, ..Faults::default() });
                self.commit(rig);
                rig.writer.tidy();
                self.commit(rig);
                self.disk.set_faults(Faults::default());
                rig.writer.tidy();
                assert_eq!(rig.redb.health(), StoreHealth::Works);
            }
            _ => self.commit(rig),
        }
    }

    /// Commits one group, with a batch each of some clients.
    fn commit(&mut self, rig: &mut Rig) {
        let clients: Vec<_> = (0..CLIENTS).filter(|_| self.dice.below(2) == 0).collect();
        let before = *self.acknowledged.lock();
        for client in &clients {
            self.submitted.lock()[*client] += 1;
        }
        let batches = clients.iter().map(|client| batch_of(*client, before[*client] + 1));
        let outcomes = rig.commit(batches);
        let known = if outcomes.iter().any(is_unavailable) {
            // Only the store knows what became of them.
            found(rig).unwrap()
        } else {
            let mut known = before;
            for (client, outcome) in clients.iter().zip(&outcomes) {
                known[*client] += usize::from(outcome.is_ok());
            }
            known
        };
        *self.acknowledged.lock() = known;
        *self.submitted.lock() = known;
    }
}

/// Runs a load until the power was cut this often, or until a check fails. Returns the failures.
fn cut_under_load(seed: u64, cuts: usize, faults: &Faults) -> Vec<String> {
    let mut load = Load::new(seed);
    load.disk.set_faults(faults.clone());
    let mut rig = load.open();
    load.cut_power(seed, 12);
    while load.cuts.load(Ordering::SeqCst) < cuts && load.failures.lock().is_empty() {
        load.step(&mut rig);
        // A full disk has replaced them.
        load.disk.set_faults(faults.clone());
        if load.dice.below(60) == 0 {
            rig.close();
            rig = load.open();
        }
    }
    load.failures.lock().clone()
}

/// How often the power is cut in one run.
const CUTS: usize = 250;

fn assert_nothing_is_lost(seed: u64) {
    let failures = cut_under_load(seed, CUTS, &Faults::default());
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(REPAIRS.get(), 0, "a store file was read whole");
}

// Four runs of 250 cuts each, so that they share the processors.

#[test]
fn power_cuts_lose_nothing_that_was_acknowledged_1() {
    assert_nothing_is_lost(0x7469_6469_6e67_7331);
}

#[test]
fn power_cuts_lose_nothing_that_was_acknowledged_2() {
    assert_nothing_is_lost(0x7469_6469_6e67_7332);
}

#[test]
fn power_cuts_lose_nothing_that_was_acknowledged_3() {
    assert_nothing_is_lost(0x7469_6469_6e67_7333);
}

#[test]
fn power_cuts_lose_nothing_that_was_acknowledged_4() {
    assert_nothing_is_lost(0x7469_6469_6e67_7334);
}

#[test]
fn the_cuts_find_a_flush_that_is_left_out() {
    let of_file = |file: &str| Faults { ignored_flush: Some(file.into()), ..Faults::default() };
    let of_folder = Faults { ignored_folder_flush: true, ..Faults::default() };
    for faults in [of_file(STORE), of_file(JOURNAL), of_folder] {
        let failures = cut_under_load(1, CUTS, &faults);
        assert!(!failures.is_empty(), "nothing notices {faults:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn power_cuts_while_clients_and_readers_are_at_work() {
    let load = Load::new(1);
    let redb = Redb::open_with(opener(&load.disk), &options(), Arc::default()).unwrap();
    load.cut_power(2, 15);
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let redb = redb.clone();
        let (cuts, submitted, acknowledged) =
            (load.cuts.clone(), load.submitted.clone(), load.acknowledged.clone());
        clients.spawn(async move {
            let mut number = 0;
            while cuts.load(Ordering::SeqCst) < 60 {
                number += 1;
                submitted.lock()[client] = number;
                redb.commit(batch_of(client, number)).await.unwrap();
                acknowledged.lock()[client] = number;
                // Readers may write pages too, to make room in the cache.
                redb.read_all(&[Read::Hash(format!("{client}:hash"))]).unwrap();
            }
        });
    }
    clients.join_all().await;
    let failures = load.failures.lock().clone();
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_crash_never_makes_the_next_start_read_the_whole_file() {
    let load = Load::new(1);
    let mut rig = load.open();
    for round in 0..30 {
        let mut batch = Batch::new();
        for number in 0..200 {
            batch.set(format!("{round}:{number}"), "v".repeat(500));
        }
        rig.commit([batch]).remove(0).unwrap();
    }
    rig.writer.tidy();
    rig.commit([increment("counter")]).remove(0).unwrap();
    // Before, while and after it is opened again.
    for _ in 0..3 {
        let disk = SimulatedDisk::of(load.disk.content().after_cut(&mut Dice::new(5)));
        let again = Rig::open(opener(&disk), &load.clock).unwrap();
        assert_eq!(string(&again.redb, "counter").unwrap().as_deref(), Some("1"));
        let crashed = SimulatedDisk::of(disk.content().after_cut(&mut Dice::new(6)));
        let again = Rig::open(opener(&crashed), &load.clock).unwrap();
        assert_eq!(again.redb.count_keys().unwrap(), 6001);
    }
    assert_eq!(REPAIRS.get(), 0);
}
