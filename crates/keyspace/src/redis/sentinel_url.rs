//! URLs of stores that Sentinels look after: `redis+sentinel://HOST,HOST,HOST/NAME[/DATABASE]`.

/// The port of a Sentinel whose URL names none.
const SENTINEL_PORT: u16 = 26_379;

/// The most Sentinels in a URL: far more than anybody runs.
const MAX_SENTINELS: usize = 32;

/// The parts of such a URL. The names and passwords are still percent-encoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SentinelUrl {
    /// `redis` or `rediss`, for the Sentinels as well as for the store.
    scheme: &'static str,
    /// `USER:PASSWORD@` of the store, or nothing.
    login: String,
    /// The Sentinels as `HOST:PORT`.
    sentinels: Vec<String>,
    /// The name by which the Sentinels know the primary.
    pub(super) name: String,
    pub(super) database: u32,
    sentinel_user: String,
    sentinel_password: Option<String>,
}

/// Whether a URL is to be one of this kind.
pub(super) fn is_of_sentinels(url: &str) -> bool {
    url.starts_with("redis+sentinel:") || url.starts_with("rediss+sentinel:")
}

impl SentinelUrl {
    /// Reads a URL. The error says what is wrong with it, without its passwords.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let form = || "it must be redis+sentinel://HOST:PORT,HOST:PORT,HOST:PORT/NAME".to_owned();
        let (scheme, rest) = match url.split_once("://").ok_or_else(form)? {
            ("redis+sentinel", rest) => ("redis", rest),
            ("rediss+sentinel", rest) => ("rediss", rest),
            _ => return Err(form()),
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').ok_or("it does not name the primary: add /NAME")?;
        let (login, hosts) = match authority.rfind('@') {
            Some(at) => authority.split_at(at + 1),
            None => ("", authority),
        };
        let sentinels: Vec<String> = hosts
            .split(',')
            .map(|host| with_port(host, "Sentinel", SENTINEL_PORT))
            .collect::<Result<_, _>>()?;
        if sentinels.len() > MAX_SENTINELS {
            return Err(format!("it names more than {MAX_SENTINELS} Sentinels"));
        }
        let (name, database) = path.split_once('/').unwrap_or((path, "0"));
        let is_sound =
            |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if name.is_empty() || !is_sound(name) {
            return Err(format!("{name:?} is no name of a primary"));
        }
        let database = database.parse().map_err(|_| format!("{database:?} is no number of a database"))?;
        let mut parsed = Self {
            scheme,
            login: login.to_owned(),
            sentinels,
            name: name.to_owned(),
            database,
            sentinel_user: String::new(),
            sentinel_password: None,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sentinel_user", user)) => parsed.sentinel_user = user.to_owned(),
                Some(("sentinel_password", password)) => parsed.sentinel_password = Some(password.to_owned()),
                _ => {
                    let name = pair.split('=').next().unwrap_or_default();
                    return Err(format!("{name:?} is neither sentinel_user nor sentinel_password"));
                }
            }
        }
        Ok(parsed)
    }

    /// The URLs of the Sentinels, each as of a server.
    pub(super) fn sentinel_urls(&self) -> Vec<String> {
        let login = match &self.sentinel_password {
            Some(password) => format!("{}:{password}@", self.sentinel_user),
            None => String::new(),
        };
        self.sentinels.iter().map(|place| format!("{}://{login}{place}", self.scheme)).collect()
    }

    /// The URL of a server of the store.
    pub(super) fn server_url(&self, host: &str, port: u16) -> String {
        format!("{}://{}{}/{}", self.scheme, self.login, address(host, port), self.database)
    }
}

/// A host, which may be an IPv6 address without brackets, and its port as `HOST:PORT`.
pub(super) fn address(host: &str, port: u16) -> String {
    if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// A host with its port, or the usual one of such servers.
pub(super) fn with_port(host: &str, kind: &str, usual: u16) -> Result<String, String> {
    let (name, port) = match host.rsplit_once(':') {
        // The colons of an IPv6 address stand in brackets.
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    if name.is_empty() {
        return Err(format!("the name of a {kind} is empty"));
    }
    let port = match port {
        Some(port) => port.parse().map_err(|_| format!("{port:?} is no port of a {kind}"))?,
        None => usual,
    };
    // The rest of a host is checked where a client is made of it.
    Ok(format!("{name}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::SentinelUrl;

    #[test]
    fn urls_name_sentinels_and_the_primary() {
        let url = SentinelUrl::parse("redis+sentinel://a:1,b,[::1]:2/news").unwrap();
        assert_eq!(url.sentinel_urls(), ["redis://a:1", "redis://b:26379", "redis://[::1]:2"]);
        assert_eq!(url.name, "news");
        assert_eq!(url.server_url("10.0.0.1", 6379), "redis://10.0.0.1:6379/0");
        assert_eq!(url.server_url("::1", 6379), "redis://[::1]:6379/0");
        let url = "rediss+sentinel://me:s%40cret@a,[::1]/my.news-1/3?sentinel_password=p%20w";
        let url = SentinelUrl::parse(url).unwrap();
        assert_eq!(url.sentinel_urls(), ["rediss://:p%20w@a:26379", "rediss://:p%20w@[::1]:26379"]);
        assert_eq!(url.server_url("b", 1), "rediss://me:s%40cret@b:1/3");
        let url = "redis+sentinel://a/n?sentinel_user=u&sentinel_password=p";
        assert_eq!(SentinelUrl::parse(url).unwrap().sentinel_urls(), ["redis://u:p@a:26379"]);
    }

    #[test]
    fn what_is_wrong_with_a_url_is_told() {
        for (url, expected) in [
            ("redis+sentinel:a/news", "it must be redis+sentinel://HOST:PORT"),
            ("redis+sentinel://a,b", "add /NAME"),
            ("redis+sentinel://a,b/", "\"\" is no name"),
            ("redis+sentinel:///news", "a Sentinel is empty"),
            ("redis+sentinel://a,,b/news", "a Sentinel is empty"),
            ("redis+sentinel://a:x/news", "\"x\" is no port"),
            ("redis+sentinel://a:70000/news", "\"70000\" is no port"),
            ("redis+sentinel://a/news/x", "\"x\" is no number of a database"),
            ("redis+sentinel://a/new%20s", "is no name of a primary"),
            ("redis+sentinel://a/news?password=hunter2", "\"password\" is neither"),
        ] {
            let error = SentinelUrl::parse(url).unwrap_err();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{url}: {error}");
        }
    }
}
