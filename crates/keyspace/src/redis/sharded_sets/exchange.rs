//! Sends requests, each of one key, to the servers that have the keys: one pipeline for each server.
//!
//! Every request is safe to repeat. So whatever goes wrong, the request is sent again, to where the key is
//! by then, until the time is over.

use super::cluster::{Cluster, Target, host_of};
use super::node::Node;
use super::slots::slot_of;
use crate::KeyspaceError;
use crate::limits::{MAX_SET_PIPELINE_BYTES, MAX_SET_PIPELINE_KEYS, MAX_SET_PIPELINES};
use crate::redis::failures::reason_of;
use crate::redis::sentinel_url::address;
use crate::redis::{replicas, wire};
use futures_util::{StreamExt, stream};
use redis::{Cmd, Pipeline, ServerError, ServerErrorKind, Value, cmd};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long to wait before the second attempt after a failure. Each wait is twice as long as the last.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest wait.
const LONGEST_PAUSE: Duration = Duration::from_millis(160);
/// How many times requests are sent on at once, when nothing but slots has moved.
const PROMPT_ATTEMPTS: u32 = 3;

/// About what the words of a command take, in bytes.
pub(super) const COMMAND_BYTES: usize = 100;

/// Something to do with one key, any number of times with the same outcome.
pub(super) trait KeyRequest {
    /// The result of the request.
    type Answer;
    /// Whether it writes.
    const WRITES: bool;

    /// The key.
    fn key(&self) -> &str;
    /// About the length of the commands, in bytes.
    fn size(&self) -> usize {
        COMMAND_BYTES * 2 + self.key().len() * 3
    }
    /// Whether its commands are a transaction.
    fn is_transaction(&self) -> bool {
        false
    }
    /// Adds its commands.
    fn add_to(&self, commands: &mut Vec<Cmd>);
    /// Reads the answers to them, of which none is an error; nothing if they are not as expected.
    fn answer(&self, values: &mut [Value]) -> Option<Self::Answer>;
}

/// Where the sets are.
pub(super) enum SetPlace {
    /// On one server.
    Server(Arc<Node>),
    /// On the servers of a cluster.
    Cluster(Box<Cluster>),
}

/// A request that has no answer yet.
struct Pending {
    /// Its place among the requests.
    index: usize,
    slot: u16,
    /// Where a server has said that it must go.
    redirect: Option<Redirect>,
    /// Whether the master has a replica that the cluster does not know to be well yet.
    must_wait: bool,
}

impl Pending {
    const fn new(index: usize, slot: u16) -> Self {
        Self { index, slot, redirect: None, must_wait: false }
    }

    /// Whether the server must be told that we know that the slot is on its way there.
    fn is_asking(&self) -> bool {
        self.redirect.as_ref().is_some_and(|redirect| redirect.is_asking)
    }
}

/// The answer of a server that does not have the slot.
struct Redirect {
    address: String,
    /// Whether the slot is on its way there, so that this server must be told that we know.
    is_asking: bool,
}

/// Requests for one server.
struct Group {
    target: Target,
    pending: Vec<Pending>,
}

/// The outcome of a group.
struct GroupOutcome<A> {
    answered: Vec<(usize, A)>,
    /// To be sent again.
    left: Vec<Pending>,
    /// Why.
    reason: Option<String>,
}

impl<A> GroupOutcome<A> {
    fn failed(pending: Vec<Pending>, reason: String) -> Self {
        let left = pending.into_iter().map(|pending| Pending { redirect: None, ..pending }).collect();
        Self { answered: Vec::new(), left, reason: Some(reason) }
    }
}

