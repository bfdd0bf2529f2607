//! The layout of every page: head, navigation, footer.

use super::addresses::{FEEDS, READING_SETTINGS, appeal_address, login_address, profile_address};
use super::assets::{ASSETS, LOGO};
use super::brand::Brand;
use super::feed_links::FeedKind;
use super::fragments::written;
use super::frame::Frame;
use super::head::{PageHead, icons};
use super::moderation_tools::{done_line, saved_reasons};
use super::notices::notice_line;
use super::own_links::without_own_links;
use super::parts::{OUTSIDE, here_or_link, is_new_member, number};
use super::script_words;
use crate::error::refusals;
use crate::site_lists::SiteList;
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use std::borrow::Cow;
use strum::IntoEnumIterator;
use tidings_domain::values::text::printable_lines;
use tidings_domain::values::{Choice, Preferences, STAFF_PASSWORD_MIN, Shortcuts, Theme};
use tidings_domain::{Role, User};
use tidings_language::{n, t, tag};

/// The places of the navigation that everyone has.
fn places() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lists = SiteList::iter().map(|list| (list.facts().first, list.facts().menu));
    lists.filter(|(_, name)| !name.is_empty()).chain([
        ("/comments", t!("Comments")),
        ("/topics", t!("Topics")),
        ("/submit", t!("menu" => "Submit")),
    ])
}

