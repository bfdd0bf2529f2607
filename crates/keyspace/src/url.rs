//! The URLs of stores, as texts.

use crate::redis;

/// The beginnings of the URLs of Redis servers.
pub(crate) const REDIS_SCHEMES: [&str; 4] =
    ["redis://", "rediss://", "redis+sentinel://", "rediss+sentinel://"];

const SENTINEL_PASSWORD: &str = "sentinel_password=";

/// The problem with a URL that begins with `redis+sentinel:` or `rediss+sentinel:`, or `None`. Other URLs
/// are not checked.
pub fn flaw_of_sentinel_url(store_url: &str) -> Option<String> {
    redis::flaw_of_url(store_url)
}

/// A store URL without its password, to be shown and logged.
///
/// It works on the text, because the URLs shown most often are those that cannot be parsed,
/// and often it is the password that breaks them.
pub fn without_password(store_url: &str) -> String {
    let hidden = |url: &str| {
        let (scheme, rest) = url.split_once("://")?;
        let (login, place) = rest.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}:***@{place}"))
    };
    // The password of the Sentinels is the last that can stand in a URL, or a user follows it.
    let (url, of_sentinels) = match store_url.split_once(SENTINEL_PASSWORD) {
        Some((url, _)) => (url, "sentinel_password=***"),
        None => (store_url, ""),
    };
    format!("{}{of_sentinels}", hidden(url).unwrap_or_else(|| url.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn passwords_are_hidden() {
        for (url, shown) in [
            ("redb:store.redb", "redb:store.redb"),
            ("redb::memory:", "redb::memory:"),
            ("redis://host:6379/1", "redis://host:6379/1"),
            ("redis://user@host", "redis://user@host"),
            ("redis://:secret@host", "redis://:***@host"),
            ("rediss://user:secret@host:1/2", "rediss://user:***@host:1/2"),
            ("redis://user:se:c/r#e@t@host", "redis://user:***@host"),
            ("redis://user:secret@host:port", "redis://user:***@host:port"),
            (
                "redis+sentinel://a:1,b/n?sentinel_password=secret",
                "redis+sentinel://a:1,b/n?sentinel_password=***",
            ),
            (
                "redis+sentinel://me:secret@a,b/n?sentinel_password=sec@ret&sentinel_user=x",
                "redis+sentinel://me:***@a,b/n?sentinel_password=***",
            ),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
