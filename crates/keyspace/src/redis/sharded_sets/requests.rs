//! The requests to a set, as commands.

use super::exchange::{COMMAND_BYTES, KeyRequest};
use super::{Addition, SetPart, SetRead};
use crate::redis::wire;
use redis::{Cmd, Value, cmd};
use std::hash::{DefaultHasher, Hash, Hasher};

/// About what a score and the lengths of a member take, in bytes.
const MEMBER_BYTES: usize = 40;
/// One in so many additions of a single member also drops the lowest members, which costs about as much as
/// the addition.
const TRIMMED_ONE_IN: u64 = 8;

/// Adds members, and sometimes drops the lowest after it. These are two commands, and no script, which
/// takes twice the time on a cluster: see `docs/decisions/0027-home-timelines-on-a-cluster.md`.
pub(super) struct Add {
    pub(super) addition: Addition,
    pub(super) keep: u64,
}

impl Add {
    /// Whether it drops the lowest: always for several members, and for one in [`TRIMMED_ONE_IN`] single
    /// ones. The same addition does the same again.
    fn trims(&self) -> bool {
        let Addition { key, members } = &self.addition;
        let [(member, _)] = &members[..] else { return true };
        let mut hasher = DefaultHasher::new();
        (key, member).hash(&mut hasher);
        hasher.finish().is_multiple_of(TRIMMED_ONE_IN)
    }
}

impl KeyRequest for Add {
    type Answer = ();
    const WRITES: bool = true;

    fn key(&self) -> &str {
        &self.addition.key
    }

    fn size(&self) -> usize {
        let members = self.addition.members.iter().map(|(member, _)| member.len() + MEMBER_BYTES);
        COMMAND_BYTES * 2 + self.addition.key.len() * 2 + members.sum::<usize>()
    }

    fn add_to(&self, commands: &mut Vec<Cmd>) {
        let Addition { key, members } = &self.addition;
        if !members.is_empty() {
            let mut add = wire::on("ZADD", key);
            for (member, score) in members {
                add.arg(wire::score_text(*score)).arg(member);
            }
            commands.push(add);
        }
        if self.trims() {
            let keep = i64::try_from(self.keep).unwrap_or(i64::MAX - 1);
            let mut trim = wire::on("ZREMRANGEBYRANK", key);
            trim.arg(0).arg(-(keep + 1));
            commands.push(trim);
        }
    }

    fn answer(&self, _: &mut [Value]) -> Option<()> {
        Some(())
    }
}

pub(super) struct Read(pub(super) SetRead);

impl Read {
    /// Whether the set is wanted whole.
    fn is_of_all(&self) -> bool {
        self.0.limit == u64::MAX && self.0.bounds == (f64::NEG_INFINITY, f64::INFINITY)
    }
}

impl KeyRequest for Read {
    type Answer = SetPart;
    const WRITES: bool = false;

    fn key(&self) -> &str {
        &self.0.key
    }

    fn is_transaction(&self) -> bool {
        !self.is_of_all()
    }

    fn add_to(&self, commands: &mut Vec<Cmd>) {
        let SetRead { key, bounds: (least, most), limit, keep } = &self.0;
        let mut entries = wire::on("ZRANGE", key);
        if self.is_of_all() {
            entries.arg(0).arg(-1).arg("REV").arg("WITHSCORES");
            commands.push(entries);
            return;
        }
        let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
        let (least, most) = (wire::score_text(*least), wire::score_text(*most));
        entries.arg(most).arg(least).arg("BYSCORE").arg("REV");
        entries.arg("LIMIT").arg(0).arg(limit).arg("WITHSCORES");
        let place = i64::try_from(*keep).unwrap_or(i64::MAX).max(1) - 1;
        let mut end = wire::on("ZRANGE", key);
        end.arg(place).arg(place).arg("REV").arg("WITHSCORES");
        // As of one moment: otherwise a set could be trimmed between the commands.
        commands.extend([cmd("MULTI"), entries, end, cmd("EXEC")]);
    }

    fn answer(&self, values: &mut [Value]) -> Option<SetPart> {
        let answer = std::mem::take(values.last_mut()?);
        if self.is_of_all() {
            let entries = wire::pairs(answer, wire::score)?;
            let place = usize::try_from(self.0.keep).unwrap_or(usize::MAX).max(1) - 1;
            let end = entries.get(place).map(|(_, score)| *score);
            return Some(SetPart { entries, end });
        }
        let mut parts = wire::items(answer)?.into_iter();
        let entries = wire::pairs(parts.next()?, wire::score)?;
        let end = wire::pairs(parts.next()?, wire::score)?.first().map(|(_, score)| *score);
        Some(SetPart { entries, end })
    }
}

pub(super) struct Delete(pub(super) String);

impl KeyRequest for Delete {
    type Answer = ();
    const WRITES: bool = true;

    fn key(&self) -> &str {
        &self.0
    }

    fn add_to(&self, commands: &mut Vec<Cmd>) {
        // The memory is freed on another thread.
        commands.push(wire::on("UNLINK", &self.0));
    }

    fn answer(&self, _: &mut [Value]) -> Option<()> {
        Some(())
    }
}
