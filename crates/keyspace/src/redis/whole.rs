//! Reading and writing whole keys, for checks and copies.

use super::connection::RequestOptions;
use super::{Redis, wire};
use crate::limits::{MAX_COMMAND_ENTRIES, MAX_PIPELINE_BYTES, MAX_PIPELINE_COMMANDS};
use crate::query::{Answer, Expiry, Hash, Order, Read};
use crate::{Entry, KeyPage, KeyspaceError, ScanPage, Value as EntryValue};
use redis::{Pipeline, Value, cmd};

/// How many times longer a step of a scan or a restore may take than another round. It may
/// carry a key with a million members.
const BULK_PATIENCE: u32 = 15;

impl Redis {
    /// The number of keys of the database.
    pub(crate) async fn count_keys(&self) -> Result<u64, KeyspaceError> {
        let value = wire::checked("", self.one(cmd("DBSIZE"), self.reading()).await?)?;
        let count = wire::integer(&value).and_then(|count| u64::try_from(count).ok());
        count.ok_or_else(|| wire::unexpected(""))
    }

    /// Reads one page of keys. The cursor is that of SCAN.
    pub(crate) async fn scan(&self, cursor: Option<String>, limit: usize) -> Result<ScanPage, KeyspaceError> {
        let (keys, next) = self.texts_of_keys(cursor, limit).await?;
        Ok(ScanPage { entries: self.entries(keys).await?, next })
    }

    /// The names of some keys, which are texts, and the cursor of the next ones.
    pub(super) async fn texts_of_keys(
        &self,
        cursor: Option<String>,
        limit: usize,
    ) -> Result<(Vec<String>, Option<String>), KeyspaceError> {
        let (keys, next) = self.key_names(cursor, limit).await?;
        Ok((keys.into_iter().map(|key| exact_text("", key)).collect::<Result<_, _>>()?, next))
    }

    /// One page of the names of all keys.
    pub(crate) async fn scan_keys(
        &self,
        cursor: Option<String>,
        limit: usize,
    ) -> Result<KeyPage, KeyspaceError> {
        let (names, next) = self.key_names(cursor, limit).await?;
        let mut page = KeyPage { next, ..KeyPage::default() };
        for name in names {
            match String::from_utf8(name) {
                Ok(key) => page.keys.push(key),
                Err(error) => page.not_text.push(String::from_utf8_lossy(error.as_bytes()).into_owned()),
            }
        }
        Ok(page)
    }

    /// The names of some keys, and the cursor of the next ones.
    async fn key_names(
        &self,
        cursor: Option<String>,
        limit: usize,
    ) -> Result<(Vec<Vec<u8>>, Option<String>), KeyspaceError> {
        let mut scan = cmd("SCAN");
        scan.arg(cursor.unwrap_or_else(|| "0".to_owned())).arg("COUNT").arg(limit.max(1));
        let page = wire::checked("", self.one(scan, self.patient(true)).await?)?;
        let mut page = wire::items(page).ok_or_else(|| wire::unexpected(""))?.into_iter();
        let next = page.next().and_then(wire::bytes).ok_or_else(|| wire::unexpected(""))?;
        let next = exact_text("", next)?;
        let keys = page.next().and_then(wire::items).ok_or_else(|| wire::unexpected(""))?;
        let keys = keys.into_iter().map(|key| wire::bytes(key).ok_or_else(|| wire::unexpected("")));
        Ok((keys.collect::<Result<_, _>>()?, (next != "0").then_some(next)))
    }

