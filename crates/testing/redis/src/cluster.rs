//! A cluster of three masters, each with a replica, for one test.

use crate::security::PASSWORD;
use crate::{RedisServer, Security, free_port, wait_for};

const MASTERS: usize = 3;
const NODES: usize = 2 * MASTERS;
const SLOTS: usize = 16_384;

/// How long a node may be silent before the others take it for dead, in milliseconds: as short as a busy
/// machine allows. A failover takes a second or so longer.
const NODE_TIMEOUT_MS: &str = "2000";

/// The nodes of a cluster. They end when it is dropped, also in a panic.
pub struct RedisCluster {
    nodes: Vec<RedisServer>,
    /// Those that were killed.
    is_down: [bool; NODES],
    is_secured: bool,
}

/// A node's description of itself or of another node.
struct Known {
    id: String,
    port: u16,
    flags: String,
    is_linked: bool,
    slots: Vec<String>,
}

impl RedisCluster {
    /// Starts everything, and waits until all nodes know that the cluster works.
    pub fn start() -> Self {
        Self::start_all(&[], None)
    }

    /// The same with a password.
    pub fn start_with_password() -> Self {
        Self::start_all(&["--requirepass", PASSWORD, "--masterauth", PASSWORD], None)
    }

    /// The same with TLS and a password.
    pub fn start_secured(security: &Security) -> Self {
        Self::start_all(&["--tls-cluster", "yes"], Some(security))
    }

    fn start_all(options: &[&str], security: Option<&Security>) -> Self {
        let fixed = [
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            NODE_TIMEOUT_MS,
            // A replica may take over whatever it has, and gets its copy at once.
            "--cluster-replica-validity-factor",
            "0",
            "--repl-diskless-sync-delay",
            "0",
        ];
        let options = [fixed.as_slice(), options].concat();
        let start = |_| {
            RedisServer::start_by(|| {
                let mut all: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
                // The usual one, 10,000 higher, may be taken or not be a port at all.
                all.extend(["--cluster-port".to_owned(), free_port().to_string()]);
                all.extend(security.map(Security::server_options).unwrap_or_default());
                all
            })
        };
        let nodes: Vec<RedisServer> = (0..NODES).map(start).collect();
        let cluster = Self { nodes, is_down: [false; NODES], is_secured: security.is_some() };
        cluster.join();
        cluster
    }

    /// Makes the nodes a cluster.
    fn join(&self) {
        for master in 0..MASTERS {
            let (first, last) = (SLOTS * master / MASTERS, SLOTS * (master + 1) / MASTERS - 1);
            self.demand(master, &format!("CLUSTER ADDSLOTSRANGE {first} {last}"));
            self.demand(master, &format!("CLUSTER SET-CONFIG-EPOCH {}", master + 1));
        }
        // Each meets all: it would take seconds for the word to spread.
        for node in 0..NODES {
            for other in (0..NODES).filter(|other| *other != node) {
                let (port, bus) = (self.nodes[other].known_port(), self.bus_port(other));
                self.demand(node, &format!("CLUSTER MEET 127.0.0.1 {port} {bus}"));
            }
        }
        for replica in MASTERS..NODES {
            let master = self.id(replica - MASTERS);
            wait_for("node that knows its master", || {
                let answer = self.ask(replica, &format!("CLUSTER REPLICATE {master}"))?;
                answer.starts_with("+OK").then_some(())
            });
        }
        self.wait_until_whole();
    }

    /// The URL of the sets: with the first three nodes.
    pub fn url(&self) -> String {
        let places: Vec<String> =
            self.nodes.iter().take(MASTERS).map(|node| format!("127.0.0.1:{}", node.known_port())).collect();
        let password = self.nodes[0].option("--requirepass");
        let login = password.map(|password| format!(":{password}@")).unwrap_or_default();
        let scheme = if self.is_secured { "rediss" } else { "redis" };
        format!("{scheme}+cluster://{login}{}", places.join(","))
    }