impl SetPlace {
    /// Sends requests until all are answered or the time is over.
    pub(super) async fn send<R: KeyRequest>(
        &self,
        requests: &[R],
        deadline: Instant,
    ) -> Result<Vec<R::Answer>, KeyspaceError> {
        let mut answers: Vec<Option<R::Answer>> = requests.iter().map(|_| None).collect();
        let pending = |(index, request)| Pending::new(index, self.slot(request));
        let mut left: Vec<Pending> = requests.iter().enumerate().map(pending).collect();
        let (mut attempts, mut pause) = (0, FIRST_PAUSE);
        let mut earlier = None;
        while !left.is_empty() {
            let mut reason = None;
            let mut known = 0;
            match self.groups(left, requests) {
                Ok((groups, version)) => {
                    known = version;
                    left = Vec::new();
                    let mut sent = stream::iter(groups)
                        .map(|group| send_group(group, requests, deadline))
                        .buffer_unordered(MAX_SET_PIPELINES);
                    while let Some(outcome) = sent.next().await {
                        let outcome = outcome?;
                        for (index, answer) in outcome.answered {
                            answers[index] = Some(answer);
                        }
                        left.extend(outcome.left);
                        reason = reason.or(outcome.reason);
                    }
                }
                Err((pending, why)) => (left, reason) = (pending, Some(why)),
            }
            if left.is_empty() {
                break;
            }
            attempts += 1;
            let is_prompt = reason.is_none() && attempts <= PROMPT_ATTEMPTS;
            let reason = reason.unwrap_or_else(|| "the slots of the cluster are being moved".to_owned());
            let now = Instant::now();
            if now + pause >= deadline {
                // An attempt that the deadline has cut short knows less than the one before.
                let reason = if now >= deadline { earlier.unwrap_or(reason) } else { reason };
                return Err(KeyspaceError::Unavailable(reason));
            }
            earlier = Some(reason);
            if !is_prompt {
                sleep(pause).await;
                pause = LONGEST_PAUSE.min(pause * 2);
            }
            self.renew(known, deadline).await?;
        }
        answers.into_iter().map(|answer| answer.ok_or_else(|| wire::unexpected(""))).collect()
    }

    fn slot<R: KeyRequest>(&self, request: &R) -> u16 {
        match self {
            Self::Server(_) => 0,
            Self::Cluster(_) => slot_of(request.key()),
        }
    }

    /// Looks again where the slots are.
    async fn renew(&self, known: u64, deadline: Instant) -> Result<(), KeyspaceError> {
        let Self::Cluster(cluster) = self else { return Ok(()) };
        match tokio::time::timeout_at(deadline, cluster.renew(known)).await {
            // The map of before may still lead somewhere.
            Ok(Err(failure)) if !failure.may_heal && cluster.map().is_none() => {
                Err(KeyspaceError::Unavailable(failure.reason))
            }
            Ok(_) => Ok(()),
            Err(_) => Err(KeyspaceError::Unavailable("no node of the cluster has answered".to_owned())),
        }
    }

    /// Divides requests by server, and into pipelines of bounded size. Returns the version of the map,
    /// too; or the requests again if it is not known where they belong.
    fn groups<R: KeyRequest>(
        &self,
        left: Vec<Pending>,
        requests: &[R],
    ) -> Result<(Vec<Group>, u64), (Vec<Pending>, String)> {
        let cluster = match self {
            Self::Server(node) => {
                let mut groups = Vec::new();
                divide(Target::server(node.clone()), left, requests, &mut groups);
                return Ok((groups, 0));
            }
            Self::Cluster(cluster) => cluster,
        };
        let Some(map) = cluster.map() else {
            return Err((left, "no node of the cluster has answered".to_owned()));
        };
        let masters = match cluster.masters(&map) {
            Ok(masters) => masters,
            Err(error) => return Err((left, error.to_string())),
        };
        let mut by_master: Vec<Vec<Pending>> = masters.iter().map(|_| Vec::new()).collect();
        let mut groups = Vec::new();
        let mut unowned = None;
        let mut elsewhere: Vec<(Target, Vec<Pending>)> = Vec::new();
        for pending in left {
            if let Some(redirect) = &pending.redirect
                && let Ok(target) = cluster.redirected(&map, &redirect.address)
            {
                match elsewhere.iter_mut().find(|(known, _)| known.node.name == target.node.name) {
                    Some((_, moved)) => moved.push(pending),
                    None => elsewhere.push((target, vec![pending])),
                }
            } else if let Some(owner) = map.owner(pending.slot) {
                by_master[owner].push(pending);
            } else {
                unowned.get_or_insert_with(Vec::new).push(pending);
            }
        }
        // Nothing is sent if something has no place: it would be sent again with the rest.
        if let Some(mut unowned) = unowned {
            unowned.extend(by_master.into_iter().flatten());
            unowned.extend(elsewhere.into_iter().flat_map(|(_, moved)| moved));
            return Err((unowned, format!("{} slots of the cluster have no server", map.unowned())));
        }
        for (target, pending) in masters.into_iter().zip(by_master).chain(elsewhere) {
            divide(target, pending, requests, &mut groups);
        }
        Ok((groups, map.version))
    }
}

