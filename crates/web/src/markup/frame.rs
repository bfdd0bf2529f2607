//! The frame of a page: what its rendering needs to know of the viewer, the address, the time and the site.

use super::brand::Brand;
use super::fragments::{LinkTarget, PartKey};
use super::moderation_tools::line_just_written;
use super::script_words::{ITEM_WORDS, VOTE_COUNTS};
use crate::App;
use crate::error::Result;
use crate::request::LocalPath;
use crate::request::form::FORM_PAGE;
use crate::route::LoginReason;
use crate::settings::{Settings, SiteSettings};
use maud::{Markup, html};
use std::cell::{Cell, OnceCell};
use tidings_domain::accounts::users::User;
use tidings_domain::accounts::visit::{Visit, waiting_rows};
use tidings_domain::cache::{CacheKind, Caches, Shared};
use tidings_domain::moderation::log::LogEntry;
use tidings_domain::values::secrets::random_hex;
use tidings_domain::values::{AccountRules, Rules, SiteReaders, Timestamp};

/// The id of the form that the buttons of a page's items belong to: votes, hiding, saving.
pub const ITEMS_FORM: &str = "items";

/// The field with the name of a request, so that it can be sent again.
const REQUEST_FIELD: &str = "request";
/// Bytes of randomness in the name of the requests of a page. It needs to be another one for one account
/// within an hour, and protects nothing.
const REQUEST_BYTES: usize = 8;

/// The context in which a page is rendered: the viewer, the address, the time, the settings.
pub struct Frame<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// The rules of the site.
    pub rules: &'a Rules,
    /// The caches of the site.
    pub caches: &'a Caches,
    /// The site as people see it: its name, description, colours and links.
    pub brand: Shared<Brand>,
    /// The time of the visit.
    pub now: Timestamp,
    /// The page's own address.
    pub here: &'a LocalPath,
    /// The address to which the forms of the page's items redirect, before the item's anchor.
    /// It may be in each of them, so it is short: see [`LocalPath::way_back`].
    pub way_back: String,
    /// The viewer; `None` if they are not logged in.
    pub viewer: Option<&'a User>,
    /// How many rows of the review queue wait, if the viewer moderates and it is known.
    pub waiting_rows: Option<u64>,
    /// The action that the viewer has just done as a moderator, if the address names its line of the log.
    pub done: Option<LogEntry>,
    /// Whether the viewer has confirmed at the provider, a short time ago, that it is them.
    pub is_confirmed: bool,
    /// The name of the request that this page answers.
    answered: Option<String>,
    /// The fields that prove that a form is from the viewer's session, masked for this page.
    signed_fields: OnceCell<Markup>,
    /// Whether the page has a button of [`ITEMS_FORM`].
    has_item_buttons: Cell<bool>,
}

