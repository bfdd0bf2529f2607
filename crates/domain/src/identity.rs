//! The identity of the site: the changes by administrators to how it presents itself. All other
//! values come from the configuration.
//!
//! Every page needs it, so it is cached, and read along with the first round of a page when it
//! is not; see [`Visit::identity`](crate::accounts::visit::Visit::identity). The identity that
//! was read last is remembered for pages that must not read.
//!
//! Keys: the hash `site`, and the strings `site.logo` and `site.tag`.

use crate::cache::{MEBIBYTE, Shared, View};
use crate::fields::{self, StoredFields, report};
use crate::site::apply;
use crate::values::site_settings::SiteTexts;
use crate::values::{
    AccountRules, Announcement, FooterLink, LogoFile, Restriction, SavedReasons, TagOrigin, Timestamp,
    YoungHold, read_links,
};
use crate::{Applied, Error, Result, Site, keys};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use tidings_keyspace::{Batch, Fetch, Hash, Store, Tracked, read};

pub(crate) const LINKS: &str = "links";
pub(crate) const LOGO: &str = "logo";
pub(crate) const ANNOUNCEMENT: &str = "announcement";
pub(crate) const REASONS: &str = "reasons";
/// The field with the [`Restriction`] while nobody can sign up.
pub(crate) const SIGNUPS_STOPPED: &str = "signups_stopped";
/// The field with the [`YoungHold`] while the posts of young accounts wait.
pub(crate) const YOUNG_HELD: &str = "young_held";

/// The site's name, colours and texts, as far as administrators have changed them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The settings that administrators have set.
    pub texts: SiteTexts,
    /// The logo.
    pub logo: Option<LogoFile>,
    /// Links in the footer.
    pub links: Vec<FooterLink>,
    /// The announcement and the pinned stories.
    pub announcement: Option<Announcement>,
    /// The reasons that moderators have at hand.
    pub reasons: Option<SavedReasons>,
    /// That nobody can sign up, in force or ended.
    pub signups_stopped: Option<Restriction>,
    /// That the posts of young accounts wait, in force or ended.
    pub young_held: Option<YoungHold>,
    /// How the ids of entries in feeds begin, once a feed was read.
    pub tag: Option<TagOrigin>,
}

crate::cache_kind! {
    /// The identity of the site.
    pub(crate) struct Identities: () => Identity, "identity", MEBIBYTE,
        |(), identity| size_of::<Identity>() + identity.text_bytes();
}

/// The identity that was read last; that of the configuration before the first read.
pub(crate) struct LastRead(Mutex<Shared<Identity>>);

impl Default for LastRead {
    fn default() -> Self {
        Self(Mutex::new(Identity::default().into()))
    }
}

crate::process_state::process_state!(LastRead);

impl LastRead {
    pub(crate) fn get(&self) -> Shared<Identity> {
        self.0.lock().clone()
    }

    pub(crate) fn set(&self, identity: &Shared<Identity>) {
        *self.0.lock() = identity.clone();
    }
}

impl Identity {
    fn from_stored(hash: &Hash, tag: Option<&str>) -> Self {
        let fields = StoredFields::new(hash, || keys::SITE.to_owned());
        let (texts, unreadable) = SiteTexts::parse(|field| fields.text(field).unwrap_or_default());
        unreadable.into_iter().for_each(|(field, _)| report(keys::SITE, Some(field)));
        Self {
            texts,
            links: fields.parsed(LINKS, read_links).unwrap_or_default(),
            announcement: fields.parsed(ANNOUNCEMENT, Announcement::from_json),
            reasons: fields.parsed(REASONS, SavedReasons::from_json),
            signups_stopped: fields.read(SIGNUPS_STOPPED),
            young_held: fields.read(YOUNG_HELD),
            logo: fields.read(LOGO),
            tag: fields::read_string(tag, || keys::SITE_TAG.to_owned()),
        }
    }

