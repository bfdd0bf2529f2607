//! Sorted sets on a server or a cluster of their own, apart from the store.
//!
//! Every write is of one key and safe to repeat, so nothing here needs a transaction over several
//! keys, and whatever fails is sent again. The crate's own cluster client is not used: it sends
//! a whole pipeline to another server when the slot of one key has moved, and it does not say which
//! keys are on the same server. See `docs/decisions/0027-home-timelines-on-a-cluster.md`.

mod cluster;
mod cluster_url;
mod exchange;
mod node;
mod requests;
mod slots;

use super::failures::{OpenFailure, advice, info_of, reason_of};
use super::place::Place;
use super::server_info::{IS_CLUSTERED, IS_LOADING, check_info, why_read_only};
use super::watch;
use crate::limits::MAX_SET_CALLS;
use crate::url::REDIS_SCHEMES;
use crate::{KeyspaceError, OpenError, StoreHealth, without_password};
use cluster::Cluster;
use exchange::{KeyRequest, SetPlace};
use node::Node;
use redis::Pipeline;
use requests::{Add, Delete, Read};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

/// Sorted sets on a server or a cluster of their own, apart from the store. Clones are cheap and share
/// the connections.
///
/// Every call may be repeated, whatever became of it. So calls fail with
/// [`KeyspaceError::Unavailable`] also when it is not known what was done, and never with
/// [`KeyspaceError::Unsure`]: some of the keys may have been written. Repeat the call.
///
/// Each call ends within the time-out. Until then it follows slots that move, masters that are
/// replaced and connections that break. It sends one pipeline to each server, for up to 1,000 keys;
/// then it takes one round trip, however many keys there are. At most 64 calls are under way; further ones
/// wait for their turn.
///
/// On a cluster, what was acknowledged outlives a master that dies, because a replica has
/// confirmed it (`WAIT`). A master without a replica that is well acknowledges alone. So does a single
/// server.
#[derive(Clone)]
pub struct ShardedSets {
    shared: Arc<SharedSets>,
}

struct SharedSets {
    place: SetPlace,
    /// The place of a single server.
    server: Option<Arc<Place>>,
    timeout: Duration,
    calls: Semaphore,
}

/// Members to add to a set.
#[derive(Debug, Clone, PartialEq)]
pub struct Addition {
    /// The key of the set.
    pub key: String,
    /// The members with their scores. The empty text must not be one: `exchange.rs` adds and removes it.
    pub members: Vec<(String, f64)>,
}

/// A part of a set to read.
#[derive(Debug, Clone, PartialEq)]
pub struct SetRead {
    /// The key of the set.
    pub key: String,
    /// The least and the greatest score, both included.
    pub bounds: (f64, f64),
    /// The most members to read; `u64::MAX` for all.
    pub limit: u64,
    /// How many members make the set full, at least 1; as for [`ShardedSets::add`].
    pub keep: u64,
}

/// The result of a [`SetRead`], as of one moment. A set that is absent is empty.
#[derive(Debug, Clone, PartialEq)]
pub struct SetPart {
    /// Members with their scores, highest first.
    pub entries: Vec<(String, f64)>,
    /// The score of the last of the `keep` highest members of the whole set, if it has so many. Of what was
    /// added, everything above is there; of what is lower, some may have been dropped.
    pub end: Option<f64>,
}

impl ShardedSets {
    /// Opens the sets at `redis+cluster://[USER:PASSWORD@]HOST[:PORT],HOST[:PORT]`, with some of the nodes
    /// of a cluster, or on a single server at `redis://` or `redis+sentinel://` as for
    /// [`Store::open`](crate::Store::open); with `rediss` instead of `redis`, over TLS.
    ///
    /// A server or cluster that is absent is no error: calls fail with
    /// [`KeyspaceError::Unavailable`] until it comes.
    ///
    /// # Errors
    /// [`OpenError::Engine`] if the URL is none of these, or if the server refuses the login, is a
    /// replica, or is part of a cluster and not named as one, or the other way round.
    pub async fn open(url: &str, timeout: Duration) -> Result<Self, OpenError> {
        let sets = Self::awaited(url, timeout)?;
        match sets.shared.check().await {
            Err(OpenFailure { reason, may_heal: false }) => {
                return Err(OpenError::Engine { url: without_password(url), reason });
            }
            Err(OpenFailure { reason, .. }) => {
                tracing::warn!(
                    url = without_password(url),
                    reason,
                    "the sorted sets of this server or cluster cannot be reached yet"
                );
            }
            Ok(()) => {}
        }
        Ok(sets)
    }

