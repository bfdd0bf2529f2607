//! The facts of a route: what holds for an address whoever asks for it. A route declares them where it is registered
//! (`router/addresses.rs`), and everything around the handlers reads them: limits, caches, CORS, refusals, the login page,
//! robots.txt, the sitemap, the OpenAPI document, and the tests.

use crate::App;
use crate::error::{RequestError, Result};
use axum::http::{Extensions, Method};
use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Deref;
use strum::{EnumIter, EnumString, IntoStaticStr};
use tidings_domain::accounts::access::Access;
use tidings_language::t;

/// The facts of a route. The constructors of [`RouteFacts`] demand what differs between routes of a kind; what a row leaves
/// out is in `NOTHING`.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The part of the site that it belongs to.
    pub wing: Wing,
    /// The form in which it reports failures.
    pub errors: ErrorFormat,
    /// The cost of a read. A POST spends the rate of its address for these, and what its domain function spends.
    pub read_cost: Cost,
    /// On what its answer depends.
    pub readers: Readers,
    /// The people whom it answers on a site that only members read.
    pub access: Access,
    /// Whether programs read it: a visitor of such a site is refused there, not led to the login page.
    pub is_for_programs: bool,
    /// Whether programs may read it there with the key of a member.
    pub takes_key: bool,
    /// Whether crawlers may read it.
    pub is_crawled: bool,
    /// Whether the first part of the sitemap names it.
    pub is_in_sitemap: bool,
    /// The items of a list.
    pub listed: Option<Listed>,
    /// The wish of somebody who must log in for it.
    pub login: Option<LoginReason>,
    /// The largest body.
    pub body: BodySize,
    /// Where requests that change something may come from.
    pub senders: Senders,
    /// How pages of other sites may call it.
    pub cors: Cors,
    /// Whether a second request would do once more what the first did. Other forms set a state.
    pub acts_once: bool,
    /// Whether buttons name in their address what they act on.
    pub is_named_in_address: bool,
    /// Whether strangers have a password hashed here.
    pub hashes_password: bool,
    /// Whether it writes although it may be sent by GET: old clients do.
    pub writes_by_get: bool,
    /// Whether it only reads although it is sent by POST.
    pub reads_by_post: bool,
    /// Whether it is also a stream of events.
    pub has_events: bool,
    /// Whether the answer to a named request is kept for its repeats.
    pub keeps_answers: bool,
    /// Whether a call needs a session.
    pub needs_session: bool,
    /// The chapter of the API that a call belongs to.
    pub tag: &'static str,
}

/// The facts of a row of the table of routes, which is a `Read`, a `Form` or a `Target`: the facts of one kind do not
/// fit another.
#[must_use]
#[derive(Debug, Clone, Copy)]
pub struct RouteFacts<Kind> {
    facts: Facts,
    kind: PhantomData<Kind>,
}

/// A GET.
#[derive(Debug, Clone, Copy)]
pub struct Read;

/// A page with a form, and the POST that the form is sent to, at one address.
#[derive(Debug, Clone, Copy)]
pub struct Form;

/// A POST.
#[derive(Debug, Clone, Copy)]
pub struct Target;

/// A part of the site that the settings can switch off (`features.timelines`, `features.sites`, `search.enabled`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wing {
    /// None of these: always there.
    Core,
    /// Timelines.
    Timelines,
    /// Votes on sites. The stories of a site are not among them.
    Sites,
    /// Search.
    Search,
}

/// The cost of a read, in the rates of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Nothing. Monitors ask, by any name of the host.
    Free,
    /// A read.
    Small,
    /// A large read: the answer is large, or costly to make, such as threads, feeds, lists of several topics, those of
    /// days and months, and exports.
    Large,
}

