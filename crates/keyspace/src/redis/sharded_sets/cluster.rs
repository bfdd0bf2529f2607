//! A cluster: which of its servers has which slots.
//!
//! The nodes are asked once a second, and when an answer shows that the map is out of date. Some nodes
//! may not have heard of a failover yet, so several are asked, and the one that knows the latest election is
//! right.

use super::cluster_url::ClusterUrl;
use super::node::Node;
use super::slots::SLOTS;
use crate::limits::MAX_ASKED_NODES;
use crate::redis::failures::{OpenFailure, advice};
use crate::redis::place::Place;
use crate::redis::sentinel_url::address;
use crate::redis::server_info::info_field;
use crate::redis::wire;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::{Mutex, RwLock};
use redis::{Pipeline, RedisError, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long a node may take to say which slots there are, at most.
const PATIENCE: Duration = Duration::from_millis(500);

/// A cluster that a URL names.
pub(super) struct Cluster {
    url: ClusterUrl,
    timeout: Duration,
    /// By `HOST:PORT`: those of the URL, those of the map, and those to which a node has sent us.
    nodes: Mutex<HashMap<String, Arc<Node>>>,
    map: RwLock<Option<Arc<SlotMap>>>,
    /// Locked while the map is renewed, so that concurrent calls share one renewal.
    renewing: tokio::sync::Mutex<()>,
    /// Nodes are asked in turn.
    turn: AtomicUsize,
}

/// Which server has which slots.
pub(super) struct SlotMap {
    /// The number of this map.
    pub(super) version: u64,
    /// The number of the latest election that the node knew.
    epoch: u64,
    /// Whether the node says that the cluster works.
    works: bool,
    /// By slot, the place in `masters`.
    owners: Vec<Option<u16>>,
    masters: Vec<Master>,
    /// All nodes of the cluster.
    addresses: Vec<String>,
}

/// A server that has slots.
struct Master {
    address: String,
    /// Whether it has a replica that is well, by what the cluster knows.
    has_replica: bool,
}

/// Where to send something.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) node: Arc<Node>,
    /// Whether it may have replicas that take over.
    pub(super) is_in_cluster: bool,
    /// Whether it has one that is well, which is to confirm what is written.
    pub(super) has_replica: bool,
}

impl Target {
    /// A single server.
    pub(super) const fn server(node: Arc<Node>) -> Self {
        Self { node, is_in_cluster: false, has_replica: false }
    }
}

impl Cluster {
    pub(super) fn parse(url: &str, timeout: Duration) -> Result<Self, String> {
        let url = ClusterUrl::parse(url)?;
        let cluster = Self {
            url,
            timeout,
            nodes: Mutex::default(),
            map: RwLock::default(),
            renewing: tokio::sync::Mutex::default(),
            turn: AtomicUsize::new(0),
        };
        for node in &cluster.url.nodes {
            cluster.node(node).map_err(|error| advice(&error))?;
        }
        Ok(cluster)
    }

    /// The node at `HOST:PORT`.
    fn node(&self, address: &str) -> Result<Arc<Node>, RedisError> {
        let mut nodes = self.nodes.lock();
        if let Some(node) = nodes.get(address) {
            return Ok(node.clone());
        }
        let place = Arc::new(Place::parse(&self.url.node_url(address), self.timeout)?);
        let node = Arc::new(Node::new(address.to_owned(), &place, self.timeout));
        nodes.insert(address.to_owned(), node.clone());
        Ok(node)
    }

    /// The map at the moment, if any node has ever answered.
    pub(super) fn map(&self) -> Option<Arc<SlotMap>> {
        self.map.read().clone()
    }

    /// The masters by a map.
    pub(super) fn masters(&self, map: &SlotMap) -> Result<Vec<Target>, RedisError> {
        map.masters.iter().map(|master| self.target(&master.address, master.has_replica)).collect()
    }

    fn target(&self, address: &str, has_replica: bool) -> Result<Target, RedisError> {
        Ok(Target { node: self.node(address)?, is_in_cluster: true, has_replica })
    }

    /// The node to which another one has sent us.
    pub(super) fn redirected(&self, map: &SlotMap, address: &str) -> Result<Target, RedisError> {
        let master = map.masters.iter().find(|master| master.address == address);
        // A node that is not in the map yet has just been promoted, or has slots for the first time.
        self.target(address, master.is_some_and(|master| master.has_replica))
    }

    /// Asks the nodes for the map, unless there is a newer one than `known`.
    pub(super) async fn renew(&self, known: u64) -> Result<(), OpenFailure> {
        let _turn = self.renewing.lock().await;
        if self.map().is_some_and(|map| map.version > known) {
            return Ok(());
        }
        let map = self.ask_some().await?;
        self.forget_others(&map);
        *self.map.write() = Some(Arc::new(map));
        Ok(())
    }

    /// Asks some nodes at once, and takes the latest answer as soon as most of them have answered.
    async fn ask_some(&self) -> Result<SlotMap, OpenFailure> {
        let before = self.map();
        let addresses = self.to_be_asked(before.as_deref());
        let version = before.map_or(0, |map| map.version) + 1;
        let mut asked: FuturesUnordered<_> =
            addresses.iter().map(|address| self.ask(address, version)).collect();
        let enough = addresses.len() / 2 + 1;
        let mut latest: Option<SlotMap> = None;
        let mut failure: Option<OpenFailure> = None;
        let mut answered = 0;
        while let Some(answer) = asked.next().await {
            match answer {
                Ok(map) => {
                    answered += 1;
                    if latest.as_ref().is_none_or(|latest| latest.rank() < map.rank()) {
                        latest = Some(map);
                    }
                }
                // A failure that does not heal must be told, so it takes the place of one that may.
                Err(error) if failure.as_ref().is_none_or(|failure| failure.may_heal) => {
                    failure = Some(error);
                }
                Err(_) => {}
            }
            if answered >= enough {
                break;
            }
        }
        latest.ok_or_else(|| {
            failure.unwrap_or_else(|| OpenFailure {
                reason: "no node of the cluster has answered".to_owned(),
                may_heal: true,
            })
        })
    }

