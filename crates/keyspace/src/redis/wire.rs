//! The translation of reads and batches to Redis commands, and of the answers back.

use crate::KeyspaceError;
use crate::batch::{Batch, Bound, Check, CheckId, CommitError, Selection, Within, Write};
use crate::query::{Answer, Expiry, Hash, Order, Read};
use crate::redis::GuardedKeys;
use redis::{Cmd, ToRedisArgs, Value, cmd};
use std::borrow::Cow;
use std::time::Duration;

/// A command on a key, so far without other arguments.
pub(super) fn on(name: &str, key: &str) -> Cmd {
    with(cmd(name), &[key])
}

/// The command of a read.
pub(super) fn command_of(read: &Read) -> Cmd {
    let simple = |name: &str| on(name, read.key());
    match read {
        Read::String(_) => simple("GET"),
        Read::Expiry(_) => simple("PTTL"),
        Read::Hash(_) => simple("HGETALL"),
        // Redis refuses to read no fields, but the type must be checked all the same.
        Read::HashFields(_, fields) if fields.is_empty() => simple("HLEN"),
        Read::HashFields(_, fields) => with(simple("HMGET"), fields),
        Read::FieldCount(_) => simple("HLEN"),
        Read::Members(_) => simple("SMEMBERS"),
        Read::MemberCount(_) => simple("SCARD"),
        Read::HasMember(_, member) => with(simple("SISMEMBER"), std::slice::from_ref(member)),
        Read::Scores(_, members) if members.is_empty() => simple("ZCARD"),
        Read::Scores(_, members) => with(simple("ZMSCORE"), members),
        Read::SortedCount(_) => simple("ZCARD"),
        Read::SortedRange { order, offset, count, .. } => {
            let (first, last) = positions(*offset, *count);
            let mut command = simple("ZRANGE");
            command.arg(first).arg(last);
            if *order == Order::Descending {
                command.arg("REV");
            }
            command.arg("WITHSCORES");
            command
        }
        Read::SortedByScore { order, least, most, count, .. } => {
            let (least, most) = (score_text(*least), score_text(*most));
            let mut command = simple("ZRANGE");
            match order {
                Order::Ascending => command.arg(least).arg(most).arg("BYSCORE"),
                Order::Descending => command.arg(most).arg(least).arg("BYSCORE").arg("REV"),
            };
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            command.arg("LIMIT").arg(0).arg(count).arg("WITHSCORES");
            command
        }
    }
}

fn with(mut command: Cmd, arguments: &[impl ToRedisArgs]) -> Cmd {
    command.arg(arguments);
    command
}

/// The first and last position of a range, for ZRANGE. (1, 0) is an empty range.
fn positions(offset: u64, count: u64) -> (i64, i64) {
    let first = i64::try_from(offset).unwrap_or(i64::MAX);
    match i64::try_from(count).unwrap_or(i64::MAX).checked_sub(1) {
        Some(beyond) if beyond >= 0 => (first, first.saturating_add(beyond)),
        _ => (1, 0),
    }
}

/// The answer to a read.
pub(super) fn answer_of(read: &Read, value: Value) -> Result<Answer, KeyspaceError> {
    let value = checked(read.key(), value)?;
    let answer = match read {
        Read::String(_) => optional(value, text).map(Answer::Text),
        Read::Expiry(_) => integer(&value).map(|milliseconds| Answer::Expiry(expiry(milliseconds))),
        Read::Hash(_) => pairs(value, text).map(|fields| Answer::Hash(Hash(fields))),
        Read::HashFields(_, fields) if fields.is_empty() => Some(Answer::Texts(Vec::new())),
        Read::HashFields(..) => optional_items(value, text).map(Answer::Texts),
        Read::Members(_) => texts(value).map(Answer::Members),
        Read::FieldCount(_) | Read::MemberCount(_) | Read::SortedCount(_) => {
            integer(&value).and_then(|count| u64::try_from(count).ok()).map(Answer::Count)
        }
        Read::HasMember(..) => integer(&value).map(|found| Answer::Bool(found == 1)),
        Read::Scores(_, members) if members.is_empty() => Some(Answer::Scores(Vec::new())),
        Read::Scores(..) => optional_items(value, score).map(Answer::Scores),
        Read::SortedRange { .. } | Read::SortedByScore { .. } => pairs(value, score).map(Answer::Scored),
    };
    answer.ok_or_else(|| unexpected(read.key()))
}

