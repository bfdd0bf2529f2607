//! The style sheet, the script and the icon. They are part of the program, and their names
//! contain a digest of their content, so that browsers can cache them for ever. An
//! administrator can add colours to the style sheet and a logo; see `brand.rs`.

use crate::App;
use crate::error::{RequestError, Result};
use crate::request::PathOf;
use crate::server::headers::cacheable;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;
use tidings_domain::identity;

/// The logo as SVG, also used inline in pages.
pub const LOGO: &str = include_str!("../../assets/logo.svg");

/// The style sheet: rules that come later override earlier ones.
const STYLES: &str = concat!(
    include_str!("../../assets/styles/base.css"),
    // Dark colours, for devices that prefer them and for members who have chosen them.
    "@media (prefers-color-scheme: dark) { :root:not([data-theme=\"light\"]) {\n",
    include_str!("../../assets/styles/dark.css"),
    "} }\n:root[data-theme=\"dark\"] {\n",
    include_str!("../../assets/styles/dark.css"),
    "}\n",
    include_str!("../../assets/styles/frame.css"),
    include_str!("../../assets/styles/stories.css"),
    include_str!("../../assets/styles/votes.css"),
    include_str!("../../assets/styles/lists.css"),
    include_str!("../../assets/styles/topics.css"),
    include_str!("../../assets/styles/timelines.css"),
    include_str!("../../assets/styles/threads.css"),
    include_str!("../../assets/styles/text.css"),
    include_str!("../../assets/styles/forms.css"),
    include_str!("../../assets/styles/inbox.css"),
    include_str!("../../assets/styles/moderation.css"),
    include_str!("../../assets/styles/submit.css"),
    include_str!("../../assets/styles/sites.css"),
    include_str!("../../assets/styles/admin.css"),
    include_str!("../../assets/styles/prose.css"),
    include_str!("../../assets/styles/welcome.css"),
    include_str!("../../assets/styles/dialogs.css"),
    include_str!("../../assets/styles/search.css"),
    include_str!("../../assets/styles/small_screens.css"),
);

/// The script: one module, so that the files share their top level.
const SCRIPTS: &str = concat!(
    include_str!("../../assets/scripts/base.js"),
    include_str!("../../assets/scripts/shortcuts.js"),
    include_str!("../../assets/scripts/review.js"),
    include_str!("../../assets/scripts/votes.js"),
    include_str!("../../assets/scripts/lists.js"),
    include_str!("../../assets/scripts/threads.js"),
    include_str!("../../assets/scripts/text.js"),
    include_str!("../../assets/scripts/topics.js"),
    include_str!("../../assets/scripts/submit.js"),
    include_str!("../../assets/scripts/live_tweets.js"),
    include_str!("../../assets/scripts/drafts.js"),
    include_str!("../../assets/scripts/editor.js"),
    include_str!("../../assets/scripts/counters.js"),
    include_str!("../../assets/scripts/passkeys.js"),
    include_str!("../../assets/scripts/colour.js"),
);

const FOR_A_DAY: &str = "public, max-age=86400";
const SVG: &str = "image/svg+xml";
const PNG: &str = "image/png";

/// A file that pages refer to.
pub struct Asset {
    path: String,
    content: &'static [u8],
    content_type: &'static str,
}

/// All files that pages refer to.
pub struct Assets {
    /// The style sheet.
    pub style: Asset,
    /// The script.
    pub script: Asset,
    /// The icon.
    pub icon: Asset,
    /// The icon in 32 pixels, for browsers that know no SVG.
    pub small_icon: Asset,
    /// The icon in 180 pixels, for the home screen of a telephone.
    pub touch_icon: Asset,
    /// The icon in 192 pixels.
    pub medium_icon: Asset,
    /// The icon in 512 pixels.
    pub large_icon: Asset,
}

/// The files. Their names are computed once.
pub static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
    style: Asset::new("app", "css", STYLES.as_bytes(), "text/css; charset=utf-8"),
    script: Asset::new("app", "js", SCRIPTS.as_bytes(), "text/javascript; charset=utf-8"),
    icon: Asset::new("logo", "svg", LOGO.as_bytes(), SVG),
    small_icon: Asset::new("icon", "png", include_bytes!("../../assets/icons/icon-32.png"), PNG),
    touch_icon: Asset::new("icon", "png", include_bytes!("../../assets/icons/apple-touch-icon.png"), PNG),
    medium_icon: Asset::new("icon", "png", include_bytes!("../../assets/icons/icon-192.png"), PNG),
    large_icon: Asset::new("icon", "png", include_bytes!("../../assets/icons/icon-512.png"), PNG),
});

impl Asset {
    fn new(stem: &str, extension: &str, content: &'static [u8], content_type: &'static str) -> Self {
        Self { path: path_of(stem, &[content], extension), content, content_type }
    }