/// On what an answer depends besides its address. What does not depend on its reader can be cached; it names the
/// parameters of the query that it reads without a session, and the others are dropped before anything else sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// The same for everyone.
    Everyone(&'static [&'static str]),
    /// The same for all who have no session.
    Visitors(&'static [&'static str]),
    /// Everybody has their own.
    Each,
}

/// Whether crawlers may read a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crawlers {
    /// They may.
    Welcome,
    /// robots.txt keeps them away.
    KeptAway,
}

/// The items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// Stories.
    Stories,
    /// Comments.
    Comments,
    /// Posts.
    Posts,
    /// People.
    People,
}

/// The largest body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodySize {
    /// [`SHORT_BODY_BYTES`](crate::limits::SHORT_BODY_BYTES).
    Short,
    /// [`BODY_BYTES`](crate::limits::BODY_BYTES), for a text, a URL, a picture, many hosts or a new passkey.
    Long,
}

/// Where requests that change something may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Senders {
    /// Pages of this site, and programs.
    Ours,
    /// Anywhere: they know no session. Mail programs, and web sites that show mail, unsubscribe so (RFC 8058).
    Anyone,
    /// Browser extensions, and pages that may vote.
    Voters,
}

/// How pages of other sites may call an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cors {
    /// They may not.
    Closed,
    /// By GET.
    Read,
    /// By GET and POST.
    ReadAndVote,
}

/// The form in which an address reports failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorFormat {
    /// A page.
    Page,
    /// JSON, where a refusal by a rule of the site has HTTP status 200.
    Api,
    /// That of the API of Hacker News.
    HackerNews,
    /// That of the API of the search of Hacker News, with the HTTP status in it.
    Algolia,
    /// That of the calls of browser extensions as they were documented, with an error code.
    Documented,
    /// That of the calls of the original extension, with HTTP 500 always.
    Deployed,
}

/// Why a visitor must log in. It is one of a fixed list, because a page that shows what its address says could be made
/// to say anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LoginReason {
    /// Vote on a story, a comment or a site.
    Vote,
    /// Submit a story.
    Submit,
    /// Comment or reply.
    Comment,
    /// Follow a person or a topic.
    Follow,
    /// Save a story.
    Save,
    /// Hide a story.
    Hide,
    /// Write a tweet.
    Tweet,
    /// Flag something.
    Flag,
}

impl LoginReason {
    /// The reason as a parameter.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The sentence on the page to log in.
    pub fn login(self) -> &'static str {
        match self {
            Self::Vote => t!("Log in to vote."),
            Self::Submit => t!("Log in to submit a story."),
            Self::Comment => t!("Log in to comment."),
            Self::Follow => t!("Log in to follow people and topics."),
            Self::Save => t!("Log in to save stories."),
            Self::Hide => t!("Log in to hide stories."),
            Self::Tweet => t!("Log in to write posts."),
            Self::Flag => t!("Log in to flag something for moderators."),
        }
    }

    /// The sentence on the page to sign up.
    pub fn sign_up(self) -> &'static str {
        match self {
            Self::Vote => t!("Sign up to vote."),
            Self::Submit => t!("Sign up to submit a story."),
            Self::Comment => t!("Sign up to comment."),
            Self::Follow => t!("Sign up to follow people and topics."),
            Self::Save => t!("Sign up to save stories."),
            Self::Hide => t!("Sign up to hide stories."),
            Self::Tweet => t!("Sign up to write posts."),
            Self::Flag => t!("Sign up to flag something for moderators."),
        }
    }
}

/// The facts of a route that says nothing of itself.
const NOTHING: Facts = Facts {
    wing: Wing::Core,
    errors: ErrorFormat::Page,
    read_cost: Cost::Small,
    readers: Readers::Each,
    access: Access::Readers,
    is_for_programs: false,
    takes_key: false,
    is_crawled: true,
    is_in_sitemap: false,
    listed: None,
    login: None,
    body: BodySize::Short,
    senders: Senders::Ours,
    cors: Cors::Closed,
    acts_once: false,
    is_named_in_address: false,
    hashes_password: false,
    writes_by_get: false,
    reads_by_post: false,
    has_events: false,
    keeps_answers: true,
    needs_session: false,
    tag: "",
};