    /// One of the nodes.
    pub fn node(&self, number: usize) -> &RedisServer {
        &self.nodes[number]
    }

    /// How many keys the masters have.
    pub fn keys(&self) -> usize {
        let count = |node: usize| self.ask(node, "DBSIZE")?.trim().strip_prefix(':')?.parse::<usize>().ok();
        self.masters().into_iter().map(|node| count(node).expect("the node answers")).sum()
    }

    /// The numbers of the nodes that are masters with slots, by what the first living one knows.
    pub fn masters(&self) -> Vec<usize> {
        let asked = self.living().next().expect("a node lives");
        let known = self.known(asked).unwrap_or_default();
        let ports: Vec<u16> =
            known.iter().filter(|known| !known.slots.is_empty()).map(|known| known.port).collect();
        (0..NODES).filter(|number| ports.contains(&self.nodes[*number].port())).collect()
    }

    /// Kills a master (`kill -9`). Returns its number.
    pub fn kill_master(&mut self) -> usize {
        let master = self.masters().into_iter().find(|number| !self.is_down[*number]);
        let master = master.expect("there is a master");
        self.kill(master);
        master
    }

    /// Kills a node.
    pub fn kill(&mut self, number: usize) {
        self.nodes[number].stop();
        self.is_down[number] = true;
    }

    /// Waits until another node has the slots of one that was killed or hangs, and all others know it.
    pub fn wait_for_failover(&self, old: usize) {
        let port = self.nodes[old].port();
        wait_for("failover", || {
            let is_over = self.living().filter(|node| *node != old).all(|node| {
                let known = self.known(node).unwrap_or_default();
                let has_slots = known.iter().any(|known| known.port == port && !known.slots.is_empty());
                !known.is_empty() && !has_slots && self.says_ok(node)
            });
            is_over.then_some(())
        });
    }

    /// Starts a node again that was killed, empty. It becomes a replica of the one that has its slots.
    pub fn bring_back(&mut self, number: usize) {
        self.wait_for_failover(number);
        self.nodes[number].start_again();
        self.is_down[number] = false;
        self.wait_until_whole();
    }

    /// Lets a node hang.
    pub fn pause(&self, number: usize) {
        self.nodes[number].pause();
    }

    /// Ends [`RedisCluster::pause`].
    pub fn resume(&self, number: usize) {
        self.nodes[number].resume();
    }

    /// Stops all nodes at once; their data is lost.
    pub fn stop(&mut self) {
        for number in 0..NODES {
            self.kill(number);
        }
    }

    /// Starts all nodes again, on the same ports, empty.
    pub fn start_again(&mut self) {
        for node in &mut self.nodes {
            node.start_again();
        }
        self.is_down = [false; NODES];
        self.wait_until_whole();
    }