/// A server's answer to a command on a key, unless it is an error.
pub(super) fn checked(key: &str, value: Value) -> Result<Value, KeyspaceError> {
    match value {
        Value::ServerError(error) => Err(server_error(key, &error)),
        value => Ok(value),
    }
}

/// The error for a server's error answer to a command on a key.
pub(super) fn server_error(key: &str, error: &redis::ServerError) -> KeyspaceError {
    if error.code() == "WRONGTYPE" {
        return KeyspaceError::WrongType(key.to_owned());
    }
    let details = error.details().unwrap_or_default();
    // The server refuses the first write of the script then, so nothing is written. The error may
    // come from within the script, with the code of the command in its text.
    let refused = |code: &str| error.code() == code || details.contains(&format!("-{code} "));
    for (code, cause) in [
        ("READONLY", IS_REPLICA),
        ("OOM", OUT_OF_MEMORY),
        ("MISCONF", CANNOT_SAVE),
        ("NOREPLICAS", TOO_FEW_REPLICAS),
    ] {
        if refused(code) {
            return KeyspaceError::ReadOnly(cause.to_owned());
        }
    }
    KeyspaceError::Unavailable(format!("Redis answered {} {details}", error.code()).trim_end().to_owned())
}

/// The error for a server's error answer to a batch.
pub(super) fn commit_error(error: &redis::ServerError) -> KeyspaceError {
    // These come before the script is looked at. Any other may come from its middle.
    let is_refused = matches!(
        error.code(),
        "LOADING" | "BUSY" | "MASTERDOWN" | "NOAUTH" | "NOPERM" | "NOSCRIPT" | "CLUSTERDOWN"
    );
    match server_error("", error) {
        KeyspaceError::Unavailable(reason) if !is_refused => KeyspaceError::Unsure(reason),
        error => error,
    }
}

/// Why a server takes no writes.
pub(super) const IS_REPLICA: &str = "the Redis server is a read-only replica";
pub(super) const OUT_OF_MEMORY: &str = "the Redis server has no memory left";
pub(super) const CANNOT_SAVE: &str = "the Redis server cannot save to its disk";
pub(super) const TOO_FEW_REPLICAS: &str = "the Redis server has too few replicas";

/// The error for an answer that does not fit the command.
pub(super) fn unexpected(key: &str) -> KeyspaceError {
    KeyspaceError::Unavailable(format!("Redis answered something unexpected for the key {key:?}"))
}

/// Whether and when a key expires, from the answer to PTTL.
pub(super) fn expiry(milliseconds: i64) -> Expiry {
    match u64::try_from(milliseconds) {
        Ok(milliseconds) => Expiry::In(Duration::from_millis(milliseconds)),
        Err(_) if milliseconds == -1 => Expiry::Never,
        Err(_) => Expiry::Absent,
    }
}

pub(super) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

pub(super) fn items(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// The items of an answer that may be an array of pairs, without the pairs.
pub(super) fn flat(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Set(items) => Some(items),
        Value::Map(pairs) => Some(pairs.into_iter().flat_map(<[Value; 2]>::from).collect()),
        Value::Array(items) if items.iter().all(|item| matches!(item, Value::Array(_))) => {
            Some(items.into_iter().filter_map(self::items).flatten().collect())
        }
        value => items(value),
    }
}

/// The bytes of a text, which may not be UTF-8.
pub(super) fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text.into_bytes()),
        Value::Okay => Some(b"OK".to_vec()),
        _ => None,
    }
}