impl Frame<'_> {
    /// A whole page. An empty title is the front page's.
    pub fn page(&self, title: &str, content: &dyn Render) -> Markup {
        // Only the front page has no title.
        let head = if title.is_empty() { PageHead::of("/") } else { PageHead::default() };
        self.page_with(title, &head, content)
    }

    /// A whole page with a heading, which is also its title.
    pub fn headed(&self, heading: &str, content: &dyn Render) -> Markup {
        let content = written(|html| {
            html! { h1 { (heading) } }.render_to(html);
            content.render_to(html);
        });
        self.page(heading, &content)
    }

    /// A whole page that says more about itself in its head.
    pub fn page_with(&self, title: &str, page_head: &PageHead, content: &dyn Render) -> Markup {
        let navigation = html! {
            @if !self.is_shut() {
                (self.places())
                (self.search())
            }
            (self.account())
        };
        let is_admin = self.viewer.is_some_and(|viewer| viewer.is_administrator());
        let theme = self.viewer.map(|viewer| viewer.preferences.theme).unwrap_or_default();
        let facts = HeadFacts {
            theme,
            has_search: self.settings.search.is_on && !self.is_shut(),
            has_card: self.viewer.is_none(),
            has_secret_address: self.here.is_cut(),
        };
        let head = head(&self.brand, title, page_head, facts);
        let shortcuts = self.viewer.map(|viewer| viewer.preferences.shortcuts);
        let footer = footer(&self.brand, (self.here.path(), self.is_shut()), is_admin, shortcuts);
        // Written where it stands, because most of a page is its content.
        let content = written(|html| {
            self.announcement().render_to(html);
            self.role_notice().render_to(html);
            done_line(self).render_to(html);
            notice_line(self).render_to(html);
            self.silence_notice().render_to(html);
            content.render_to(html);
            saved_reasons(self).render_to(html);
            self.items_form().render_to(html);
        });
        let look = self.viewer.map(|viewer| viewer.preferences).unwrap_or_default();
        let viewer = (look, is_new_member(self));
        let document = document(&self.brand, viewer, [&head, &navigation, &footer], &content);
        if self.here.is_of_page() { PreEscaped(without_own_links(document.0, self.here)) } else { document }
    }

    /// The notice for a viewer whose role does not count yet: it says what they have to do.
    fn role_notice(&self) -> Markup {
        html! {
            @if self.viewer.is_some_and(|viewer| viewer.has_short_password) {
                p.notice role="status" {
                    (n!(
                        STAFF_PASSWORD_MIN,
                        "Your role needs a password of at least {count} character. {choose} to use your role.",
                        "Your role needs a password of at least {count} characters. {choose} to use your role.",
                        choose = html! { a href="/settings/account#password" { (t!("Choose one")) } },
                    ))
                }
            } @else if self.viewer.is_some_and(|viewer| viewer.role_suspended()) {
                p.notice role="status" {
                    (t!(
                        "Moderators and administrators of this site need two-step login. {set_up} to use your role.",
                        set_up = html! { a href="/settings/two-factor" { (t!("Set it up")) } },
                    ))
                }
            }
        }
    }

    /// The notice above each page for a viewer who is silenced, so that they do not type a text that would be
    /// refused.
    fn silence_notice(&self) -> Markup {
        let refusal = self.viewer.and_then(|viewer| viewer.demand_may_post(self.now).err());
        html! {
            @if let Some(refusal) = refusal {
                p.notice {
                    (refusals::refusal(&refusal))
                    @if let Some(id) = refusal.decision() {
                        " " a href=(appeal_address(id)) { (t!("Read the decision")) }
                    }
                }
            }
        }
    }

    fn places(&self) -> Markup {
        let features = &self.rules.features;
        let following =
            (features.timelines && self.viewer.is_some()).then(|| ("/home", t!("menu" => "Following")));
        let sites = features.sites.then(|| ("/sites", t!("Sites")));
        let posts = features.timelines.then(|| ("/everyone", t!("Everyone’s posts")));
        let more: Vec<_> = following.into_iter().chain(sites).chain(posts).collect();
        html! {
            ul {
                @for (address, name) in places() { (self.place(address, name)) }
                @if !more.is_empty() {
                    li {
                        details.menu name="menu" {
                            summary { (t!("menu" => "More")) }
                            ul { @for (address, name) in more { (self.place(address, name)) } }
                        }
                    }
                }
            }
        }
    }

    /// The box for a search. On narrow screens it is a magnifier until it has the focus.
    fn search(&self) -> Markup {
        html! {
            @if self.settings.search.is_on && self.here.path() != "/search" {
                form.site-search action="/search" role="search" {
                    input type="search" name="q" aria-label=(t!("button" => "Search")) placeholder=(t!("button" => "Search")) maxlength="200";
                }
            }
        }
    }

    fn account(&self) -> Markup {
        html! {
            ul {
                @if let Some(viewer) = self.viewer {
                    @let unread = html! {
                        (t!("Inbox"))
                        @if viewer.replies > 0 {
                            " " span.badge { (number(viewer.replies)) span.hidden { " " (t!("unread")) } }
                        }
                    };
                    (self.place("/inbox", unread))
                    li { (self.own_menu(viewer)) }
                } @else {
                    @let login = login_address(self.back_from_login());
                    li { (here_or_link(&login, t!("Log in"), self.is_here("/login"))) }
                    @if !self.rules.oidc.only { (self.place("/register", t!("Sign up"))) }
                }
            }
        }
    }

    /// The menu of a member behind their name. Moderators see there how many rows of the review queue wait.
    fn own_menu(&self, viewer: &User) -> Markup {
        let waiting = self.waiting_rows.filter(|waiting| *waiting > 0);
        let badge = html! {
            @if let Some(waiting) = waiting {
                " " span.badge { (number(waiting)) span.hidden { " " (t!("waiting")) } }
            }
        };
        html! {
            details.menu.own name="menu" {
                summary {
                    span.name { (viewer.username) } " "
                    span.karma title=(t!("karma")) { "(" (number(viewer.karma)) ")" }
                    (badge)
                }
                ul {
                    (self.place(&profile_address(&viewer.username, ""), t!("Profile")))
                    (self.place("/saved", t!("stories" => "Saved")))
                    (self.place("/settings", t!("Settings")))
                    @if viewer.role() >= Role::Moderator {
                        (self.place("/moderate", html! { (t!("Review queue")) (badge) }))
                    }
                    @if viewer.is_administrator() { (self.place("/admin", t!("Administration"))) }
                    li {
                        form method="post" action="/logout" {
                            (self.signed_fields())
                            button { (t!("Log out")) }
                        }
                    }
                }
            }
        }
    }

    /// The page to return to after logging in: this one, unless this page is for
    /// people who are not logged in.
    fn back_from_login(&self) -> &str {
        match self.here.path() {
            "/login" | "/login/code" | "/login/passkey" | "/register" | "/reset-password" | "/logout" => "/",
            _ if self.here.is_cut() => "/",
            _ => self.here.as_str(),
        }
    }

    fn place(&self, address: &str, name: impl Render) -> Markup {
        html! { li { (here_or_link(address, name, self.is_here(address))) } }
    }

    fn is_here(&self, address: &str) -> bool {
        self.here.path() == address
    }
}

/// A page for when the viewer is not known because the store is unavailable. Without a session
/// in sight, it offers neither to log in nor to log out.
pub fn bare_page(brand: &Brand, title: &str, content: &dyn Render) -> Markup {
    let navigation = html! {
        ul {
            @for (address, name) in places() { li { a href=(address) { (name) } } }
        }
    };
    let head = head(brand, title, &PageHead::default(), HeadFacts::default());
    let footer = footer(brand, ("", false), false, None);
    document(brand, (Preferences::default(), false), [&head, &navigation, &footer], content)
}

/// Bytes that most pages have room in.
const USUAL_PAGE_BYTES: usize = 48 * 1024;

