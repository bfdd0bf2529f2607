//! A server's answers about its replicas and its own role.

use super::place::NoConnection;
use super::server_info::{info_field, lines_of_online};
use super::wire;
use crate::history::History;
use redis::aio::MultiplexedConnection;
use redis::{Value, cmd};

/// How long a replica that is well may be silent: it confirms what it has once a second.
const MAX_LAG_SECONDS: u64 = 2;

/// Refuses a server that is not a primary. The Sentinels may still name one that was replaced, or
/// already name one that is not promoted yet.
pub(super) async fn demand_primary(connection: &mut MultiplexedConnection) -> Result<(), NoConnection> {
    let answer = connection.send_packed_command(&cmd("ROLE")).await?;
    if let Value::ServerError(error) = answer {
        return Err(NoConnection::Redis(error.into()));
    }
    let role = wire::items(answer).and_then(|answer| wire::bytes(answer.into_iter().next()?));
    match role.as_deref() {
        Some(b"master") => Ok(()),
        role => Err(NoConnection::NoPrimary(format!(
            "the server that the Sentinels name is no primary at the moment, but a {}",
            String::from_utf8_lossy(role.unwrap_or(b"server of another kind"))
        ))),
    }
}

/// Asks a server which history it has; none, if it is no primary or does not say it.
pub(super) async fn history_of(connection: &mut MultiplexedConnection) -> Result<History, NoConnection> {
    let answer = connection.send_packed_command(cmd("INFO").arg("replication")).await?;
    let info = wire::bytes(answer).unwrap_or_default();
    let primary = PrimaryState::read(&String::from_utf8_lossy(&info));
    Ok(History(primary.map(|primary| primary.stream.into())))
}

/// A primary's stream of writes and its replicas, from its answer to INFO.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PrimaryState {
    /// Which stream it is. After a failover, the new primary begins another.
    pub(super) stream: String,
    /// How long it is, in bytes.
    pub(super) offset: u64,
    /// Where the replicas are that follow it.
    pub(super) replicas: Vec<(String, u16)>,
}

impl PrimaryState {
    /// Reads the answer; `None` if it is not that of a primary.
    pub(super) fn read(info: &str) -> Option<Self> {
        if info_field(info, "role") != Some("master") {
            return None;
        }
        let stream = info_field(info, "master_replid")?.to_owned();
        let offset = info_field(info, "master_repl_offset")?.parse().ok()?;
        let replica = |line: &str| {
            let facts = line.split_once(':')?.1;
            let fact =
                |name: &str| facts.split(',').find_map(|fact| fact.strip_prefix(name)?.strip_prefix('='));
            Some((fact("ip")?.to_owned(), fact("port")?.trim().parse().ok()?))
        };
        let replicas = lines_of_online(info).filter_map(replica).collect();
        Some(Self { stream, offset, replicas })
    }
}

/// A replica's position in the stream of writes, from its answer to INFO.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReplicaState {
    /// Which stream it follows.
    pub(super) stream: String,
    /// How much of it it has, in bytes.
    pub(super) offset: u64,
}

impl ReplicaState {
    /// Reads the answer; `None` if it is not that of a replica that is connected with its primary.
    pub(super) fn read(info: &str) -> Option<Self> {
        if info_field(info, "role") != Some("slave") || info_field(info, "master_link_status") != Some("up") {
            return None;
        }
        let stream = info_field(info, "master_replid")?.to_owned();
        Some(Self { stream, offset: info_field(info, "slave_repl_offset")?.parse().ok()? })
    }
}

/// Whether a replica that is online has been heard of within the last seconds.
pub(super) fn has_live_replica(info: &str) -> bool {
    lines_of_online(info).any(|line| {
        let lag = line.split(',').find_map(|part| part.trim().strip_prefix("lag="));
        lag.and_then(|lag| lag.parse::<u64>().ok()).is_some_and(|lag| lag <= MAX_LAG_SECONDS)
    })
}