/// A text. Another program may have written bytes that are not UTF-8. They are replaced,
/// because one such byte must not make the key unreadable.
pub(super) fn text(value: Value) -> Option<String> {
    let bytes = bytes(value)?;
    Some(
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}

/// A value that may be absent.
fn optional<T>(value: Value, of: fn(Value) -> Option<T>) -> Option<Option<T>> {
    if value == Value::Nil { Some(None) } else { of(value).map(Some) }
}

fn optional_items<T>(value: Value, of: fn(Value) -> Option<T>) -> Option<Vec<Option<T>>> {
    items(value)?.into_iter().map(|item| optional(item, of)).collect()
}

fn texts(value: Value) -> Option<Vec<String>> {
    flat(value)?.into_iter().map(text).collect()
}

/// Texts, each with something else.
pub(super) fn pairs<T>(value: Value, second: fn(Value) -> Option<T>) -> Option<Vec<(String, T)>> {
    let mut items = flat(value)?.into_iter();
    let mut pairs = Vec::with_capacity(items.len() / 2);
    while let Some(first) = items.next() {
        pairs.push((text(first)?, second(items.next()?)?));
    }
    Some(pairs)
}

/// A score. Both zeros are one score, whichever way it was written.
pub(super) fn score(value: Value) -> Option<f64> {
    match value {
        Value::Double(score) => Some(if score == 0.0 { 0.0 } else { score }),
        _ => None,
    }
}

/// A score as Redis reads it, exactly: the shortest digits that mean this very
/// double.
pub(super) fn score_text(score: f64) -> String {
    // Adding zero makes the negative zero positive.
    format!("{:?}", score + 0.0)
}

/// Adds a batch's keys and arguments to a call of `commit.lua`. `channel`
/// gives the server's name of a channel.
pub(super) fn add_batch(
    command: &mut Cmd,
    batch: &Batch,
    guard: Option<&GuardedKeys>,
    channel: impl Fn(&str) -> String,
) {
    command.arg(batch.checks().len() + batch.writes().len() + usize::from(guard.is_some()));
    for check in batch.checks() {
        command.arg(check.key());
    }
    for write in batch.writes() {
        match write {
            Write::Publish(name, _) => command.arg(channel(name)),
            write => command.arg(write.key()),
        };
    }
    if let Some(guard) = guard {
        command.arg(&guard.present);
    }
    command.arg(batch.checks().len()).arg(guard.map_or("", |guard| &guard.text));
    for check in batch.checks() {
        add_operation(command, check.into(), &arguments_of_check(check));
    }
    for write in batch.writes() {
        add_operation(command, write.into(), &arguments_of_write(write));
    }
}

/// Adds a check or a write: its name in `commit.lua`, and its arguments.
fn add_operation(command: &mut Cmd, name: &str, arguments: &[Cow<'_, str>]) {
    command.arg(name).arg(arguments.len());
    for argument in arguments {
        command.arg(&**argument);
    }
}

fn arguments_of_check(check: &Check) -> Vec<Cow<'_, str>> {
    match check {
        Check::KeyAbsent(_) | Check::KeyPresent(_) => Vec::new(),
        Check::StringEquals(_, text)
        | Check::FieldAbsent(_, text)
        | Check::MemberAbsent(_, text)
        | Check::SortedMemberAbsent(_, text)
        | Check::SortedMemberPresent(_, text) => vec![text.into()],
        Check::FieldEquals(_, field, value) => vec![field.into(), value.into()],
        Check::FieldAtLeast(_, field, least) => vec![field.into(), least.to_string().into()],
    }
}

fn arguments_of_write(write: &Write) -> Vec<Cow<'_, str>> {
    let milliseconds = |time: &Duration| time.as_millis().to_string().into();
    match write {
        Write::Set(_, value, None) => vec![value.into()],
        Write::Set(_, value, Some(time_to_live)) => vec![value.into(), milliseconds(time_to_live)],
        Write::Delete(_) => Vec::new(),
        Write::Expire(_, time_to_live) => vec![milliseconds(time_to_live)],
        Write::Increment(_, by) => vec![by.to_string().into()],
        Write::SetFields(_, fields) => {
            fields.iter().flat_map(|(field, value)| [field.into(), value.into()]).collect()
        }
        Write::IncrementField(_, field, by) => vec![field.into(), by.to_string().into()],
        Write::LowerField(_, field, by) => vec![field.into(), by.to_string().into()],
        Write::DeleteField(_, text)
        | Write::AddMember(_, text)
        | Write::RemoveMember(_, text)
        | Write::SortedAppend(_, text)
        | Write::SortedRemove(_, text)
        | Write::Publish(_, text) => vec![text.into()],
        Write::SortedAdd(_, member, score)
        | Write::SortedRaise(_, member, score)
        | Write::SortedAddIfPresent(_, member, score)
        | Write::SortedIncrement(_, member, score) => vec![score_text(*score).into(), member.into()],
        Write::SortedAddBounded(_, member, score, Bound { keep, floors, member: floor }) => {
            let (score, keep) = (score_text(*score), keep.to_string());
            vec![score.into(), member.into(), keep.into(), floors.into(), floor.into()]
        }
        Write::SortedStore(_, Selection { scores, sets, within }) => {
            let within = match within {
                Within::All => "all",
                Within::Any => "any",
            };
            [within.into(), scores.into()].into_iter().chain(sets.iter().map(Into::into)).collect()
        }
        Write::SortedTrim(_, keep) => {
            // All but the last `keep`, counted from the end.
            let last = i64::try_from(*keep).unwrap_or(i64::MAX).saturating_add(1).saturating_neg();
            vec![last.to_string().into()]
        }
    }
}