    /// The same without asking the server: calls and [`ShardedSets::health`] tell what is wrong with it.
    ///
    /// # Errors
    /// [`OpenError::Engine`] if the URL is none of these.
    pub fn awaited(url: &str, timeout: Duration) -> Result<Self, OpenError> {
        let refused = |reason| OpenError::Engine { url: without_password(url), reason };
        let (place, server) = parse(url, timeout).map_err(refused)?;
        let shared = Arc::new(SharedSets { place, server, timeout, calls: Semaphore::new(MAX_SET_CALLS) });
        watch::start("sharded sets", &shared, look);
        Ok(Self { shared })
    }

    /// The problem with a URL that [`ShardedSets::open`] would refuse without asking any server; `None` for
    /// other URLs.
    pub fn flaw_of_url(url: &str) -> Option<String> {
        parse(url, Duration::from_secs(1)).err()
    }

    /// Adds members with their scores, and keeps the `keep` highest. Members that are there already get
    /// the score.
    ///
    /// Others are not dropped at once: that would cost as much as the addition. One of eight additions does it,
    /// so a set has a few too many for a time: about eight, and more than a hundred with a probability of
    /// 2 in a million. An addition of several members always does it. An addition that is repeated
    /// changes nothing, even if others have been added since: the `keep` highest remain.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`], [`KeyspaceError::ReadOnly`]: repeat the call.
    /// [`KeyspaceError::WrongType`] if a key holds something else; the others may have been written.
    /// [`KeyspaceError::Invalid`] if a score is not a number; then nothing is written.
    pub async fn add(&self, additions: Vec<Addition>, keep: u64) -> Result<(), KeyspaceError> {
        if let Some(wrong) =
            additions.iter().find(|addition| addition.members.iter().any(|(_, score)| score.is_nan()))
        {
            return Err(KeyspaceError::Invalid(format!("a score for {:?} is not a number", wrong.key)));
        }
        let requests: Vec<Add> = additions.into_iter().map(|addition| Add { addition, keep }).collect();
        self.send(&requests).await?;
        Ok(())
    }

    /// Reads parts of sets, in the same order. Each part is as of one moment.
    ///
    /// A master that has been replaced and does not know it yet may answer with what was before.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`]; [`KeyspaceError::WrongType`] if a key holds something else.
    pub async fn read(&self, reads: Vec<SetRead>) -> Result<Vec<SetPart>, KeyspaceError> {
        let requests: Vec<Read> = reads.into_iter().map(Read).collect();
        self.send(&requests).await
    }

    /// Deletes sets, whatever the keys hold.
    ///
    /// # Errors
    /// [`KeyspaceError::Unavailable`], [`KeyspaceError::ReadOnly`]: repeat the call.
    pub async fn delete(&self, keys: Vec<String>) -> Result<(), KeyspaceError> {
        let requests: Vec<Delete> = keys.into_iter().map(Delete).collect();
        self.send(&requests).await?;
        Ok(())
    }

    /// Whether the sets can be read and written now. Takes one round trip to every server.
    pub async fn health(&self) -> StoreHealth {
        let end = Instant::now() + self.shared.timeout;
        match timeout_at(end, self.shared.health()).await {
            Ok(health) => health,
            Err(_) => StoreHealth::Unavailable(format!("no answer within {:?}", self.shared.timeout)),
        }
    }

    async fn send<R: KeyRequest>(&self, requests: &[R]) -> Result<Vec<R::Answer>, KeyspaceError> {
        let SharedSets { place, timeout, calls, .. } = &*self.shared;
        let end = Instant::now() + *timeout;
        let too_many = || KeyspaceError::Unavailable("too many calls wait for the sets".to_owned());
        let turn = timeout_at(end, calls.acquire()).await.map_err(|_| too_many())?;
        let _turn = turn.map_err(|_| too_many())?;
        place.send(requests, end).await
    }
}