/// The warning about the server's setting `min-replicas-to-write`, by its answer to CONFIG GET; `None` if
/// the setting is as it should be.
pub(super) fn warning_about_settings(answer: Value) -> Option<String> {
    let advice = "a primary that was cut off from its replicas goes on taking writes, which are lost; set \
                  min-replicas-to-write to 1 on every Redis server, and min-replicas-max-lag to 10 or less";
    let Some(found) = wire::flat(answer) else {
        return Some("min-replicas-to-write cannot be checked, because CONFIG GET is not allowed".to_owned());
    };
    let text = |value: &Value| String::from_utf8(wire::bytes(value.clone())?).ok();
    let value = found.get(1).and_then(text).unwrap_or_default();
    let is_set = value.parse::<u64>().is_ok_and(|least| least > 0);
    (!is_set).then(|| advice.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::server_info::online_replicas;

    #[test]
    fn replicas_that_are_online_are_counted() {
        let info = "role:master\r\nconnected_slaves:3\r\n\
                    slave0:ip=127.0.0.1,port=2,state=online,offset=1,lag=0\r\n\
                    slave1:ip=127.0.0.1,port=3,state=wait_bgsave,offset=0,lag=0\r\n\
                    slave12:ip=127.0.0.1,port=4,state=online,offset=1,lag=1\r\n\
                    slave_read_only:1\r\n";
        assert_eq!(online_replicas(info), 2);
        assert!(has_live_replica(info));
        let hangs =
            "slave0:ip=127.0.0.1,port=2,state=online,offset=1,lag=3\r\nslave1:state=wait_bgsave,lag=0\r\n";
        assert!(!has_live_replica(hangs));
        assert_eq!(online_replicas("role:master\r\nconnected_slaves:0\r\n"), 0);
    }

    #[test]
    fn a_primary_says_how_long_its_stream_is_and_who_follows_it() {
        let info = "role:master\r\nconnected_slaves:2\r\n\
                    slave0:ip=127.0.0.1,port=2,state=online,offset=1,lag=0\r\n\
                    slave1:ip=::1,port=3,state=wait_bgsave,offset=0,lag=0\r\n\
                    slave2:ip=::1,port=4,state=online,offset=1,lag=1\r\n\
                    master_replid:abc\r\nmaster_repl_offset:17\r\n";
        let replicas = vec![("127.0.0.1".to_owned(), 2), ("::1".to_owned(), 4)];
        let state = PrimaryState { stream: "abc".to_owned(), offset: 17, replicas };
        assert_eq!(PrimaryState::read(info), Some(state));
        assert_eq!(PrimaryState::read(&info.replace("master\r", "slave\r")), None);
    }

    #[test]
    fn a_replica_says_how_much_it_has_while_it_is_connected() {
        let info = "role:slave\r\nmaster_link_status:up\r\nslave_repl_offset:12\r\nmaster_replid:abc\r\n";
        let state = ReplicaState { stream: "abc".to_owned(), offset: 12 };
        assert_eq!(ReplicaState::read(info), Some(state));
        assert_eq!(ReplicaState::read(&info.replace("up", "down")), None);
        assert_eq!(ReplicaState::read(&info.replace("slave\r", "master\r")), None);
    }

    #[test]
    fn a_primary_that_writes_alone_is_warned_of() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let map = |value: &str| Value::Map(vec![(text("min-replicas-to-write"), text(value))]);
        assert_eq!(warning_about_settings(map("1")), None);
        assert_eq!(
            warning_about_settings(Value::Array(vec![text("min-replicas-to-write"), text("2")])),
            None
        );
        for answer in [map("0"), Value::Array(Vec::new())] {
            let warning = warning_about_settings(answer);
            assert!(warning.is_some_and(|warning| warning.contains("set min-replicas-to-write to 1")));
        }
        let warning = warning_about_settings(Value::Nil);
        assert!(warning.is_some_and(|warning| warning.contains("cannot be checked")));
    }
}
