//! The reader returns the records that were written, and accepts nothing else.

mod power_cuts;

use super::format::{
    BLOCK_BYTES, BLOCK_MAGIC, END_MAGIC, FORMAT_VERSION, Header, Kind, MAX_TEXT_BYTES, PART_BYTES, Record,
    SIGNATURE, Summary, skipped_frame,
};
use super::reader::{BackupError, BackupReader, Part};
use super::writer::BackupWriter;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::time::Duration;
use tidings_keyspace::{Entry, Value};

const HEADER: Header = Header { layout: 7, taken_at_ms: 1_700_000_000_123 };

fn record(key: &str, expires_at_ms: u64, value: Value) -> Record {
    Record { expires_at_ms, key: key.to_owned(), value }
}

/// One key of each type, and strange texts.
fn records() -> Vec<Record> {
    let text = |text: &str| text.to_owned();
    vec![
        record("", 0, Value::String(String::new())),
        record("string", 1_700_000_000_000, Value::String(text("a\0b\r\n日本語 🦀"))),
        record("hash", 0, Value::Hash(vec![(text("field"), text("value")), (text(""), text(""))])),
        record("set", u64::MAX, Value::Set(vec![text("member"), text("")])),
        record(
            "sorted",
            0,
            Value::SortedSet(vec![
                (text("low"), f64::NEG_INFINITY),
                (text("a"), -0.1),
                (text("b"), 1e15 + 0.5),
                (text("high"), f64::INFINITY),
            ]),
        ),
    ]
}

fn file_of(records: &[Record]) -> (Vec<u8>, Summary) {
    let mut writer = BackupWriter::create(Vec::new(), HEADER).unwrap();
    for record in records {
        writer.add(record).unwrap();
    }
    writer.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<(Vec<Record>, Summary), BackupError> {
    let mut reader = BackupReader::open(bytes)?;
    let mut records: Vec<Record> = Vec::new();
    while let Some(Part { record, is_first }) = reader.next_part()? {
        match records.last_mut().filter(|_| !is_first) {
            None => records.push(record),
            Some(last) => {
                assert_eq!((&last.key, last.expires_at_ms), (&record.key, record.expires_at_ms));
                match (&mut last.value, record.value) {
                    (Value::Hash(all), Value::Hash(more)) => all.extend(more),
                    (Value::Set(all), Value::Set(more)) => all.extend(more),
                    (Value::SortedSet(all), Value::SortedSet(more)) => all.extend(more),
                    (_, more) => panic!("a part of another type: {more:?}"),
                }
            }
        }
    }
    Ok((records, reader.summary().unwrap()))
}

/// About the bytes of memory that a part takes.
fn memory_of(Part { record, .. }: &Part) -> usize {
    let texts = match &record.value {
        Value::String(text) => text.capacity(),
        Value::Hash(all) => {
            let fields = all.iter().map(|(field, value)| field.capacity() + value.capacity());
            fields.sum::<usize>() + all.capacity() * size_of::<(String, String)>()
        }
        Value::Set(all) => {
            all.iter().map(String::capacity).sum::<usize>() + all.capacity() * size_of::<String>()
        }
        Value::SortedSet(all) => {
            let members = all.iter().map(|(member, _)| member.capacity());
            members.sum::<usize>() + all.capacity() * size_of::<(String, f64)>()
        }
    };
    record.key.capacity() + texts
}

fn refusal(bytes: &[u8]) -> String {
    read(bytes).map(|(records, _)| records.len()).unwrap_err().to_string()
}

/// A file with right checksums and these bytes as its records.
fn forged(records: &[u8], keys: u64) -> Vec<u8> {
    let mut file = HEADER.frame();
    for block in records.chunks(BLOCK_BYTES) {
        add_block(&mut file, block);
    }
    end(file, keys)
}

fn add_block(file: &mut Vec<u8>, block: &[u8]) {
    let frame = zstd::bulk::compress(block, 1).unwrap();
    let mut head = u32::try_from(frame.len()).unwrap().to_le_bytes().to_vec();
    head.extend(crc32fast::hash(&frame).to_le_bytes());
    file.extend(skipped_frame(BLOCK_MAGIC, &head));
    file.extend(frame);
}

fn end(mut file: Vec<u8>, keys: u64) -> Vec<u8> {
    let checksum = Sha256::digest(&file);
    let end = [&keys.to_le_bytes()[..], &checksum].concat();
    file.extend(skipped_frame(END_MAGIC, &end));
    file
}

fn bytes_of(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    record.write(&mut bytes);
    bytes
}

#[test]
fn what_was_written_is_read() {
    for records in [Vec::new(), records()] {
        let (file, written) = file_of(&records);
        assert_eq!(written.keys, u64::try_from(records.len()).unwrap());
        assert_eq!(written.bytes, u64::try_from(file.len()).unwrap());
        assert_eq!(read(&file).unwrap(), (records, written));
    }
}

#[test]
fn records_cross_blocks() {
    let lengths = [0, 1, BLOCK_BYTES - 40, BLOCK_BYTES - 30, BLOCK_BYTES, 3 * BLOCK_BYTES + 5, 17];
    let records: Vec<Record> = lengths
        .iter()
        .enumerate()
        .map(|(number, length)| record(&format!("key{number}"), 0, Value::String("x".repeat(*length))))
        .collect();
    let (file, _) = file_of(&records);
    assert_eq!(read(&file).unwrap().0, records);
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused_with_the_place() {
    let (file, _) = file_of(&records());
    for length in 0..file.len() {
        let text = refusal(&file[..length]);
        let expected = match length {
            0..22 => "byte 0".to_owned(),
            length => format!("cut off at byte {length}"),
        };
        assert!(text.contains(&expected), "{length}: {text}");
    }
}

#[test]
fn a_file_of_which_any_bit_is_changed_is_refused_with_the_place() {
    let (file, _) = file_of(&records());
    for position in 0..file.len() {
        for bit in 0..8 {
            let mut changed = file.clone();
            changed[position] ^= 1 << bit;
            let text = refusal(&changed);
            assert!(text.contains("at byte"), "{position}, bit {bit}: {text}");
        }
    }
    let text = refusal(&[&file[..], b"x"].concat());
    assert!(text.contains(&format!("damaged at byte {}: something follows", file.len())), "{text}");
}

#[test]
fn a_changed_block_is_named_by_where_it_begins() {
    // Text that does not compress, so that there are several blocks.
    let mut seed = 1_u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + u8::try_from((seed >> 40) % 90).unwrap())
    };
    let records: Vec<Record> = (0..4)
        .map(|number| {
            record(&format!("key{number}"), 0, Value::String((0..BLOCK_BYTES).map(|_| noise()).collect()))
        })
        .collect();
    let (file, _) = file_of(&records);
    let starts: Vec<usize> =
        (0..file.len() - 8).filter(|at| file[*at..].starts_with(&BLOCK_MAGIC) && file[at + 4] == 8).collect();
    assert!(starts.len() >= 4, "{starts:?}");
    for pair in starts.windows(2) {
        let mut changed = file.clone();
        changed[usize::midpoint(pair[0] + 16, pair[1])] ^= 1;
        let expected = tidings_domain::values::words::grouped(u64::try_from(pair[0]).unwrap());
        assert!(refusal(&changed).contains(&format!("byte {expected}: the checksum of a block")));
    }
}

