//! The settings of the web layer. The program fills them from its own settings.

use ipnet::IpNet;
use std::time::Duration;
use url::Url;

/// The settings that pages and calls depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How the site presents itself.
    pub site: SiteSettings,
    /// The proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether avatars of users with an e-mail address come from gravatar.com.
    pub gravatars: bool,
    /// How long a request may take altogether.
    pub request_timeout: Duration,
}

/// How the site presents itself.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteSettings {
    /// The name of the site.
    pub name: String,
    /// The address that people reach the site at.
    pub url: Url,
    /// One sentence about the site, for feeds and search engines; may be empty.
    pub description: String,
}

impl SiteSettings {
    /// Whether visitors use https, so that cookies may be `Secure`.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The full address of a page of this site, `path` beginning with `/`.
    #[must_use]
    pub fn link(&self, path: &str) -> String {
        format!("{}{path}", self.url.as_str().trim_end_matches('/'))
    }
}