/// Where the sets of a URL are, and if it is a single server, its place.
fn parse(url: &str, timeout: Duration) -> Result<(SetPlace, Option<Arc<Place>>), String> {
    if super::is_of_cluster(url) {
        return Ok((SetPlace::Cluster(Box::new(Cluster::parse(url, timeout)?)), None));
    }
    if !REDIS_SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
        return Err("it must be redis+cluster://HOST,HOST,HOST or the URL of a Redis server: \
                    redis://HOST or redis+sentinel://HOST,HOST,HOST/NAME"
            .to_owned());
    }
    let place = Arc::new(Place::parse(url, timeout).map_err(|error| advice(&error))?);
    let node = Node::new("the server".to_owned(), &place, timeout);
    Ok((SetPlace::Server(Arc::new(node)), Some(place)))
}

impl SharedSets {
    /// Looks for the first time whether the sets can be used.
    async fn check(&self) -> Result<(), OpenFailure> {
        match &self.place {
            SetPlace::Cluster(cluster) => cluster.renew(0).await,
            SetPlace::Server(node) => {
                let info = self.info(node).await?;
                check_info(&info).map_err(|reason| OpenFailure {
                    may_heal: reason == IS_LOADING,
                    reason: if reason == IS_CLUSTERED {
                        "the server is part of a cluster; name it as redis+cluster://HOST:PORT".to_owned()
                    } else {
                        reason
                    },
                })
            }
        }
    }

    /// The answer of a server to INFO.
    async fn info(&self, node: &Node) -> Result<String, OpenFailure> {
        let mut pipeline = Pipeline::with_capacity(1);
        pipeline.cmd("INFO");
        info_of(node.read(&pipeline, self.timeout).await)
    }

    async fn health(&self) -> StoreHealth {
        match &self.place {
            SetPlace::Server(node) => match self.info(node).await {
                Ok(info) => why_read_only(&info, 0, false)
                    .map_or(StoreHealth::Works, |cause| StoreHealth::ReadOnly(cause.to_owned())),
                Err(failure) => StoreHealth::Unavailable(failure.reason),
            },
            SetPlace::Cluster(cluster) => match self.cluster_flaw(cluster).await {
                Ok(()) => StoreHealth::Works,
                Err(reason) => StoreHealth::Unavailable(reason),
            },
        }
    }

    /// Checks that the cluster works. The error says what is wrong with it.
    async fn cluster_flaw(&self, cluster: &Cluster) -> Result<(), String> {
        let known = cluster.map().map_or(0, |map| map.version);
        cluster.renew(known).await.map_err(|failure| failure.reason)?;
        let map = cluster.map().ok_or("no node of the cluster has answered")?;
        if map.unowned() > 0 {
            return Err(format!("{} slots of the cluster have no server", map.unowned()));
        }
        if !map.works() {
            return Err("the cluster says that it does not work".to_owned());
        }
        let mut ping = Pipeline::with_capacity(1);
        ping.cmd("PING");
        let masters = cluster.masters(&map).map_err(|error| error.to_string())?;
        let pings = masters.iter().map(|master| async {
            let answer = master.node.read(&ping, self.timeout).await;
            answer.map_err(|failure| format!("{}: {}", master.node.name, reason_of(&failure, self.timeout)))
        });
        futures_util::future::try_join_all(pings).await?;
        Ok(())
    }
}

/// Looks once a second where the sets are.
async fn look(shared: Weak<SharedSets>) {
    let mut ticks = watch::ticks();
    loop {
        ticks.tick().await;
        let Some(shared) = shared.upgrade() else { return };
        if let SetPlace::Cluster(cluster) = &shared.place {
            let known = cluster.map().map_or(0, |map| map.version);
            if let Err(failure) = cluster.renew(known).await {
                tracing::debug!(reason = failure.reason, "the slots of the cluster are not known");
            }
        } else if let Some(place) = &shared.server {
            place.look().await;
        }
    }
}