/// A page that is the same for all visitors, with the parameters that it reads. Those who may read the site read it, unless
/// it says `to(Everyone)`.
pub const fn public(wing: Wing, read_cost: Cost, parameters: &'static [&'static str]) -> RouteFacts<Read> {
    RouteFacts::new(Facts { wing, read_cost, readers: Readers::Visitors(parameters), ..NOTHING })
}

/// A feed. It is not told who asks for it.
pub const fn feed(wing: Wing, parameters: &'static [&'static str]) -> RouteFacts<Read> {
    let (read_cost, readers) = (Cost::Large, Readers::Everyone(parameters));
    RouteFacts::new(Facts { wing, read_cost, readers, ..NOTHING }).for_programs()
}

/// A file that is the same for everyone.
pub const FILE: RouteFacts<Read> =
    RouteFacts::new(Facts { readers: Readers::Everyone(&[]), access: Access::Everyone, ..NOTHING });

/// A page that depends on who asks, with the wish of somebody who must log in for it.
pub const fn own(
    wing: Wing,
    access: Access,
    read_cost: Cost,
    crawlers: Crawlers,
    login: Option<LoginReason>,
) -> RouteFacts<Read> {
    let is_crawled = matches!(crawlers, Crawlers::Welcome);
    RouteFacts::new(Facts { wing, access, read_cost, is_crawled, login, ..NOTHING })
}

/// Such a page with a form, which is sent to its own address.
pub const fn own_form(
    wing: Wing,
    access: Access,
    crawlers: Crawlers,
    body: BodySize,
    login: Option<LoginReason>,
) -> RouteFacts<Form> {
    RouteFacts::new(Facts { body, ..own(wing, access, Cost::Small, crawlers, login).facts })
}

/// The target of a form that is on other pages.
pub const fn target(
    wing: Wing,
    access: Access,
    body: BodySize,
    login: Option<LoginReason>,
) -> RouteFacts<Target> {
    RouteFacts::new(Facts { wing, access, body, login, ..NOTHING })
}

/// The target of the form of an action of those who may read, without a text, a URL, a picture or a list of hosts.
pub const SHORT: RouteFacts<Target> = target(Wing::Core, Access::Readers, BodySize::Short, None);
/// The same with one of these.
pub const LONG: RouteFacts<Target> = target(Wing::Core, Access::Readers, BodySize::Long, None);

/// A call of a member that reads, with its chapter of the API.
pub const fn call(wing: Wing, access: Access, read_cost: Cost, tag: &'static str) -> RouteFacts<Read> {
    RouteFacts::new(Facts { read_cost, ..of_api(wing, access, tag) })
}

/// A call of a member that acts.
pub const fn posted(wing: Wing, access: Access, body: BodySize, tag: &'static str) -> RouteFacts<Target> {
    RouteFacts::new(Facts { body, ..of_api(wing, access, tag) })
}

const fn of_api(wing: Wing, access: Access, tag: &'static str) -> Facts {
    let cors = if matches!(wing, Wing::Sites) { Cors::ReadAndVote } else { Cors::Closed };
    let api = Facts { errors: ErrorFormat::Api, is_crawled: false, is_for_programs: true, ..NOTHING };
    Facts { wing, access, tag, cors, acts_once: true, needs_session: true, ..api }
}

/// A call that is answered the same to all without a session, with the parameters that it reads.
pub const fn public_call(
    wing: Wing,
    read_cost: Cost,
    tag: &'static str,
    parameters: &'static [&'static str],
) -> RouteFacts<Read> {
    let (readers, facts) = (Readers::Visitors(parameters), of_api(wing, Access::Readers, tag));
    RouteFacts::new(Facts { readers, read_cost, ..facts }).for_anyone().for_programs()
}