    /// Reads whole keys. Leaves out those that no longer exist.
    pub(super) async fn entries(&self, keys: Vec<String>) -> Result<Vec<Entry>, KeyspaceError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut types = Pipeline::with_capacity(keys.len());
        for key in &keys {
            types.cmd("TYPE").arg(key);
        }
        let types = self.send(&types, self.patient(true)).await?;
        let mut present = Vec::with_capacity(keys.len());
        let mut reads = Pipeline::with_capacity(keys.len() * 2);
        for (key, held) in keys.into_iter().zip(types) {
            let held = wire::bytes(wire::checked(&key, held)?).ok_or_else(|| wire::unexpected(&key))?;
            let read = match held.as_slice() {
                b"none" => continue,
                b"string" => Read::String(key),
                b"hash" => Read::Hash(key),
                b"set" => Read::Members(key),
                b"zset" => Read::SortedRange { key, order: Order::Ascending, offset: 0, count: u64::MAX },
                other => {
                    let held = String::from_utf8_lossy(other);
                    return Err(KeyspaceError::Invalid(format!(
                        "the key {key:?} holds a {held}, which is not one of the four types"
                    )));
                }
            };
            reads.add_command(wire::command_of(&read));
            reads.cmd("PTTL").arg(read.key());
            present.push(read);
        }
        if present.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = self.send(&reads, self.patient(true)).await?.into_iter();
        let mut entries = Vec::with_capacity(present.len());
        for read in present {
            let (value, expiry) = (values.next().unwrap_or_default(), values.next().unwrap_or_default());
            let key = read.key().to_owned();
            let expiry = wire::integer(&expiry).ok_or_else(|| wire::unexpected(&key))?;
            demand_texts(&key, &value)?;
            let value = match wire::answer_of(&read, value)? {
                Answer::Text(Some(text)) => EntryValue::String(text),
                Answer::Hash(Hash(fields)) if !fields.is_empty() => EntryValue::Hash(fields),
                Answer::Members(members) if !members.is_empty() => EntryValue::Set(members),
                Answer::Scored(members) if !members.is_empty() => EntryValue::SortedSet(members),
                // It has gone in the meantime.
                _ => continue,
            };
            let time_to_live = match wire::expiry(expiry) {
                Expiry::Absent => continue,
                Expiry::Never => None,
                Expiry::In(time_to_live) => Some(time_to_live),
            };
            entries.push(Entry { key, value, time_to_live });
        }
        Ok(entries)
    }

    /// Replaces whole keys, in pipelines of bounded size. Their times to live count from a moment, or from the
    /// writing.
    pub(crate) async fn restore(
        &self,
        entries: Vec<Entry>,
        as_of_ms: Option<u64>,
    ) -> Result<(), KeyspaceError> {
        let mut pipeline = Pipeline::new();
        let mut bytes = 0;
        for command in entries.into_iter().flat_map(|entry| restoring(entry, as_of_ms)) {
            bytes += command.get_packed_command().len();
            pipeline.add_command(command);
            if bytes >= MAX_PIPELINE_BYTES || pipeline.len() >= MAX_PIPELINE_COMMANDS {
                self.send_restoring(&pipeline).await?;
                pipeline.clear();
                bytes = 0;
            }
        }
        if pipeline.is_empty() { Ok(()) } else { self.send_restoring(&pipeline).await }
    }

    async fn send_restoring(&self, pipeline: &Pipeline) -> Result<(), KeyspaceError> {
        let values = self.send(pipeline, self.patient(false)).await?;
        values.into_iter().try_for_each(|value| wire::checked("", value).map(drop))
    }

    pub(super) fn patient(&self, reads: bool) -> RequestOptions {
        RequestOptions { timeout: self.shared.timeout * BULK_PATIENCE, reads }
    }
}

/// Refuses the value of a key that is not UTF-8, because it cannot be copied unchanged.
fn demand_texts(key: &str, value: &Value) -> Result<(), KeyspaceError> {
    let all = |values: &[Value]| values.iter().try_for_each(|value| demand_texts(key, value));
    match value {
        Value::BulkString(bytes) if std::str::from_utf8(bytes).is_err() => {
            exact_text(key, bytes.clone()).map(drop)
        }
        Value::Array(items) | Value::Set(items) => all(items),
        Value::Map(pairs) => pairs.iter().try_for_each(|(field, value)| {
            demand_texts(key, field)?;
            demand_texts(key, value)
        }),
        _ => Ok(()),
    }
}

/// Bytes as text. If they are not UTF-8, the error names the key; an empty `key` means that
/// the bytes are a key themselves.
pub(super) fn exact_text(key: &str, bytes: Vec<u8>) -> Result<String, KeyspaceError> {
    String::from_utf8(bytes).map_err(|error| {
        let shown = String::from_utf8_lossy(error.as_bytes());
        KeyspaceError::Invalid(if key.is_empty() {
            format!("the key {shown:?} is not UTF-8")
        } else {
            format!("the key {key:?} holds {shown:?}, which is not UTF-8")
        })
    })
}

/// The commands that replace what a key holds by an entry.
fn restoring(entry: Entry, as_of_ms: Option<u64>) -> Vec<redis::Cmd> {
    let Entry { key, value, time_to_live } = entry;
    let command = |name: &str| wire::on(name, &key);
    let mut commands = vec![command("DEL")];
    if time_to_live.is_some_and(|left| left.as_millis() == 0) {
        return commands;
    }
    match value {
        EntryValue::String(text) => {
            let mut set = command("SET");
            set.arg(text);
            commands.push(set);
        }
        EntryValue::Hash(fields) => commands.extend(fields.chunks(MAX_COMMAND_ENTRIES).map(|chunk| {
            let mut set = command("HSET");
            for (field, value) in chunk {
                set.arg(field).arg(value);
            }
            set
        })),
        EntryValue::Set(members) => commands.extend(members.chunks(MAX_COMMAND_ENTRIES).map(|chunk| {
            let mut add = command("SADD");
            add.arg(chunk);
            add
        })),
        EntryValue::SortedSet(members) => commands.extend(members.chunks(MAX_COMMAND_ENTRIES).map(|chunk| {
            let mut add = command("ZADD");
            for (member, score) in chunk {
                add.arg(wire::score_text(*score)).arg(member);
            }
            add
        })),
    }
    if let Some(time_to_live) = time_to_live {
        let left = u64::try_from(time_to_live.as_millis()).unwrap_or(u64::MAX);
        let mut expire = command(if as_of_ms.is_some() { "PEXPIREAT" } else { "PEXPIRE" });
        expire.arg(as_of_ms.unwrap_or(0).saturating_add(left));
        commands.push(expire);
    }
    commands
}