#[test]
fn another_file_and_a_newer_format_are_told_apart() {
    assert!(refusal(b"").contains("not a backup"));
    assert!(refusal(b"SQLite format 3\0 and much more than a header has").contains("not a backup"));
    assert!(refusal(&zstd::bulk::compress(b"text", 1).unwrap()).contains("not a backup"));
    let mut content = SIGNATURE.to_vec();
    content.extend((FORMAT_VERSION + 1).to_le_bytes());
    content.extend([0; 100]);
    content.extend(crc32fast::hash(&content).to_le_bytes());
    let newer = skipped_frame(super::format::HEADER_MAGIC, &content);
    assert!(refusal(&newer).contains("newer version"), "{}", refusal(&newer));
}

#[test]
fn forged_lengths_and_counts_are_refused_without_reserving_memory() {
    let mut long_key = vec![Kind::String as u8];
    long_key.extend(0_u64.to_le_bytes());
    long_key.extend(u32::MAX.to_le_bytes());
    assert!(refusal(&forged(&long_key, 1)).contains("too long"));

    let mut many_members = vec![Kind::Set as u8];
    many_members.extend(0_u64.to_le_bytes());
    many_members.extend([1, 0, 0, 0, b'k']);
    many_members.extend(u32::MAX.to_le_bytes());
    assert!(refusal(&forged(&many_members, 0)).contains("not whole"));

    let empty_set = [&many_members[..many_members.len() - 4], &[0; 4]].concat();
    assert!(refusal(&forged(&empty_set, 1)).contains("empty"));

    let mut unknown = bytes_of(&records()[0]);
    unknown[0] = b'x';
    assert!(refusal(&forged(&unknown, 1)).contains("no type 120"));

    let mut not_text = bytes_of(&record("key", 0, Value::String("text".to_owned())));
    *not_text.last_mut().unwrap() = 0xff;
    assert!(refusal(&forged(&not_text, 1)).contains("UTF-8"));

    let nan = bytes_of(&record("key", 0, Value::SortedSet(vec![("member".to_owned(), f64::NAN)])));
    assert!(refusal(&forged(&nan, 1)).contains("no number"));

    let whole = bytes_of(&records()[1]);
    assert!(refusal(&forged(&whole, 2)).contains("has 2 keys, but there are 1"));
    read(&forged(&whole, 1)).unwrap();

    // A small frame that becomes a large block, and the head of one that claims to be large.
    let mut bomb = HEADER.frame();
    add_block(&mut bomb, &vec![0; 64 * BLOCK_BYTES]);
    assert!(refusal(&end(bomb, 0)).contains("cannot be decompressed"));
    let mut claim = HEADER.frame();
    claim.extend(skipped_frame(BLOCK_MAGIC, &[0xff; 8]));
    assert!(refusal(&end(claim, 0)).contains("length of a block"));
}

