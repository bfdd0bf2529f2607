//! The style sheet, the script and the icon. They are part of the program, and their names
//! contain a digest of their content, so that browsers can cache them for ever.

use super::error::RequestError;
use super::path::PathOf;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::IntoResponse;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// The logo as SVG, also used inline in pages.
pub const LOGO: &str = include_str!("../assets/logo.svg");

/// The style sheet: rules that come later override earlier ones.
const STYLES: &str = concat!(
    include_str!("../assets/styles/base.css"),
    include_str!("../assets/styles/frame.css"),
    include_str!("../assets/styles/stories.css"),
    include_str!("../assets/styles/votes.css"),
    include_str!("../assets/styles/topics.css"),
    include_str!("../assets/styles/timelines.css"),
    include_str!("../assets/styles/threads.css"),
    include_str!("../assets/styles/forms.css"),
    include_str!("../assets/styles/inbox.css"),
    include_str!("../assets/styles/sites.css"),
    include_str!("../assets/styles/prose.css"),
    include_str!("../assets/styles/dialogs.css"),
    include_str!("../assets/styles/small_screens.css"),
);

/// The script: one module, so that the files share their top level.
const SCRIPTS: &str = concat!(
    include_str!("../assets/scripts/base.js"),
    include_str!("../assets/scripts/votes.js"),
    include_str!("../assets/scripts/threads.js"),
    include_str!("../assets/scripts/topics.js"),
    include_str!("../assets/scripts/shortcuts.js"),
    include_str!("../assets/scripts/live_tweets.js"),
    include_str!("../assets/scripts/counters.js"),
);

const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const FOR_A_DAY: HeaderValue = HeaderValue::from_static("public, max-age=86400");
const SVG: HeaderValue = HeaderValue::from_static("image/svg+xml");
/// The files depend on nothing else in the request.
const VARY: (HeaderName, HeaderValue) = (header::VARY, HeaderValue::from_static("accept-encoding"));

/// A file that pages refer to.
pub struct Asset {
    path: String,
    content: &'static str,
    content_type: HeaderValue,
}

/// All files that pages refer to.
pub struct Assets {
    /// The style sheet.
    pub style: Asset,
    /// The script.
    pub script: Asset,
    /// The icon.
    pub icon: Asset,
}

/// The files. Their names are computed once.
pub static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
    style: Asset::new("app", "css", STYLES, HeaderValue::from_static("text/css; charset=utf-8")),
    script: Asset::new("app", "js", SCRIPTS, HeaderValue::from_static("text/javascript; charset=utf-8")),
    icon: Asset::new("logo", "svg", LOGO, SVG),
});

impl Asset {
    fn new(stem: &str, extension: &str, content: &'static str, content_type: HeaderValue) -> Self {
        let digest = hex::encode(Sha256::digest(content.as_bytes()));
        let digest: String = digest.chars().take(12).collect();
        Self { path: format!("/assets/{stem}-{digest}.{extension}"), content, content_type }
    }

    /// The address of the file.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// Whether a path is that of a file, which is the same for everyone.
#[must_use]
pub fn is_file(path: &str) -> bool {
    path.starts_with("/assets/") || matches!(path, "/robots.txt" | "/favicon.ico")
}

/// GET /assets/:file.
pub async fn file(PathOf(file): PathOf<String>) -> Result<impl IntoResponse, RequestError> {
    let Assets { style, script, icon } = &*ASSETS;
    let asset = [style, script, icon]
        .into_iter()
        .find(|asset| asset.path.strip_prefix("/assets/") == Some(file.as_str()))
        .ok_or(RequestError::NotFound)?;
    let headers =
        [(header::CONTENT_TYPE, asset.content_type.clone()), (header::CACHE_CONTROL, FOR_EVER), VARY];
    Ok((headers, asset.content))
}

/// GET /favicon.ico: the icon for clients that do not read the page's head.
pub async fn favicon() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, SVG), (header::CACHE_CONTROL, FOR_A_DAY), VARY], LOGO)
}

/// GET /robots.txt: keeps crawlers away from forms and personal pages.
pub async fn robots() -> impl IntoResponse {
    ([(header::CACHE_CONTROL, FOR_A_DAY), VARY], ROBOTS)
}

const ROBOTS: &str = "\
User-agent: *
Disallow: /admin
Disallow: /api/
Disallow: /delnews/
Disallow: /deltweet/
Disallow: /editcomment/
Disallow: /editnews/
Disallow: /home
Disallow: /inbox
Disallow: /login
Disallow: /logout
Disallow: /random
Disallow: /register
Disallow: /replies
Disallow: /reply/
Disallow: /reset-password
Disallow: /saved/
Disallow: /settings
Disallow: /submit
Disallow: /suggestions
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contain_a_digest_of_the_content() {
        let one = Asset::new("app", "css", "a{}", SVG);
        let other = Asset::new("app", "css", "b{}", SVG);
        assert_ne!(one.path(), other.path());
        let digest = one.path().trim_start_matches("/assets/app-").trim_end_matches(".css");
        assert!(digest.len() == 12 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{}", one.path());
    }

    #[test]
    fn the_script_complies_with_the_content_security_policy() {
        let script = ASSETS.script.content;
        for forbidden in ["eval(", "innerHTML", "document.write", ".style"] {
            assert!(!script.contains(forbidden), "{forbidden}");
        }
    }
}