    /// The bytes of all texts together.
    fn text_bytes(&self) -> usize {
        let links =
            self.links.iter().map(|link| size_of::<FooterLink>() + link.label().len() + link.address().len());
        let announced = self.announcement.as_ref().map(Announcement::text_bytes);
        let reasons = self.reasons.as_ref().map(SavedReasons::text_bytes);
        let measures =
            self.signups_stopped.iter().chain(self.young_held.iter().map(|held| &held.restriction));
        let measures = measures.map(|measure| measure.reason.len());
        self.texts.bytes() + links.chain(announced).chain(reasons).chain(measures).sum::<usize>()
    }

    /// The identity as it is stored.
    pub(crate) fn read() -> impl Fetch<Value = Tracked<Self>> {
        let stored = (read::hash(keys::SITE), read::string(keys::SITE_TAG)).or_absent().tracked();
        stored.map(|stored| stored.map(|(hash, tag)| Self::from_stored(&hash, tag.as_deref())))
    }
}

impl Site {
    /// The identity as far as it is known without a read: the cached one, or the one that was
    /// read last.
    pub fn known_identity(&self) -> Shared<Identity> {
        // The time does not matter: an identity is valid until it is written.
        let view = View { store: &self.store, now: Default::default(), is_current: true };
        self.caches.of::<Identities>().get(view, &()).unwrap_or_else(|| self.of::<LastRead>().get())
    }

    /// The rules for accounts, with what administrators have set, as far as it is known without a read.
    pub fn account_rules(&self) -> AccountRules {
        self.known_identity().texts.accounts(&self.rules)
    }
}

/// The identity of the site as it is now. Rounds: 1; none once it is cached.
pub async fn of_site(site: &Site, now: Timestamp) -> Result<Shared<Identity>> {
    let (cache, view) = (site.caches.of::<Identities>(), View { store: &site.store, now, is_current: true });
    if let Some(identity) = cache.get(view, &()) {
        return Ok(identity);
    }
    let identity = cache.insert(view, (), site.store.fetch(Identity::read()).await?, None);
    site.of::<LastRead>().set(&identity);
    Ok(identity)
}

/// The settings that administrators have set, as a store has them. Rounds: 1.
pub async fn stored_texts(store: &Store) -> Result<SiteTexts> {
    let hash = store.fetch(read::hash(keys::SITE)).await?;
    Ok(SiteTexts::parse(|field| hash.get(field).unwrap_or_default()).0)
}

/// Stores how the ids of entries in feeds begin: with a host of the site, and today. If that is stored already, it is the
/// answer. Rounds: 1, or 2.
pub(crate) async fn store_tag_origin(site: &Site, now: Timestamp, host: &str) -> Result<TagOrigin> {
    let tag = TagOrigin::new(host, now);
    let mut batch = Batch::new();
    batch.key_absent(keys::SITE_TAG);
    batch.set(keys::SITE_TAG, tag.to_string());
    // Once in the life of a store, so it is no round of the page.
    let store = site.store.counted_apart();
    if let Applied::Yes(_) = apply(&store, batch).await? {
        return Ok(tag);
    }
    let stored = store.fetch(read::string(keys::SITE_TAG)).await?;
    let stored = stored.and_then(|stored| stored.parse().ok());
    stored.ok_or_else(|| Error::Internal(format!("{} cannot be read", keys::SITE_TAG)))
}

/// The logo, if the name of its file is this. Rounds: 1.
pub async fn logo(site: &Site, name: &str) -> Result<Option<(LogoFile, Vec<u8>)>> {
    let reads = (read::field(keys::SITE, LOGO), read::string(keys::SITE_LOGO));
    let (file, picture) = site.store.fetch(reads).await?;
    let file = fields::read::<LogoFile>(file.as_deref(), || keys::SITE.to_owned(), LOGO);
    let (Some(file), Some(picture)) = (file.filter(|file| file.name() == name), picture) else {
        return Ok(None);
    };
    let bytes = STANDARD.decode(picture).ok();
    if bytes.is_none() {
        report(keys::SITE_LOGO, None);
    }
    Ok(bytes.map(|bytes| (file, bytes)))
}

/// The bytes of a picture as they are stored.
pub(crate) fn stored_picture(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