/// Why a batch was not written to a database that has lost its data or was changed by another version.
const GUARDED: &str = "the database does not have the data that it had";

/// The outcome of a batch, from the answer of `commit.lua`.
pub(super) fn outcome_of(batch: &Batch, value: Value) -> Result<Vec<i64>, CommitError> {
    let strange = || KeyspaceError::Unsure("the commit script answered something unexpected".to_owned());
    let mut answer = items(value).ok_or_else(strange)?.into_iter();
    let word = answer.next().and_then(bytes).ok_or_else(strange)?;
    let numbers: Vec<i64> =
        answer.map(|value| integer(&value).ok_or_else(strange)).collect::<Result<_, _>>()?;
    if word == b"committed" {
        return Ok(numbers);
    }
    if word == b"guarded" {
        return Err(KeyspaceError::Unavailable(GUARDED.to_owned()).into());
    }
    // Lua counts from one. A negative number means another key of the write: the floors of a
    // bounded set, or a key of a selection, whose position follows.
    let number = *numbers.first().ok_or_else(strange)?;
    let position = usize::try_from(number.unsigned_abs().wrapping_sub(1)).map_err(|_| strange())?;
    let key = match batch.checks().get(position) {
        Some(check) => check.key(),
        None => match batch.writes().get(position - batch.checks().len()).ok_or_else(strange)? {
            Write::SortedAddBounded(_, _, _, bound) if number < 0 => &bound.floors,
            Write::SortedStore(_, selection) if number < 0 => {
                let place =
                    numbers.get(1).and_then(|place| usize::try_from(*place).ok()).ok_or_else(strange)?;
                let mut keys = std::iter::once(&selection.scores).chain(&selection.sets);
                keys.nth(place).ok_or_else(strange)?
            }
            write => write.key(),
        },
    };
    Err(match word.as_slice() {
        b"rejected" => CommitError::Rejected(CheckId(position)),
        b"wrong type" => KeyspaceError::WrongType(key.to_owned()).into(),
        b"not an integer" => KeyspaceError::NotAnInteger(key.to_owned()).into(),
        _ => strange().into(),
    })
}