/// Divides what goes to one server into pipelines of bounded size.
fn divide<R: KeyRequest>(target: Target, pending: Vec<Pending>, requests: &[R], groups: &mut Vec<Group>) {
    let mut group = Vec::new();
    let mut size = 0;
    for pending in pending {
        size += requests[pending.index].size();
        group.push(pending);
        if group.len() >= MAX_SET_PIPELINE_KEYS || size >= MAX_SET_PIPELINE_BYTES {
            groups.push(Group { target: target.clone(), pending: std::mem::take(&mut group) });
            size = 0;
        }
    }
    if !group.is_empty() {
        groups.push(Group { target, pending: group });
    }
}

/// The pipeline for a group.
struct Packed {
    pipeline: Pipeline,
    /// How many commands each request has.
    lengths: Vec<usize>,
    /// The places of ASKING, whose answers nobody wants.
    asking: Vec<usize>,
    ending: Ending,
}

/// The commands after the requests in a pipeline.
enum Ending {
    /// Nothing: they only read, or the server is in no cluster.
    Nothing,
    /// The question which replicas the master has.
    Replicas,
    /// The commands of [`add_marker`], so many, and `WAIT`.
    Wait { marker: usize },
}

/// Makes the pipeline for a group, which is given up after `left`.
fn pack<R: KeyRequest>(group: &Group, requests: &[R], left: Duration) -> Packed {
    let Group { target, pending } = group;
    let mut pipeline = Pipeline::with_capacity(pending.len() * 2 + 6);
    let mut asking = Vec::new();
    let mut commands = Vec::new();
    let mut lengths = Vec::with_capacity(pending.len());
    for pending in pending {
        let request = &requests[pending.index];
        request.add_to(&mut commands);
        lengths.push(commands.len());
        for (number, command) in commands.drain(..).enumerate() {
            // It holds for the next command, or for all of a transaction.
            if pending.is_asking() && (number == 0 || !request.is_transaction()) {
                asking.push(pipeline.len());
                pipeline.add_command(cmd("ASKING"));
            }
            pipeline.add_command(command);
        }
    }
    let waits = target.has_replica || pending.iter().any(|pending| pending.must_wait);
    let ending = if R::WRITES && waits {
        let before = pipeline.len();
        if let Some(last) = pending.last() {
            add_marker(last, requests[last.index].key(), &mut pipeline);
        }
        let marker = pipeline.len() - before;
        // The answer must come before the request is given up.
        let patience_ms = u64::try_from(left.as_millis() / 2).unwrap_or(u64::MAX);
        pipeline.cmd("WAIT").arg(1).arg(patience_ms.max(1));
        Ending::Wait { marker }
    } else if R::WRITES && target.is_in_cluster {
        pipeline.cmd("INFO").arg("replication");
        Ending::Replicas
    } else {
        Ending::Nothing
    };
    Packed { pipeline, lengths, asking, ending }
}

/// Sends one pipeline and reads the answers.
async fn send_group<R: KeyRequest>(
    group: Group,
    requests: &[R],
    deadline: Instant,
) -> Result<GroupOutcome<R::Answer>, KeyspaceError> {
    let left = deadline.saturating_duration_since(Instant::now());
    let Packed { pipeline, lengths, asking, ending } = pack(&group, requests, left);
    let Group { target, pending } = group;
    let node = &target.node;
    let sent = if R::WRITES { node.write(&pipeline, left).await } else { node.read(&pipeline, left).await };
    let mut values = match sent {
        Ok(values) => values,
        Err(failure) => {
            let reason = format!("{}: {}", node.name, reason_of(&failure, left));
            return Ok(GroupOutcome::failed(pending, reason));
        }
    };
    let mut is_confirmed = true;
    match ending {
        Ending::Nothing => {}
        Ending::Wait { marker } => {
            if let Err(reason) = confirmed(values.pop()) {
                return Ok(GroupOutcome::failed(pending, format!("{}: {reason}", node.name)));
            }
            is_confirmed =
                matches!(values.last(), Some(Value::Array(answers)) if first_error(answers).is_none());
            values.truncate(values.len().saturating_sub(marker));
        }
        Ending::Replicas if has_live_replica(values.pop()) => {
            // It has just come, and might take over before it has this. So write again, and wait.
            let left = pending.into_iter().map(|pending| Pending { must_wait: true, ..pending }).collect();
            return Ok(GroupOutcome { answered: Vec::new(), left, reason: None });
        }
        Ending::Replicas => {}
    }
    if !asking.is_empty() {
        let mut place = 0;
        values.retain(|_| (asking.binary_search(&place).is_err(), place += 1).0);
    }
    let mut outcome = read_answers(requests, pending, &lengths, &mut values, &node.name)?;
    if !is_confirmed {
        // The last key has another server now, so nothing has marked what was written to this one.
        let answered = outcome.answered.drain(..);
        outcome.left.extend(answered.map(|(index, _)| Pending::new(index, slot_of(requests[index].key()))));
    }
    Ok(outcome)
}