    /// The address of the file.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// The address of a file that consists of these parts.
fn path_of(stem: &str, parts: &[&[u8]], extension: &str) -> String {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    let digest: String = hex::encode(hasher.finalize()).chars().take(12).collect();
    format!("/assets/{stem}-{digest}.{extension}")
}

/// The address of the style sheet with further rules at its end.
pub fn style_path(rules: &str) -> String {
    path_of("app", &[STYLES.as_bytes(), rules.as_bytes()], "css")
}

/// GET /assets/:file. The files of the program take no read; the style sheet with the colours of
/// the site takes one if its identity is not cached, and the logo one.
pub async fn file(PathOf(file): PathOf<String>, app: App) -> Result<Response> {
    let Assets { style, script, icon, small_icon, touch_icon, medium_icon, large_icon } = &*ASSETS;
    let asset = [style, script, icon, small_icon, touch_icon, medium_icon, large_icon]
        .into_iter()
        .find(|asset| asset.path.strip_prefix("/assets/") == Some(file.as_str()));
    if let Some(asset) = asset {
        return Ok(stored_for_ever(asset.content_type, asset.content));
    }
    if file.starts_with("app-") && file.ends_with(".css") {
        let brand = app.brand().await;
        if brand.style.strip_prefix("/assets/") == Some(file.as_str()) {
            let content = [STYLES, &brand.colours].concat();
            return Ok(stored_for_ever(style.content_type, content));
        }
    }
    if file.starts_with("logo-")
        && let Some((logo, bytes)) = identity::logo(&app.site, &file).await?
    {
        return Ok(stored_for_ever(logo.format.content_type(), bytes));
    }
    Err(RequestError::NotFound)
}

/// The response with a file whose name contains a digest of its content.
fn stored_for_ever(content_type: &'static str, content: impl IntoResponse) -> Response {
    (cacheable(content_type, "public, max-age=31536000, immutable"), content).into_response()
}

/// GET /favicon.ico: the icon for clients that do not read the page's head.
pub async fn favicon() -> impl IntoResponse {
    const ICON: &[u8] = include_bytes!("../../assets/icons/favicon.ico");
    (cacheable("image/x-icon", FOR_A_DAY), ICON)
}

/// GET /robots.txt: keeps crawlers away from forms and personal pages.
pub async fn robots(app: App) -> impl IntoResponse {
    let headers = cacheable("text/plain; charset=utf-8", FOR_A_DAY);
    if app.site.is_for_members() {
        return (headers, "User-agent: *\nDisallow: /\n".to_owned());
    }
    let kept = app.routes.kept_from_crawlers().into_iter().map(|path| format!("Disallow: {path}\n"));
    let sitemap = app.settings.site.link("/sitemap.xml");
    let robots = format!("User-agent: *\n{}\nSitemap: {sitemap}\n", kept.collect::<String>());
    (headers, robots)
}

/// GET /manifest.webmanifest: how a browser shows the site that somebody has put among their
/// programs.
pub async fn manifest(app: App) -> impl IntoResponse {
    let brand = app.brand().await;
    let icon = |address: &str, sizes: &str, kind: &str| json!({"src": address, "sizes": sizes, "type": kind});
    let icons = match &brand.logo {
        Some((address, logo)) => vec![icon(address, "any", logo.format.content_type())],
        None => vec![
            icon(ASSETS.icon.path(), "any", "image/svg+xml"),
            icon(ASSETS.medium_icon.path(), "192x192", "image/png"),
            icon(ASSETS.large_icon.path(), "512x512", "image/png"),
        ],
    };
    let manifest = json!({
        "name": brand.site.name,
        "short_name": brand.site.name,
        "description": brand.site.description,
        "start_url": "/",
        "display": "minimal-ui",
        "icons": icons,
    });
    (cacheable("application/manifest+json", FOR_A_DAY), manifest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contain_a_digest_of_the_content() {
        let one = Asset::new("app", "css", b"a{}", SVG);
        let other = Asset::new("app", "css", b"b{}", SVG);
        assert_ne!(one.path(), other.path());
        let digest = one.path().trim_start_matches("/assets/app-").trim_end_matches(".css");
        assert!(digest.len() == 12 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{}", one.path());
    }

    #[test]
    fn styles_follow_the_direction_of_the_language() {
        let physical = ["-left", "-right", " left:", " right:", "{left:", "{right:", ": left", ": right"];
        for side in physical {
            assert!(!STYLES.contains(side), "{side}");
        }
    }

    #[test]
    fn the_script_complies_with_the_content_security_policy() {
        let script = SCRIPTS;
        for forbidden in ["eval(", "innerHTML", "document.write", ".style"] {
            assert!(!script.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn the_script_has_no_words() {
        let is_text =
            |literal: &str| literal.contains(' ') && literal.starts_with(|c: char| c.is_ascii_uppercase());
        for line in SCRIPTS.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let mut literals = line.split(['"', '`']).skip(1).step_by(2);
            assert!(!literals.any(is_text), "{line}");
        }
    }
}