/// A call of the API of Hacker News, which is also a stream.
pub const fn hacker_news(read_cost: Cost, parameters: &'static [&'static str]) -> RouteFacts<Read> {
    let (errors, cors, has_events) = (ErrorFormat::HackerNews, Cors::Read, true);
    let facts = public_call(Wing::Core, read_cost, "", parameters).facts;
    RouteFacts::new(Facts { errors, cors, has_events, is_crawled: true, ..facts })
}

/// A call of the API of the search of Hacker News. Searches are in no cache: they are limited by a rate of their own.
pub const fn algolia(wing: Wing, readers: Readers) -> RouteFacts<Read> {
    let (errors, cors, read_cost) = (ErrorFormat::Algolia, Cors::Read, Cost::Large);
    let facts = of_api(wing, Access::Readers, "Hacker News");
    RouteFacts::new(Facts { errors, cors, readers, read_cost, ..facts }).for_anyone().for_programs()
}

/// A call of browser extensions.
pub const fn extension<Kind: Copy>(
    errors: ErrorFormat,
    senders: Senders,
    readers: Readers,
) -> RouteFacts<Kind> {
    let facts = of_api(Wing::Sites, Access::Readers, "Browser extensions");
    RouteFacts::new(Facts { errors, senders, readers, is_crawled: true, ..facts }).for_anyone().for_programs()
}

impl<Kind: Copy> RouteFacts<Kind> {
    const fn new(facts: Facts) -> Self {
        Self { facts, kind: PhantomData }
    }

    /// A second request would do once more what the first did.
    pub const fn once(self) -> Self {
        Self::new(Facts { acts_once: true, ..self.facts })
    }

    /// A call that needs no session.
    pub const fn for_anyone(self) -> Self {
        Self::new(Facts { needs_session: false, ..self.facts })
    }

    /// Programs read it, there with the key of a member.
    pub const fn for_programs(self) -> Self {
        Self::new(Facts { is_for_programs: true, takes_key: true, ..self.facts })
    }

    /// Strangers have a password hashed here.
    pub const fn hashing(self) -> Self {
        Self::new(Facts { hashes_password: true, ..self.facts })
    }

    /// Requests that change something may come from elsewhere.
    pub const fn sent_from(self, senders: Senders) -> Self {
        Self::new(Facts { senders, ..self.facts })
    }

    /// Its answers are not kept for repeats: what it does ends the session, what it answers is a secret of which the
    /// store holds only hashes, or it changes nothing.
    pub const fn not_answered_again(self) -> Self {
        Self::new(Facts { keeps_answers: false, ..self.facts })
    }
}

impl RouteFacts<Read> {
    /// A page that is the same for all visitors answers these people on a site that only members read.
    pub const fn to(self, access: Access) -> Self {
        Self::new(Facts { access, ..self.facts })
    }

    /// The items that it lists.
    pub const fn listing(self, listed: Listed) -> Self {
        Self::new(Facts { listed: Some(listed), ..self.facts })
    }

    /// It is in the sitemap.
    pub const fn in_sitemap(self) -> Self {
        Self::new(Facts { is_in_sitemap: true, ..self.facts })
    }

    /// Old clients send it by GET, which writes too.
    pub const fn written_by_get(self) -> Self {
        Self::new(Facts { writes_by_get: true, ..self.facts })
    }
}

impl RouteFacts<Target> {
    /// It belongs to a part of the site that can be switched off.
    pub const fn of(self, wing: Wing) -> Self {
        Self::new(Facts { wing, ..self.facts })
    }

    /// Somebody who is not logged in is asked to for this.
    pub const fn asking(self, login: LoginReason) -> Self {
        Self::new(Facts { login: Some(login), ..self.facts })
    }