    /// The nodes to ask next: not always the same.
    fn to_be_asked(&self, map: Option<&SlotMap>) -> Vec<String> {
        let mut addresses = map.map(|map| map.addresses.clone()).unwrap_or_default();
        addresses.extend(self.url.nodes.iter().cloned());
        addresses.sort_unstable();
        addresses.dedup();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % addresses.len().max(1);
        addresses.rotate_left(turn);
        addresses.truncate(MAX_ASKED_NODES);
        addresses
    }

    /// Asks one node.
    async fn ask(&self, address: &str, version: u64) -> Result<SlotMap, OpenFailure> {
        let of_node = |failure: OpenFailure| OpenFailure {
            reason: format!("the node {address}: {}", failure.reason),
            ..failure
        };
        let node = self.node(address).map_err(|error| of_node(OpenFailure::of(&error)))?;
        let mut pipeline = Pipeline::with_capacity(2);
        pipeline.cmd("CLUSTER").arg("INFO");
        pipeline.cmd("CLUSTER").arg("SLOTS");
        let patience = PATIENCE.min(self.timeout / 2);
        let values = node.read(&pipeline, patience).await;
        let values = values.map_err(|error| of_node(OpenFailure::of_request(error)))?;
        if let Some(Value::ServerError(error)) = values.first() {
            return Err(of_node(refusal(error)));
        }
        read_map(values, address, version).ok_or_else(|| {
            let reason = "it does not say which slots there are".to_owned();
            of_node(OpenFailure { reason, may_heal: true })
        })
    }

    /// Closes connections to nodes that are no longer in use.
    fn forget_others(&self, map: &SlotMap) {
        let mut nodes = self.nodes.lock();
        nodes.retain(|address, _| map.addresses.contains(address) || self.url.nodes.contains(address));
    }
}

/// Why a server does not tell its slots.
fn refusal(error: &redis::ServerError) -> OpenFailure {
    if error.details().is_some_and(|details| details.contains("cluster support disabled")) {
        let reason = "it is no part of a cluster; name a single server as redis://HOST:PORT".to_owned();
        return OpenFailure { reason, may_heal: false };
    }
    OpenFailure::of(&error.clone().into())
}

impl SlotMap {
    /// The place of the owner of a slot in [`Cluster::masters`].
    pub(super) fn owner(&self, slot: u16) -> Option<usize> {
        self.owners.get(usize::from(slot)).copied().flatten().map(usize::from)
    }

    /// How many slots no server has.
    pub(super) fn unowned(&self) -> usize {
        self.owners.iter().filter(|owner| owner.is_none()).count()
    }

    /// Whether the cluster says of itself that it works.
    pub(super) const fn works(&self) -> bool {
        self.works
    }

    /// The higher, the better.
    fn rank(&self) -> (u64, bool, std::cmp::Reverse<usize>) {
        (self.epoch, self.works, std::cmp::Reverse(self.unowned()))
    }
}

/// The map that a node has told by its answers to CLUSTER INFO and CLUSTER SLOTS.
fn read_map(values: Vec<Value>, asked: &str, version: u64) -> Option<SlotMap> {
    let mut values = values.into_iter();
    let info = String::from_utf8(wire::bytes(values.next()?)?).ok()?;
    let mut map = SlotMap {
        version,
        epoch: info_field(&info, "cluster_current_epoch")?.parse().ok()?,
        works: info_field(&info, "cluster_state") == Some("ok"),
        owners: vec![None; usize::from(SLOTS)],
        masters: Vec::new(),
        addresses: Vec::new(),
    };
    for range in wire::items(values.next()?)? {
        let mut range = wire::items(range)?.into_iter();
        let first = usize::try_from(wire::integer(&range.next()?)?).ok()?;
        let last = usize::try_from(wire::integer(&range.next()?)?).ok()?;
        let mut addresses = range.filter_map(|node| read_address(node, asked));
        let master = addresses.next()?;
        let replicas: Vec<String> = addresses.collect();
        let has_replica = !replicas.is_empty();
        let place = map.masters.iter().position(|known| known.address == master);
        let place = place.unwrap_or_else(|| {
            map.addresses.push(master.clone());
            map.addresses.extend(replicas);
            map.masters.push(Master { address: master, has_replica });
            map.masters.len() - 1
        });
        map.owners.get_mut(first..=last)?.fill(Some(u16::try_from(place).ok()?));
    }
    Some(map)
}

/// The address of a node. One that does not know its own name is the one that was asked.
fn read_address(node: Value, asked: &str) -> Option<String> {
    let mut node = wire::items(node)?.into_iter();
    let host = match node.next()? {
        Value::Nil => None,
        host => Some(String::from_utf8(wire::bytes(host)?).ok()?).filter(|host| !host.is_empty()),
    };
    let port = u16::try_from(wire::integer(&node.next()?)?).ok()?;
    Some(address(host.as_deref().unwrap_or_else(|| host_of(asked)), port))
}

/// The host in `HOST:PORT`.
pub(super) fn host_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}
