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
    let info = wire::text(answer).unwrap_or_default();
    Ok(History(stream_of(&info).map(Into::into)))
}

/// A primary's stream of writes, from its answer to INFO; `None` if it is not that of a primary. After a
/// failover, the new primary begins another.
fn stream_of(info: &str) -> Option<&str> {
    info_field(info, "master_replid").filter(|_| info_field(info, "role") == Some("master"))
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
    fn a_primary_names_its_stream() {
        let info = "role:master\r\nmaster_replid:abc\r\nmaster_repl_offset:17\r\n";
        assert_eq!(stream_of(info), Some("abc"));
        assert_eq!(stream_of(&info.replace("master\r", "slave\r")), None);
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