    /// It reads much, although it is sent by POST.
    pub const fn read_by_post(self) -> Self {
        Self::new(Facts { reads_by_post: true, read_cost: Cost::Large, ..self.facts })
    }
}

impl<Kind> Deref for RouteFacts<Kind> {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.facts
    }
}

impl Facts {
    /// The call of an action whose form has these facts.
    pub const fn of_call(self, tag: &'static str) -> Self {
        posted(self.wing, self.access, self.body, tag).facts
    }

    /// Whether it is a call of the API, not a page.
    pub const fn is_call(&self) -> bool {
        matches!(self.errors, ErrorFormat::Api | ErrorFormat::Algolia)
    }

    /// The parameters that an answer depends on; `None` if it cannot be cached.
    pub const fn parameters(&self) -> Option<&'static [&'static str]> {
        match self.readers {
            Readers::Everyone(parameters) | Readers::Visitors(parameters) => Some(parameters),
            Readers::Each => None,
        }
    }

    /// Whether it is a file of the program, or one as open.
    pub const fn is_open_file(&self) -> bool {
        self.is_for_everyone() && matches!(self.access, Access::Everyone)
    }

    /// Whether an answer is the same for people with a session.
    pub const fn is_for_everyone(&self) -> bool {
        matches!(self.readers, Readers::Everyone(_))
    }
}

/// The parts of the site that are on.
#[derive(Debug, Clone, Copy)]
pub struct Wings {
    timelines: bool,
    sites: bool,
    search: bool,
}

impl Wings {
    /// How many combinations there are.
    pub const COMBINATIONS: usize = 8;

    /// Those of a site.
    pub fn of(app: &App) -> Self {
        let features = &app.site.rules.features;
        Self { timelines: features.timelines, sites: features.sites, search: app.settings.search.is_on }
    }

    /// The number of this combination, from 0.
    pub fn number(self) -> usize {
        usize::from(self.timelines) + 2 * usize::from(self.sites) + 4 * usize::from(self.search)
    }

    /// Refuses a request for what is switched off, as if it did not exist.
    ///
    /// # Errors
    /// [`RequestError::NotFound`].
    pub fn admit(self, facts: &Facts) -> Result<()> {
        if self.have(facts.wing) { Ok(()) } else { Err(RequestError::NotFound) }
    }

    /// Whether a part is on.
    pub const fn have(self, wing: Wing) -> bool {
        match wing {
            Wing::Core => true,
            Wing::Timelines => self.timelines,
            Wing::Sites => self.sites,
            Wing::Search => self.search,
        }
    }
}

/// A route of the site.
#[derive(Debug)]
pub struct Declared {
    /// Its address, with variables in braces. A variable `{token}` or `{secret}` is a secret.
    pub pattern: Cow<'static, str>,
    /// The facts of its GET, if it has one.
    pub get: Option<Facts>,
    /// The facts of its POST, if it has one.
    pub post: Option<Facts>,
    /// Its place among all routes, from 1.
    number: usize,
}

/// The route of a request, with the facts of its method.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    declared: &'static Declared,
    facts: &'static Facts,
}

/// The route of what is nowhere.
static NO_ROUTE: Declared = Declared { pattern: Cow::Borrowed("other"), get: None, post: None, number: 0 };

/// The facts of addresses at which nothing is, by their beginnings: programs get a failure in their own form.
static NOTHING_BELOW: [(&str, Facts); 6] = [
    ("/.well-known/", Facts { access: Access::Everyone, ..NOTHING }),
    ("/api/v1/", algolia(Wing::Core, Readers::Each).facts),
    ("/api/sites/", of_api(Wing::Sites, Access::Readers, "")),
    ("/api/", of_api(Wing::Core, Access::Readers, "")),
    ("/v0/", hacker_news(Cost::Large, &[]).facts),
    ("/v1/", extension::<Read>(ErrorFormat::Deployed, Senders::Anyone, Readers::Each).facts),
];

