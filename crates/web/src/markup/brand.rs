//! The site as people see it: what administrators have changed, and the configuration for the
//! rest. It is made once for each identity that is read.

use super::assets::{ASSETS, style_path};
use super::vote_buttons::VoteButtons;
use crate::App;
use crate::limits::BRAND_CACHE_BYTES;
use crate::settings::SiteSettings;
use maud::{Markup, html};
use std::sync::OnceLock;
use tidings_domain::Visit;
use tidings_domain::cache::Shared;
use tidings_domain::identity::Identity;
use tidings_domain::values::site_settings::{ABOUT, ACCENT, CONTACT, DESCRIPTION, NAME, RULES, SiteTexts};
use tidings_domain::values::{
    Announcement, Colour, FooterLink, LogoFile, READABLE_CONTRAST, Restriction, Rules, SavedReasons, Theme,
    Timestamp, YoungHold,
};
use tidings_language::numbers::decimal;
use tidings_language::{Speakable, speak, t};

/// How much of the accent colour is in the tint of notices, in percent.
const TINT_PERCENT: u32 = 12;

/// The colours behind text in one colour scheme: those of `styles/base.css`.
struct Scheme {
    page: Colour,
    surface: Colour,
    /// Where shades of the accent colour end that can be read on these.
    end: Colour,
    /// The two colours of text on the accent colour, the usual one first.
    on_accent: [Colour; 2],
}

const LIGHT: Scheme = Scheme {
    page: Colour { channels: [0xFA, 0xF9, 0xF6] },
    surface: Colour::WHITE,
    end: Colour::BLACK,
    on_accent: [Colour::WHITE, Colour { channels: [0x0C, 0x17, 0x16] }],
};
const DARK: Scheme = Scheme {
    page: Colour { channels: [0x14, 0x18, 0x1A] },
    surface: Colour { channels: [0x1B, 0x20, 0x22] },
    end: Colour::WHITE,
    on_accent: [Colour { channels: [0x0C, 0x17, 0x16] }, Colour::WHITE],
};

impl Scheme {
    /// The declarations of the accent colour, as a shade that can be read as text on all
    /// backgrounds of the scheme.
    fn declarations(&self, accent: Colour) -> String {
        let tint = accent.mixed(TINT_PERCENT, self.surface);
        let behind = [self.page, self.surface, tint];
        let is_readable = |shade: Colour| behind.iter().all(|one| shade.contrast(*one) >= READABLE_CONTRAST);
        let shade = accent.nearest_shade(self.end, is_readable);
        let [usual, other] = self.on_accent;
        let on_accent = if usual.contrast(shade) >= READABLE_CONTRAST { usual } else { other };
        format!("{{--accent:{shade};--on-accent:{on_accent};--tint:{tint}}}")
    }
}

/// The site as people see it.
#[derive(Debug)]
pub struct Brand {
    /// Its name, address and description.
    pub site: SiteSettings,
    /// The rules that the style sheet ends with; empty without an accent colour.
    pub colours: String,
    /// The address of the style sheet.
    pub style: String,
    /// The address of the logo, with its file; `None` is the one of the program.
    pub logo: Option<(String, LogoFile)>,
    /// Links in the footer.
    pub links: Vec<FooterLink>,
    /// The text about the site, in Markdown; may be empty.
    pub about: String,
    /// The rules of the site, in Markdown; may be empty.
    pub rules: String,
    /// The announcement and the pinned stories.
    pub announcement: Announcement,
    /// The reasons that moderators have at hand.
    pub reasons: SavedReasons,
    /// The settings that administrators have set.
    pub texts: SiteTexts,
    /// The language of the site; `None` is plain English.
    language: Option<Speakable>,
    /// That nobody can sign up, in force or ended.
    stopped: Option<Restriction>,
    /// That the posts of young accounts wait, in force or ended.
    young_held: Option<YoungHold>,
    /// Markup that its pages share.
    pub markup: SharedMarkup,
}

/// Markup that the pages of a site share. Each part is made when it is first needed.
#[derive(Debug, Default)]
pub struct SharedMarkup {
    /// The elements in the heads of all pages.
    pub head: OnceLock<Markup>,
    /// The vote buttons.
    pub vote_buttons: VoteButtons,
}

tidings_domain::cache_kind! {
    /// The brands of identities, by their ids.
    struct Brands: u64 => Brand, "brands", BRAND_CACHE_BYTES,
        |_, brand| size_of::<Brand>() + brand.about.len() + brand.rules.len() + brand.texts.bytes() + brand.colours.len()
            + brand.announcement.text_bytes()
            + brand.reasons.text_bytes();
}

impl Brand {
    /// The brand of an identity on a site with this configuration and these rules.
    pub fn new(configured: &SiteSettings, rules: &Rules, identity: &Identity) -> Self {
        let Identity { texts, logo, links, announcement, reasons, .. } = identity;
        let mut site = configured.clone();
        let language = site.languages.speakable(&texts.language(rules));
        let SiteSettings { name, description, contact, .. } = &mut site;
        for (field, place) in [(NAME, name), (DESCRIPTION, description), (CONTACT, contact)] {
            texts.in_force(rules, field).into_iter().for_each(|text| text.clone_into(place));
        }
        let text = |field| texts.in_force(rules, field).unwrap_or_default().to_owned();
        let colours = Colour::parse(&text(ACCENT)).map(colours_of).unwrap_or_default();
        let style = if colours.is_empty() { ASSETS.style.path().to_owned() } else { style_path(&colours) };
        Self {
            site,
            colours,
            style,
            logo: logo.as_ref().map(|file| (format!("/assets/{}", file.name()), file.clone())),
            links: links.clone(),
            announcement: announcement.clone().unwrap_or_default(),
            reasons: reasons.clone().unwrap_or_default(),
            stopped: identity.signups_stopped.clone(),
            young_held: identity.young_held.clone(),
            about: text(ABOUT),
            rules: text(RULES),
            texts: texts.clone(),
            language,
            markup: SharedMarkup::default(),
        }
    }