impl<'a> Frame<'a> {
    /// The frame of a page with these parts.
    pub fn new(
        (settings, rules, caches): (&'a Settings, &'a Rules, &'a Caches),
        brand: Shared<Brand>,
        (now, here): (Timestamp, &'a LocalPath),
        viewer: Option<&'a User>,
    ) -> Self {
        let answered = viewer.and_then(|viewer| viewer.request.as_ref());
        Self {
            settings,
            rules,
            caches,
            brand,
            now,
            here,
            way_back: here.way_back(),
            viewer,
            waiting_rows: None,
            done: None,
            is_confirmed: false,
            answered: answered.map(|request| request.name().to_owned()),
            signed_fields: OnceCell::new(),
            has_item_buttons: Cell::new(false),
        }
    }

    /// The frame of a page for any visitor. Call it after the page's own reads, which
    /// also read the session and the identity of the site in the same round trips.
    pub async fn of(app: &'a App, visit: &'a mut Visit, here: &'a LocalPath) -> Result<Self> {
        let now = visit.now();
        visit.recognise().await?;
        let brand = app.brand_for(visit).await;
        visit.learn_waiting_rows().await;
        visit.learn_badge().await;
        let done = line_just_written(visit, here).await?;
        let is_confirmed = visit.session().is_some_and(|session| session.is_confirmed(now));
        Ok(Self { done, is_confirmed, ..Self::made(app, brand, (now, here), visit.viewer().await?) })
    }

    /// The frame of a page that answers a form. [`SignedFields`](crate::request::viewer::SignedFields) has read the identity
    /// of the site, and how many rows of the review queue wait.
    pub fn for_user(app: &'a App, here: &'a LocalPath, viewer: &'a User) -> Self {
        Self::known(app, here, Some(viewer))
    }

    /// The frame of a page without a viewer.
    pub async fn anonymous(app: &'a App, here: &'a LocalPath) -> Self {
        Self::made(app, app.brand().await, (app.now(), here), None)
    }

    /// The frame of a page that must not read anything.
    pub fn known(app: &'a App, here: &'a LocalPath, viewer: Option<&'a User>) -> Self {
        Self::made(app, app.known_brand(), (app.now(), here), viewer)
    }

    /// Every frame of a page of the site is made here.
    fn made(
        app: &'a App,
        brand: Shared<Brand>,
        (now, here): (Timestamp, &'a LocalPath),
        viewer: Option<&'a User>,
    ) -> Self {
        let waiting_rows = waiting_rows(&app.site, viewer);
        let parts = (&*app.settings, &*app.site.rules, &app.site.caches);
        Self { waiting_rows, ..Self::new(parts, brand, (now, here), viewer) }
    }

    /// The rules for signing up.
    pub fn accounts(&self) -> AccountRules {
        self.brand.texts.accounts(self.rules)
    }

    /// The name, the description and the address of the site.
    pub fn site(&self) -> &SiteSettings {
        &self.brand.site
    }

    /// Whether only members read the site.
    pub fn is_for_members(&self) -> bool {
        self.brand.texts.readers(self.rules) == SiteReaders::Members
    }

    /// Whether nobody is logged in, on a site that only members read.
    pub fn is_shut(&self) -> bool {
        self.viewer.is_none() && self.is_for_members()
    }

    /// Where links to other sites open.
    pub fn link_target(&self) -> LinkTarget {
        self.viewer.map_or(LinkTarget::Same, LinkTarget::of)
    }

    /// The hidden fields of a form: what proves that it is from the viewer's session, and the name of the
    /// request, so that it can be sent again: see [`tidings_domain::repeats`]. All forms of a page have the
    /// same name: with other contents it is another request. A form that is shown again after it was sent keeps
    /// its name: perhaps what it asked for was done. Empty without a viewer.
    pub fn signed_fields(&self) -> &Markup {
        self.signed_fields.get_or_init(|| {
            html! {
                @if let Some(viewer) = self.viewer {
                    input type="hidden" name="apisecret" value=(viewer.apisecret.masked());
                    // Firefox otherwise fills in what the form had before a reload. A field of the
                    // type "hidden" may not say so.
                    input name=(REQUEST_FIELD) value=(self.request()) autocomplete="off" hidden;
                }
            }
        })
    }

    /// The field of a form that leads to another page than this: refused, it comes back here.
    pub fn form_page(&self) -> Markup {
        html! { input type="hidden" name=(FORM_PAGE) value=(self.here.as_str()); }
    }

    /// Says that the page has a button of [`ITEMS_FORM`].
    pub fn note_item_button(&self) {
        self.has_item_buttons.set(true);
    }

    /// The form that the buttons of the page's items belong to, after them. So each is only a button, and the
    /// fields that are the same for all stand once on the page. It redirects to the page. The buttons of
    /// visitors lead to the login.
    pub fn items_form(&self) -> Markup {
        html! {
            @if self.has_item_buttons.get() {
                @if self.viewer.is_some() {
                    @let [up, down] = &*VOTE_COUNTS;
                    form #(ITEMS_FORM) method="post" action="/hide"
                        data-t-items=(ITEM_WORDS.as_str()) data-t-up=(up) data-t-down=(down)
                    {
                        (self.signed_fields())
                        input type="hidden" name="next" value=(self.way_back);
                    }
                } @else {
                    form #(ITEMS_FORM) action="/login" {
                        input type="hidden" name="reason" value=(LoginReason::Vote.name());
                    }
                }
            }
        }
    }

    /// The name of the request that the page answers, or a new one.
    fn request(&self) -> String {
        // Without randomness, it is another name each second.
        let new = || random_hex::<REQUEST_BYTES>().unwrap_or_else(|_| self.now.to_string());
        self.answered.clone().unwrap_or_else(new)
    }

    /// The result of a function of a part of a shared value and the settings, from the cache if possible. `None` if
    /// the shared value itself is not cached, because most such values are shown only once.
    pub fn derived<K: CacheKind<Key = PartKey>, V>(
        &self,
        value: &Shared<V>,
        part: u64,
        make: impl FnOnce(&V, LinkTarget) -> K::Value,
    ) -> Option<Shared<K::Value>> {
        if !value.is_cached() {
            return None;
        }
        let (cache, key) = (self.caches.of::<K>(), (value.id(), self.link_target(), part));
        let made = || cache.insert_derived(key, make(value, self.link_target()));
        Some(cache.derived(&key).unwrap_or_else(made))
    }
}