impl Default for Route {
    fn default() -> Self {
        Self { declared: &NO_ROUTE, facts: &NOTHING }
    }
}

impl Deref for Route {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        self.facts
    }
}

impl Route {
    /// That of a request.
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get().copied().unwrap_or_default()
    }

    /// Its number, from 1; 0 if nothing is there.
    pub const fn number(self) -> usize {
        self.declared.number
    }

    /// Its address with variables, such as `/news/{id}`; `other` if nothing is there.
    pub fn pattern(self) -> &'static str {
        &self.declared.pattern
    }
}

/// All routes of the site.
pub struct Routes {
    all: Vec<Declared>,
    by_path: matchit::Router<usize>,
}

impl Routes {
    /// These routes: their addresses, whether they are of a POST, and their facts.
    pub fn new(declared: impl IntoIterator<Item = (String, bool, Facts)>) -> Self {
        let (mut all, mut by_path) = (Vec::<Declared>::new(), matchit::Router::new());
        for (pattern, is_post, facts) in declared {
            let known = all.iter().position(|route| route.pattern == pattern);
            let place = known.unwrap_or(all.len());
            if known.is_none() {
                // The router, which is made of the same addresses, reports two that are alike.
                by_path.insert(&*pattern, place).ok();
                all.push(Declared { pattern: pattern.into(), get: None, post: None, number: place + 1 });
            }
            if let Some(route) = all.get_mut(place) {
                *(if is_post { &mut route.post } else { &mut route.get }) = Some(facts);
            }
        }
        Self { all, by_path }
    }

    /// All of them, in the order of their declaration.
    pub fn iter(&self) -> impl Iterator<Item = &Declared> {
        self.all.iter()
    }

    /// The beginnings of the addresses that crawlers must not read, none of which begins with another.
    pub fn kept_from_crawlers(&self) -> Vec<&str> {
        let declared = self.all.iter().filter_map(|route| Some((&*route.pattern, route.get.as_ref()?)));
        let below = NOTHING_BELOW.iter().map(|(beginning, facts)| (*beginning, facts));
        let kept = declared.chain(below).filter(|(_, facts)| !facts.is_crawled);
        let mut beginnings: Vec<&str> = kept.filter_map(|(pattern, _)| pattern.split('{').next()).collect();
        beginnings.sort_unstable();
        // One that begins with another follows it.
        beginnings.dedup_by(|next, kept| next.starts_with(*kept));
        beginnings
    }

    /// The pages that the sitemap names, on a site with these parts. A list is named by its first page.
    pub fn in_sitemap(&self, wings: Wings) -> impl Iterator<Item = String> {
        let is_named = move |facts: &Facts| facts.is_in_sitemap && wings.have(facts.wing);
        let named = self.all.iter().filter(move |route| route.get.as_ref().is_some_and(is_named));
        named.map(|route| route.pattern.replace("{start}", "0"))
    }

    /// The route of a request.
    pub fn find(&'static self, method: &Method, path: &str) -> Route {
        let found = self.by_path.at(path).ok().and_then(|found| self.all.get(*found.value));
        if let Some(declared) = found {
            let [first, second] = if *method == Method::POST {
                [&declared.post, &declared.get]
            } else {
                [&declared.get, &declared.post]
            };
            if let Some(facts) = first.as_ref().or(second.as_ref()) {
                return Route { declared, facts };
            }
        }
        let below = NOTHING_BELOW.iter().find(|(beginning, _)| path.starts_with(beginning));
        below.map_or_else(Route::default, |(_, facts)| Route { declared: &NO_ROUTE, facts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    #[test]
    fn reasons_are_known_by_their_names_only() {
        for reason in LoginReason::iter() {
            assert_eq!(reason.name().parse(), Ok(reason));
        }
        for other in ["", "Vote", "win a prize", "<b>"] {
            assert!(other.parse::<LoginReason>().is_err());
        }
    }
}