    /// That nobody can sign up now, because moderators have stopped it.
    pub fn signups_stopped(&self, now: Timestamp) -> Option<&Restriction> {
        self.stopped.as_ref().filter(|stopped| stopped.is_in_force(now))
    }

    /// That the posts of young accounts wait now.
    pub fn young_held(&self, now: Timestamp) -> Option<&YoungHold> {
        self.young_held.as_ref().filter(|held| held.restriction.is_in_force(now))
    }

    /// The same, from the cache if possible. From now on, the process speaks the language of the site.
    fn of(app: &App, identity: &Shared<Identity>) -> Shared<Self> {
        let (cache, id) = (app.site.caches.of::<Brands>(), identity.id());
        let new = || Self::new(&app.settings.site, &app.site.rules, identity);
        let brand = cache.derived(&id).unwrap_or_else(|| cache.insert_derived(id, new()));
        if speak(brand.language) {
            // They have texts of the language before.
            app.site.caches.clear();
        }
        brand
    }
}

/// A colour on the pages of both schemes, with its contrast. The script keeps it up to date while a colour is chosen.
pub fn colour_preview(accent: Colour) -> Markup {
    html! {
        @for (scheme, Scheme { page, .. }) in [(Theme::Light, &LIGHT), (Theme::Dark, &DARK)] {
            @let contrast = html! { span data-contrast { (decimal(accent.contrast(*page), 1)) } };
            p.hint.colour-preview data-page=(page) {
                svg width="96" height="32" viewBox="0 0 96 32" aria-hidden="true" {
                    rect width="96" height="32" rx="6" fill=(page) {}
                    rect x="12" y="12" width="72" height="8" rx="4" fill=(accent) {}
                }
                " "
                @if scheme == Theme::Light {
                    (t!("Contrast on light pages: {contrast} to 1", contrast))
                } @else {
                    (t!("Contrast on dark pages: {contrast} to 1", contrast))
                }
            }
        }
    }
}

/// The rules of a style sheet for an accent colour.
fn colours_of(accent: Colour) -> String {
    let (light, dark) = (LIGHT.declarations(accent), DARK.declarations(accent));
    format!(
        ":root{light}@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){dark}}}\
         :root[data-theme=dark]{dark}.brand svg rect{{fill:{accent}}}"
    )
}

impl App {
    /// The site as a visit sees it; see [`Visit::identity`].
    pub async fn brand_for(&self, visit: &mut Visit) -> Shared<Brand> {
        let identity = visit.identity().await;
        Brand::of(self, &identity)
    }

    /// The site as it is now, for what has no visit, such as mails. Rounds: at most 1.
    pub async fn brand(&self) -> Shared<Brand> {
        self.brand_for(&mut self.visitor()).await
    }

    /// The site as far as it is known without a read.
    pub fn known_brand(&self) -> Shared<Brand> {
        Brand::of(self, &self.site.known_identity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::settings;

    /// The value of a variable in a scheme's declarations.
    fn value(declarations: &str, name: &str) -> Colour {
        let (_, rest) = declarations.split_once(&format!("--{name}:")).unwrap();
        Colour::parse(&rest[..7]).unwrap()
    }

    #[test]
    fn every_accent_colour_can_be_read_in_light_and_dark() {
        let levels = [0_u8, 64, 128, 192, 255];
        for (red, green, blue) in
            levels.iter().flat_map(|r| levels.iter().flat_map(move |g| levels.map(|b| (*r, *g, b))))
        {
            let accent = Colour { channels: [red, green, blue] };
            for scheme in [&LIGHT, &DARK] {
                let declarations = scheme.declarations(accent);
                let [shade, on_accent, tint] =
                    ["accent", "on-accent", "tint"].map(|name| value(&declarations, name));
                for behind in [scheme.page, scheme.surface, tint, on_accent] {
                    let contrast = shade.contrast(behind);
                    assert!(contrast >= READABLE_CONTRAST, "{accent}: {shade} on {behind}: {contrast}");
                }
                // Plain text is black or white there.
                let text = if scheme.end == Colour::BLACK { [0x1D, 0x23, 0x27] } else { [0xE3, 0xE6, 0xE7] };
                assert!(Colour { channels: text }.contrast(tint) >= READABLE_CONTRAST, "{accent}: {tint}");
            }
        }
    }

    #[test]
    fn the_schemes_are_those_of_the_style_sheet() {
        let files =
            [include_str!("../../assets/styles/base.css"), include_str!("../../assets/styles/dark.css")];
        for (scheme, file) in [&LIGHT, &DARK].into_iter().zip(files) {
            for (name, colour) in [("page", scheme.page), ("surface", scheme.surface)] {
                assert!(file.contains(&format!("--{name}: {colour};")), "{name} {colour}");
            }
        }
    }

    #[test]
    fn what_is_not_changed_comes_from_the_configuration() {
        let configured = settings().site;
        let brand = Brand::new(&configured, &Rules::default(), &Identity::default());
        assert_eq!(brand.site, configured);
        assert_eq!((brand.style.as_str(), brand.colours.as_str()), (ASSETS.style.path(), ""));
        let (texts, _) = SiteTexts::parse(|field| if field == ACCENT { "#aa0000" } else { "" });
        let identity = Identity { texts, ..Identity::default() };
        let brand = Brand::new(&configured, &Rules::default(), &identity);
        assert_ne!(brand.style, ASSETS.style.path());
        assert!(brand.colours.contains("#aa0000"));
    }
}
