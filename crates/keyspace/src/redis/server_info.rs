//! A server's description of itself: its answer to INFO.

use super::wire;

pub(super) const IS_LOADING: &str = "the server is still loading its data; try again when it is done";

pub(super) const IS_CLUSTERED: &str = "the server is part of a cluster; name a single server";

/// The oldest version that has all commands: it added ZMSCORE and ZRANGE ... REV.
pub(super) const OLDEST_VERSION: (u32, u32) = (6, 2);

/// A field of the answer of a server to INFO.
pub(super) fn info_field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// The replicas that are connected and have everything but the latest writes, by the server's
/// answer to INFO.
pub(super) fn online_replicas(info: &str) -> usize {
    lines_of_online(info).count()
}

/// The lines about these replicas.
pub(super) fn lines_of_online(info: &str) -> impl Iterator<Item = &str> {
    info.lines().filter(is_online)
}

/// Whether a line is about such a replica.
fn is_online(line: &&str) -> bool {
    line.strip_prefix("slave").is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_ascii_digit()) && rest.contains("state=online")
    })
}

/// Why a server takes no writes that must be on this many replicas, by its answer to INFO.
/// `is_refused`: it has said last that it cannot save. INFO does not tell whether a snapshot that
/// fails keeps it from writing.
pub(super) fn why_read_only(info: &str, replicas: u32, is_refused: bool) -> Option<&'static str> {
    let number = |name| info_field(info, name).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let never_evicts = info_field(info, "maxmemory_policy") == Some("noeviction");
    if info_field(info, "role") == Some("slave") && info_field(info, "slave_read_only") != Some("0") {
        return Some(wire::IS_REPLICA);
    }
    let is_lonely = online_replicas(info) < usize::try_from(replicas).unwrap_or(usize::MAX);
    // Only a server with min-replicas-to-write counts those that are good. How many it needs, INFO does not say.
    let good = info_field(info, "min_slaves_good_slaves").and_then(|text| text.parse::<u32>().ok());
    if is_lonely || good.is_some_and(|good| good < replicas.max(1)) {
        return Some(wire::TOO_FEW_REPLICAS);
    }
    let is_full = number("maxmemory") > 0 && number("used_memory") >= number("maxmemory");
    if never_evicts && is_full {
        return Some(wire::OUT_OF_MEMORY);
    }
    let fails = |name| info_field(info, name) == Some("err");
    let log_fails = info_field(info, "aof_enabled") == Some("1") && fails("aof_last_write_status");
    (log_fails || (is_refused && fails("rdb_last_bgsave_status"))).then_some(wire::CANNOT_SAVE)
}

/// Checks the answer of a server to INFO.
pub(super) fn check_info(info: &str) -> Result<(), String> {
    let field = |name: &str| info_field(info, name);
    let version = field("redis_version").unwrap_or("unknown");
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found < OLDEST_VERSION {
        return Err(format!("the server has version {version}; Redis 6.2 or newer, or Valkey, is needed"));
    }
    // Valkey has no field redis_mode.
    if field("cluster_enabled") == Some("1") {
        return Err(IS_CLUSTERED.to_owned());
    }
    if field("role") == Some("slave") {
        return Err("the server is a read-only replica; name its primary".to_owned());
    }
    if field("loading") == Some("1") {
        return Err(IS_LOADING.to_owned());
    }
    Ok(())
}

/// The policy by which a server deletes keys when its memory is full, if it does, by its answer to INFO.
pub(super) fn evicts(info: &str) -> Option<String> {
    let policy = info_field(info, "maxmemory_policy").filter(|policy| *policy != "noeviction")?;
    info_field(info, "maxmemory").is_some_and(|limit| limit != "0").then(|| policy.to_owned())
}