/// Adds commands that leave everything as it is, and that go to the replicas in any case: since Redis 7.2,
/// and on Valkey, `WAIT` does not wait for what is as it was before, because somebody else has just written
/// it. They are of the key of the last request, because no other key must be here.
fn add_marker(last: &Pending, key: &str, pipeline: &mut Pipeline) {
    if last.is_asking() {
        pipeline.add_command(cmd("ASKING"));
    }
    pipeline.cmd("MULTI");
    pipeline.cmd("ZADD").arg(key).arg("-inf").arg("");
    pipeline.cmd("ZREM").arg(key).arg("");
    pipeline.cmd("EXEC");
}

/// Whether a replica has what was written, by the answer to WAIT.
fn confirmed(answer: Option<Value>) -> Result<(), String> {
    match answer {
        Some(Value::Int(count)) if count >= 1 => Ok(()),
        Some(Value::ServerError(error)) => Err(format!("Redis answered {} to WAIT", error.code())),
        _ => Err("no replica has confirmed the writes".to_owned()),
    }
}

/// Whether a master has a replica that is well, by its answer to INFO.
fn has_live_replica(answer: Option<Value>) -> bool {
    replicas::has_live_replica(&answer.and_then(wire::text).unwrap_or_default())
}

/// Reads the answers to a group.
fn read_answers<R: KeyRequest>(
    requests: &[R],
    pending: Vec<Pending>,
    lengths: &[usize],
    mut values: &mut [Value],
    node: &str,
) -> Result<GroupOutcome<R::Answer>, KeyspaceError> {
    let mut outcome =
        GroupOutcome { answered: Vec::with_capacity(pending.len()), left: Vec::new(), reason: None };
    for (pending, length) in pending.into_iter().zip(lengths) {
        let request = &requests[pending.index];
        let strange = || wire::unexpected(request.key());
        let (own, rest) = values.split_at_mut_checked(*length).ok_or_else(strange)?;
        values = rest;
        if let Some(error) = first_error(own) {
            if let Some(redirect) = redirect(error, node) {
                outcome.left.push(Pending { redirect: Some(redirect), ..pending });
            } else if may_pass(error) {
                outcome.left.push(Pending { redirect: None, ..pending });
                outcome.reason.get_or_insert_with(|| format!("{node}: Redis answered {}", error.code()));
            } else {
                return Err(wire::server_error(request.key(), error));
            }
            continue;
        }
        let answer = request.answer(own).ok_or_else(strange)?;
        outcome.answered.push((pending.index, answer));
    }
    Ok(outcome)
}

/// The first error among answers, also within a transaction.
fn first_error(values: &[Value]) -> Option<&ServerError> {
    values.iter().find_map(|value| match value {
        Value::ServerError(error) => Some(error),
        Value::Array(values) => values.iter().find_map(|value| match value {
            Value::ServerError(error) => Some(error),
            _ => None,
        }),
        _ => None,
    })
}

/// Where a server says that the key is, if it says so: `MOVED SLOT HOST:PORT` or `ASK SLOT HOST:PORT`.
fn redirect(error: &ServerError, node: &str) -> Option<Redirect> {
    let is_asking = match error.kind() {
        Some(ServerErrorKind::Moved) => false,
        Some(ServerErrorKind::Ask) => true,
        _ => return None,
    };
    let (host, port) = error.details()?.split_whitespace().nth(1)?.rsplit_once(':')?;
    // A server that does not know its own name leaves it out.
    let host = if host.is_empty() { host_of(node) } else { host };
    Some(Redirect { address: address(host, port.parse().ok()?), is_asking })
}

/// Whether it is to be expected that the same request will be answered soon, perhaps by another server.
fn may_pass(error: &ServerError) -> bool {
    matches!(
        error.code(),
        "TRYAGAIN"
            | "CLUSTERDOWN"
            | "LOADING"
            | "MASTERDOWN"
            | "READONLY"
            | "NOSCRIPT"
            | "UNBLOCKED"
            | "BUSY"
    )
}