/// The start of a record of a type, which claims to have so many entries.
fn head(kind: Kind, entries: u32) -> Vec<u8> {
    let mut head = vec![kind as u8];
    head.extend(0_u64.to_le_bytes());
    head.extend([1, 0, 0, 0, b'k']);
    head.extend(entries.to_le_bytes());
    head
}

#[test]
fn whatever_a_file_claims_a_part_of_it_takes_little_memory() {
    // Kilobytes of blocks of nothing but empty texts, which say that there are 4,294,967,295.
    let mut block = Vec::new();
    add_block(&mut block, &vec![0; BLOCK_BYTES]);
    let hostile = |kind| {
        let mut file = HEADER.frame();
        add_block(&mut file, &head(kind, u32::MAX));
        for _ in 0..64 {
            file.extend_from_slice(&block);
        }
        assert!(file.len() < 1 << 20);
        end(file, 0)
    };
    // And texts of every length, as many as there is room for.
    let mut large = head(Kind::Set, u32::MAX);
    for length in [1, 1_000, BLOCK_BYTES, MAX_TEXT_BYTES] {
        for _ in 0..(2 * MAX_TEXT_BYTES / length).min(100_000) {
            large.extend(u32::try_from(length).unwrap().to_le_bytes());
            large.resize(large.len() + length, b'x');
        }
    }
    let files = [Kind::Hash, Kind::Set, Kind::SortedSet].map(hostile);
    for file in files.into_iter().chain([forged(&large, 0)]) {
        let mut reader = BackupReader::open(&*file).unwrap();
        let (mut most, mut parts) = (0, 0);
        let error = loop {
            match reader.next_part() {
                Ok(part) => most = most.max(memory_of(&part.expect("the file is not whole"))),
                Err(error) => break error.to_string(),
            }
            parts += 1;
        };
        assert!(error.contains("not whole"), "{error}");
        assert!(parts > 2 && most <= 2 * (PART_BYTES + MAX_TEXT_BYTES), "{parts} of {most}");
    }
    let mut long = vec![Kind::String as u8];
    long.extend(0_u64.to_le_bytes());
    long.extend(u32::try_from(MAX_TEXT_BYTES + 1).unwrap().to_le_bytes());
    assert!(refusal(&forged(&long, 1)).contains("is too long"));
    let mut writer = BackupWriter::create(Vec::new(), HEADER).unwrap();
    let text = "x".repeat(MAX_TEXT_BYTES + 1);
    let error = writer.add(&record("key", 0, Value::String(text))).unwrap_err().to_string();
    assert!(
        error.contains(&format!("the key \"key\" has a text of {} bytes", MAX_TEXT_BYTES + 1)),
        "{error}"
    );
}

#[test]
fn a_large_key_is_read_in_parts() {
    let members = (0..100_000).map(|number| (format!("member {number}"), f64::from(number)));
    let fields = (0..100_000).map(|number| (format!("field {number}"), "value".to_owned()));
    let records = vec![
        record("sorted", 0, Value::SortedSet(members.collect())),
        record("hash", 7, Value::Hash(fields.collect())),
        record("last", 0, Value::String("text".to_owned())),
    ];
    let (file, summary) = file_of(&records);
    assert_eq!(read(&file).unwrap(), (records, summary));
}

#[test]
fn what_has_expired_does_not_come_back() {
    let entry = |left: Option<u64>| Entry {
        key: "key".to_owned(),
        value: Value::String("text".to_owned()),
        time_to_live: left.map(Duration::from_millis),
    };
    let taken_at = HEADER.taken_at_ms;
    assert_eq!(Record::of(entry(None), taken_at).entry(u64::MAX), Some(entry(None)));
    let record = Record::of(entry(Some(1_000)), taken_at);
    assert_eq!(record.expires_at_ms, taken_at + 1_000);
    assert_eq!(record.clone().entry(taken_at + 400), Some(entry(Some(600))));
    assert_eq!(record.clone().entry(taken_at + 1_000), None);
    assert_eq!(record.entry(taken_at + 5_000), None);
}

fn any_value() -> impl Strategy<Value = Value> {
    let texts = || proptest::collection::vec(".*", 1..5);
    prop_oneof![
        ".*".prop_map(Value::String),
        proptest::collection::vec((".*", ".*"), 1..5).prop_map(Value::Hash),
        texts().prop_map(Value::Set),
        proptest::collection::vec((".*", -1e18_f64..1e18), 1..5).prop_map(Value::SortedSet),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_records_are_read_as_written(values in proptest::collection::vec((".*", any::<u64>(), any_value()), 0..20)) {
        let records: Vec<Record> =
            values.into_iter().map(|(key, expires_at_ms, value)| Record { expires_at_ms, key, value }).collect();
        let (file, summary) = file_of(&records);
        prop_assert_eq!(read(&file).unwrap(), (records, summary));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&forged(&bytes, 1));
        let mut file = HEADER.frame();
        file.extend(&bytes);
        prop_assert!(read(&file).is_err());
    }
}