/// Every page is made here, so this is where what no document may have is removed: control
/// characters and noncharacters in texts that other programs have stored, or that somebody has
/// just typed. Nothing that is removed separates markup from text: that is escaped before.
fn document(
    brand: &Brand,
    (look, is_new_member): (Preferences, bool),
    [head, navigation, footer]: [&Markup; 3],
    content: &dyn Render,
) -> Markup {
    let document = html! {
        (written(|html| html.reserve(USUAL_PAGE_BYTES)))
        (DOCTYPE)
        html lang=(tag()) dir=(tag().direction()) data-theme=[chosen(look.theme)] data-text=[chosen(look.text_size)] {
            (head)
            body {
                a.skip href="#main" { (t!("Skip to content")) }
                header.site-header {
                    div {
                        a.brand href="/" { (logo(brand)) (brand.site.name) }
                        nav aria-label=(t!("navigation" => "Main")) { (navigation) }
                    }
                }
                main #main tabindex="-1" { (content) }
                (written(|html| script_words::start_footer(html, is_new_member)))
                (footer)
                (PreEscaped("</footer>"))
            }
        }
    };
    let cleaned = match printable_lines(&document.0) {
        Cow::Owned(cleaned) => Some(cleaned),
        Cow::Borrowed(_) => None,
    };
    cleaned.map_or(document, PreEscaped)
}

/// A member's choice, unless it is the default.
fn chosen<C: Choice>(choice: C) -> Option<&'static str> {
    (choice != C::default()).then(|| choice.name())
}

/// The facts about a page and its viewer that its head depends on.
#[derive(Default)]
struct HeadFacts {
    theme: Theme,
    /// Whether the site has a search.
    has_search: bool,
    /// Whether it describes the page for programs that show links to it as cards.
    has_card: bool,
    /// Whether the address of the page has a secret.
    has_secret_address: bool,
}

/// The head of a page.
fn head(brand: &Brand, title: &str, page: &PageHead, facts: HeadFacts) -> Markup {
    let HeadFacts { theme, has_search, has_card, has_secret_address } = facts;
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content=(chosen(theme).unwrap_or("light dark"));
            title {
                @if !title.is_empty() { (title) " - " }
                (brand.site.name)
            }
            (brand.markup.head.get_or_init(|| common_head(brand)))
            @if has_search {
                link rel="search" type="application/opensearchdescription+xml" title=(brand.site.name) href="/opensearch.xml";
            }
            // With the policy of the header, browsers that send no `Sec-Fetch-Site` (as under http) would send a form
            // with `Origin: null`, which is refused. This one reveals no address either.
            @if has_secret_address { meta name="referrer" content="strict-origin"; }
            (page.render(brand, title, has_card))
            script type="module" src=(ASSETS.script.path()) {}
        }
    }
}

/// The elements in the heads of all pages: the style sheet, the icons and the feeds.
fn common_head(brand: &Brand) -> Markup {
    html! {
        link rel="stylesheet" href=(brand.style);
        (icons(brand))
        (FeedKind::LATEST.head_links(&brand.site))
    }
}

/// The places of the footer.
fn places_below() -> [(&'static str, &'static str); 4] {
    [
        ("/about", t!("menu" => "About")),
        ("/ranking", t!("Ranking")),
        ("/moderations", t!("Moderation log")),
        (FEEDS, t!("Feeds")),
    ]
}

/// The content of the footer of the page at an address, which may be one of those that are left to people who may not read the site. `shortcuts` is
/// what a member has chosen.
fn footer(
    brand: &Brand,
    (here, is_shut): (&str, bool),
    is_admin: bool,
    shortcuts: Option<Shortcuts>,
) -> Markup {
    let places = places_below().into_iter().filter(|(address, _)| !is_shut || *address == "/about");
    html! {
        div {
            ul {
                @for (address, name) in places { li { (here_or_link(address, name, address == here)) } }
                @for link in &brand.links {
                    @let rel = (!link.is_local()).then_some(OUTSIDE);
                    li { a href=(link.address()) rel=[rel] { (link.label()) } }
                }
                @if is_admin { li { a href="/admin" { (t!("Administration")) } } }
                // The script removes `hidden`: without it there are no shortcuts.
                li hidden { (script_words::help_button(shortcuts, here == READING_SETTINGS)) }
            }
        }
    }
}

/// The logo; the name beside it is its text.
fn logo(brand: &Brand) -> Markup {
    match &brand.logo {
        Some((address, file)) => html! { img src=(address) width=(file.width) height=(file.height) alt=""; },
        None => {
            PreEscaped(LOGO.trim_end().replacen("<svg", r#"<svg aria-hidden="true" focusable="false""#, 1))
        }
    }
}
