//! URLs of clusters: `redis+cluster://HOST,HOST`, with some of the nodes; they know the others.

use crate::redis::sentinel_url::with_port;

/// The port of a node whose URL names none.
const NODE_PORT: u16 = 6379;

/// The most nodes in a URL. Two or three are enough to find the others.
const MAX_NODES: usize = 32;

/// The parts of such a URL. The name and the password are still percent-encoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClusterUrl {
    /// `redis` or `rediss`.
    scheme: &'static str,
    /// `USER:PASSWORD@`, or nothing; for all nodes.
    login: String,
    /// The nodes as `HOST:PORT`.
    pub(super) nodes: Vec<String>,
}

impl ClusterUrl {
    /// Reads a URL. The error says what is wrong with it, without its password.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let form = || "it must be redis+cluster://HOST:PORT,HOST:PORT,HOST:PORT".to_owned();
        let (scheme, rest) = match url.split_once("://").ok_or_else(form)? {
            ("redis+cluster", rest) => ("redis", rest),
            ("rediss+cluster", rest) => ("rediss", rest),
            _ => return Err(form()),
        };
        // A password may contain any of the characters that end it elsewhere.
        let (login, place) = match rest.rfind('@') {
            Some(at) => rest.split_at(at + 1),
            None => ("", rest),
        };
        let (place, query) = place.split_once('?').unwrap_or((place, ""));
        if !query.is_empty() {
            let name = query.split(['=', '&']).next().unwrap_or_default();
            return Err(format!("{name:?} is no option of a cluster"));
        }
        let (hosts, path) = place.split_once('/').unwrap_or((place, ""));
        if !matches!(path, "" | "0") {
            return Err(format!("{path:?} cannot follow the nodes: a cluster has one database"));
        }
        let nodes: Vec<String> =
            hosts.split(',').map(|host| with_port(host, "node", NODE_PORT)).collect::<Result<_, _>>()?;
        if nodes.len() > MAX_NODES {
            return Err(format!("it names more than {MAX_NODES} nodes; two or three are enough"));
        }
        Ok(Self { scheme, login: login.to_owned(), nodes })
    }

    /// The URL of a node, named as `HOST:PORT`.
    pub(super) fn node_url(&self, address: &str) -> String {
        format!("{}://{}{address}", self.scheme, self.login)
    }
}

#[cfg(test)]
mod tests {
    use super::ClusterUrl;
    use crate::redis::sentinel_url::address;

    #[test]
    fn urls_name_some_of_the_nodes() {
        let url = ClusterUrl::parse("redis+cluster://a:1,b,[::1]:2").unwrap();
        assert_eq!(url.nodes, ["a:1", "b:6379", "[::1]:2"]);
        assert_eq!(url.node_url("a:1"), "redis://a:1");
        assert_eq!(url.node_url(&address("::1", 7)), "redis://[::1]:7");
        let url = ClusterUrl::parse("rediss+cluster://me:s%40c/r?t@a,b/0").unwrap();
        assert_eq!(url.nodes, ["a:6379", "b:6379"]);
        assert_eq!(url.node_url("c:3"), "rediss://me:s%40c/r?t@c:3");
    }

    #[test]
    fn what_is_wrong_with_a_url_is_told() {
        for (url, expected) in [
            ("redis+cluster:a,b", "it must be redis+cluster://HOST:PORT"),
            ("redis+cluster://", "the name of a node is empty"),
            ("redis+cluster://a,,b", "the name of a node is empty"),
            ("redis+cluster://a:x", "\"x\" is no port of a node"),
            ("redis+cluster://:hunter2@a:70000", "\"70000\" is no port"),
            ("redis+cluster://a,b/1", "a cluster has one database"),
            ("redis+cluster://a?password=hunter2", "\"password\" is no option"),
        ] {
            let error = ClusterUrl::parse(url).unwrap_err();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{url}: {error}");
        }
    }
}