    /// Moves the slot of a key, with all keys in it, to another master, which is returned. Calls
    /// `during` when half of the keys have been moved.
    pub fn move_slot_of(&self, key: &str, during: impl FnOnce()) -> usize {
        let slot = self.ask(0, &format!("CLUSTER KEYSLOT {key}")).expect("it answers");
        let slot: u16 = slot.trim().trim_start_matches(':').parse().expect("the number of a slot");
        let masters = self.masters();
        let range = |text: &str| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            Some(first.parse::<u16>().ok()?..=last.parse().ok()?)
        };
        let owns = |known: &Known| {
            known.slots.iter().filter_map(|text| range(text)).any(|range| range.contains(&slot))
        };
        let known = self.known(masters[0]).expect("it answers");
        let port = known.iter().find(|known| owns(known)).expect("the slot has a master").port;
        let from = masters.iter().copied().find(|master| self.nodes[*master].port() == port);
        let from = from.expect("it is a master");
        let to = masters.iter().copied().find(|master| *master != from).expect("there is another");
        self.demand(to, &format!("CLUSTER SETSLOT {slot} IMPORTING {}", self.id(from)));
        self.demand(from, &format!("CLUSTER SETSLOT {slot} MIGRATING {}", self.id(to)));
        let half = self.keys_in(from, slot).len() / 2;
        self.migrate(from, to, self.keys_in(from, slot).into_iter().take(half));
        during();
        loop {
            let keys = self.keys_in(from, slot);
            if keys.is_empty() {
                break;
            }
            self.migrate(from, to, keys.into_iter());
        }
        let id = self.id(to);
        for node in [to, from] {
            self.demand(node, &format!("CLUSTER SETSLOT {slot} NODE {id}"));
        }
        to
    }

    fn keys_in(&self, node: usize, slot: u16) -> Vec<String> {
        let answer = self.ask(node, &format!("CLUSTER GETKEYSINSLOT {slot} 20")).expect("it answers");
        let lines = answer.lines().filter(|line| !line.starts_with(['*', '$']) && !line.is_empty());
        lines.map(str::to_owned).collect()
    }

    fn migrate(&self, from: usize, to: usize, keys: impl Iterator<Item = String>) {
        let port = self.nodes[to].port();
        for key in keys {
            self.ask(from, &format!("MIGRATE 127.0.0.1 {port} {key} 0 2000")).expect("it answers");
        }
    }

    /// Waits until every node knows that all others are well, and every master has a replica.
    pub fn wait_until_whole(&self) {
        wait_for("cluster that is whole", || {
            let knows_all = |node| {
                let known = self.known(node).unwrap_or_default();
                let is_well = |known: &Known| {
                    let is_settled = matches!(known.flags.trim_start_matches("myself,"), "master" | "slave");
                    is_settled && known.is_linked
                };
                known.len() == NODES && known.iter().all(is_well) && self.says_ok(node)
            };
            let is_whole = self.living().all(knows_all);
            let masters = if is_whole { self.masters() } else { Vec::new() };
            let has_replica = |master: &usize| {
                self.ask(*master, "INFO replication").is_some_and(|info| info.contains("state=online"))
            };
            (masters.len() >= MASTERS && masters.iter().all(has_replica)).then_some(())
        });
    }

    fn living(&self) -> impl Iterator<Item = usize> {
        (0..NODES).filter(|number| !self.is_down[*number])
    }

    fn says_ok(&self, node: usize) -> bool {
        self.ask(node, "CLUSTER INFO").is_some_and(|info| info.contains("cluster_state:ok"))
    }

    fn id(&self, node: usize) -> String {
        let known = wait_for("answer of a node", || self.known(node));
        let own = known.into_iter().find(|known| known.flags.contains("myself"));
        own.expect("it knows itself").id
    }

    fn bus_port(&self, node: usize) -> u16 {
        let info = wait_for("answer of a node", || self.ask(node, "CONFIG GET cluster-port"));
        info.lines().last().expect("a value").parse().expect("a port")
    }

    /// A node's view of all nodes.
    fn known(&self, node: usize) -> Option<Vec<Known>> {
        let answer = self.ask(node, "CLUSTER NODES")?;
        answer.lines().filter(|line| line.contains('@')).map(Known::parse).collect()
    }

    fn demand(&self, node: usize, line: &str) {
        let answer = self.ask(node, line).expect("the node answers");
        assert!(answer.starts_with("+OK"), "{line}: {answer}");
    }

    /// Sends a command; nothing if the node does not answer.
    fn ask(&self, node: usize, line: &str) -> Option<String> {
        self.nodes[node].ask(line)
    }
}

impl Known {
    /// Reads a line of the answer to CLUSTER NODES.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let id = words.next()?.to_owned();
        let (address, _) = words.next()?.split_once('@')?;
        let port = address.rsplit_once(':')?.1.parse().ok()?;
        let flags = words.next()?.to_owned();
        let is_linked = words.nth(4)? == "connected";
        // Slots on their way stand in brackets.
        let slots = words.filter(|word| !word.starts_with('[')).map(str::to_owned).collect();
        Some(Self { id, port, flags, is_linked, slots })
    }
}
