//! Every address that takes a POST, for the tests that try all of them. A test fails for an address of the
//! router that is missing here.

use std::collections::BTreeSet;

use crate::client::fields_of;
use crate::routes::post_routes;

/// The name of a field, a good value, and whether it may be left out.
pub type ExampleField = (&'static str, &'static str, bool);

/// Fields with good values, written as in an address: `topic=rust&about?=A sentence`. The names of those that may be left
/// out end in `?`.
type Example = &'static str;

pub const REQUIRED: bool = false;
pub const OPTIONAL: bool = true;

/// An action behind a form of a page, a call of the API, or both.
#[derive(Clone, Copy)]
pub struct Action {
    page: Option<&'static str>,
    call: Option<&'static str>,
    /// Good values for all fields, which the administrator of a `Target` can send; `None` if more is needed.
    example: Option<Example>,
    has_session: bool,
    /// Whether the call takes its fields from the query string of a GET too.
    call_by_get: bool,
    is_refused_in_silence: bool,
    repeat: Repeat,
}

/// The fate of a request that is sent again with the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It is answered as the first and not done again.
    Kept,
    /// The same. The sweep cannot try it, because it has no example, or acts after its answer; where it is tried, or why.
    KeptButUntried(&'static str),
    /// It is answered as the first, and done again; why this is right.
    DoneAgain(&'static str),
    /// The answer is not kept; why a repeat does no harm.
    NotKept(&'static str),
}

/// An address to send a form to.
#[derive(Clone)]
pub struct Address {
    pub path: &'static str,
    pub fields: Vec<ExampleField>,
    /// Whether it takes its fields from the query string of a GET too.
    pub takes_get: bool,
    /// Whether it needs a session.
    pub signed: bool,
    /// Whether it refuses who is silenced: others would see what it does.
    pub is_refused_in_silence: bool,
    pub repeat: Repeat,
}

const fn action(page: Option<&'static str>, call: Option<&'static str>, example: Option<Example>) -> Action {
    let (has_session, call_by_get, is_refused_in_silence) = (true, false, false);
    Action { page, call, example, has_session, call_by_get, is_refused_in_silence, repeat: Repeat::Kept }
}

const fn both(page: &'static str, call: &'static str, example: Example) -> Action {
    action(Some(page), Some(call), Some(example))
}

const fn page(path: &'static str, example: Example) -> Action {
    action(Some(path), None, Some(example))
}

const fn call(path: &'static str, example: Example) -> Action {
    action(None, Some(path), Some(example))
}

const fn untried_page(path: &'static str) -> Action {
    action(Some(path), None, None)
}

const fn untried_call(path: &'static str) -> Action {
    action(None, Some(path), None)
}

impl Action {
    const fn without_session(self) -> Self {
        Self { has_session: false, ..self }
    }

    const fn call_by_get(self) -> Self {
        Self { call_by_get: true, ..self }
    }

    const fn refused_in_silence(self) -> Self {
        Self { is_refused_in_silence: true, ..self }
    }

    const fn kept_but_untried(self, place: &'static str) -> Self {
        Self { repeat: Repeat::KeptButUntried(place), ..self }
    }

    const fn done_again(self, reason: &'static str) -> Self {
        Self { repeat: Repeat::DoneAgain(reason), ..self }
    }

    const fn not_kept(self, reason: &'static str) -> Self {
        Self { repeat: Repeat::NotKept(reason), ..self }
    }

    fn at(&self, path: &'static str, takes_get: bool) -> Option<Address> {
        let Self { example, has_session: signed, is_refused_in_silence, repeat, .. } = *self;
        let field = |(name, value): (&'static str, &'static str)| match name.strip_suffix('?') {
            Some(name) => (name, value, OPTIONAL),
            None => (name, value, REQUIRED),
        };
        let fields = fields_of(example?).into_iter().map(field).collect();
        Some(Address { path, fields, takes_get, signed, is_refused_in_silence, repeat })
    }
}

/// The calls of the API that have an example.
pub fn calls() -> impl Iterator<Item = Address> {
    ACTIONS.iter().filter_map(|action| action.at(action.call?, action.call_by_get))
}

/// The forms of pages that have an example.
pub fn forms() -> impl Iterator<Item = Address> {
    ACTIONS.iter().filter_map(|action| action.at(action.page?, false))
}

/// The route of an address.
fn route_of(path: &str) -> String {
    path.replace("/1", "/{id}")
}

#[test]
fn each_address_that_takes_a_post_is_decided_about() {
    let addresses: Vec<String> =
        ACTIONS.iter().flat_map(|action| [action.page, action.call]).flatten().map(route_of).collect();
    let known: BTreeSet<String> = addresses.iter().cloned().collect();
    assert_eq!(known, post_routes(), "may somebody do this who is silenced, and what if it is sent twice?");
    assert_eq!(known.len(), addresses.len(), "an address is there twice: {addresses:?}");
}

#[test]
fn what_has_no_example_says_why_its_repeats_are_not_tried() {
    for action in ACTIONS.iter().filter(|action| action.example.is_none()) {
        assert!(action.repeat != Repeat::Kept, "{:?} {:?}", action.page, action.call);
    }
}

/// All of them. The password of each account is `correct horse`.
const ACTIONS: &[Action] = &[
    page("/admin/recompute", ""),
    page("/admin/site", "description?=A sentence&accent?=#aa0000&rules?=Be kind"),
    untried_page("/admin/site/logo").not_kept("a file, not a form; set twice it is as once"),
    page("/admin/site/removelogo", ""),
    untried_page("/admin/sites/ban").kept_but_untried("does what /api/sites/admin/ban does"),
    both("/admin/sites/settings", "/api/sites/admin/settings", "maximum_votes_per_user_per_day?=20"),
    untried_page("/admin/sites/unban").kept_but_untried("does what /api/sites/admin/unban does"),
    both(
        "/appeal",
        "/api/appeal",
        "moderation_id=1&text=It was not like that&username?=bob&password?=correct horse",
    )
    .without_session()
    .not_kept("with a password there is no session, and an appeal is possible once"),
    both("/block", "/api/block", "username=bob"),
    untried_page("/confirm-email/{token}").not_kept("no account needed: confirmed twice is as once"),
    call("/api/delnews", "news_id=1"),
    page("/delnews/1", ""),
    call("/api/deltweet", "tweet_id=1"),
    page("/deltweet/1", ""),
    both("/describetopic", "/api/describetopic", "about=A sentence&topic=rust").refused_in_silence(),
    page("/editnews/1", "news_id=1&title=A title&url?=http://example.com/new&text?=").refused_in_silence(),
    untried_call("/api/fetchtitle").not_kept("writes nothing"),
    both("/flag", "/api/flag", "kind=story&id=2&reason=spam&note?=a note").refused_in_silence(),
    both("/follow", "/api/follow", "username=bob").refused_in_silence(),
    both("/followtopic", "/api/followtopic", "topic=rust"),
    both("/hide", "/api/hide", "news_id=2"),
    untried_page("/feeds/key").not_kept("the store has its hash alone; another key replaces it"),
    page("/inbox/feed", "feed=new"),
    untried_page("/inbox/undo").kept_but_untried("undoes what was marked a short time ago, once"),
    both("/login", "/api/login", "username=alice&password=correct horse")
        .without_session()
        .call_by_get()
        .not_kept("no account yet: a further session"),
    untried_page("/login/code").not_kept("no account yet: a code counts once"),
    untried_page("/login/link/{token}").not_kept("no account yet: a link counts once"),
    untried_page("/login/passkey").not_kept("no account yet: a challenge counts once"),
    untried_page("/login/passkey/options").not_kept("no account yet: writes nothing that lasts"),
    both("/logout", "/api/logout", "").not_kept("ends the session, and with it whatever could repeat it"),
    untried_page("/oidc/connect").kept_but_untried("needs a provider: single_sign_on.rs"),
    untried_page("/oidc/disconnect").kept_but_untried("needs a provider: single_sign_on.rs"),
    untried_page("/oidc/logout").not_kept("no account: a token counts once"),
    both("/messages", "/api/messages", "anonymous?=0&text=A question"),
    both("/mergetopic", "/api/mergetopic", "topic=rust&into=go").refused_in_silence(),
    both("/moderate", "/api/moderate", "action=silence&kind=user&id=bob&reason=spam").refused_in_silence(),
    both("/moderate/rules", "/api/moderate/rule", "effect=hold&pattern=example.com&reason=spam&what=domain")
        .refused_in_silence(),
    both("/moderate/rules/lift", "/api/moderate/unrule", "reason=a mistake&rule_id=1").refused_in_silence(),
    both("/people", "/api/moderate/people", "action=silence&reason=a raid&usernames=bob")
        .refused_in_silence(),
    both("/moderate/bans", "/api/moderate/bans", "reason=spam&scope=signup&value=192.0.2.0/24&what=network")
        .refused_in_silence(),
    both("/moderate/bans/lift", "/api/moderate/unban", "ban_id=1&reason=a mistake").refused_in_silence(),
    both("/moderate/reasons", "/api/moderate/reasons", "rule?=Rule 3&text=No politics here&title=Politics")
        .refused_in_silence(),
    both("/admin/announcement", "/api/admin/announcement", "hours?=2&text?=We move on Sunday&url?=/about")
        .refused_in_silence(),
    both(
        "/admin/hooks",
        "/api/admin/hooks",
        "address=https://hooks.example.com/1&format?=full&kinds=story,queue&secret=correct horse",
    ),
    both("/announcement/dismiss", "/api/announcement/dismiss", "made=1800000000"),
    both("/moderate/undo", "/api/moderate/undo", "moderation_id=1&reason=a mistake").refused_in_silence(),
    page("/moderate/votes", ""),
    both("/mute", "/api/mute", "what=word&value=chess"),
    both("/mutetopic", "/api/mutetopic", "topic=rust"),
    both(
        "/postcomment",
        "/api/postcomment",
        "news_id=1&comment_id=-1&parent_id=1&comment=text&speaking_as?=moderator",
    )
    .refused_in_silence(),
    call("/api/preview", "text=*A* text").without_session().not_kept("writes nothing"),
    page(
        "/profile",
        "about=new&email=new@example.org&password?=a new password&current_password?=correct horse",
    )
    .refused_in_silence(),
    both("/readinbox", "/api/readinbox", "id=all&until?=reply:1-1"),
    both(
        "/register",
        "/api/create_account",
        "username=mallory&password=a good password&email?=mallory@example.org&\
            application?=I read a lot.",
    )
    .without_session()
    .not_kept("no account yet: a name can be taken once"),
    both("/renametopic", "/api/renametopic", "topic=rust&name=crab").refused_in_silence(),
    both("/reset-password", "/api/reset-password", "username=alice&email=alice@example.org")
        .without_session()
        .call_by_get()
        .not_kept("no account yet: a further mail, within a limit"),
    untried_page("/reset-password/{token}").not_kept("no account yet: a link counts once"),
    both("/save", "/api/save", "news_id=2"),
    page("/settings", "about?=new&fullname?=A new name&tweet_news?=1&tweet_news_shown?=1")
        .refused_in_silence(),
    page("/settings/account", "password=a new password&current_password?=correct horse"),
    page(
        "/settings/mail",
        "email?=new@example.org&current_password?=correct horse&digest?=weekly&mail_replies?=1&\
            mail_replies_shown?=1",
    ),
    page("/settings/reading", "theme?=dark&text_size?=large&shortcuts?=modifier&sort_comments?=newest"),
    page("/settings/confirm-email", "").kept_but_untried("mails the link after the answer"),
    page("/settings/deactivate", "password=correct horse&writings?=keep").not_kept("ends the account"),
    both("/settings/invitations", "/api/invite", "email?=carol@example.org").refused_in_silence(),
    untried_page("/settings/invitations/withdraw")
        .kept_but_untried("needs the code of an invitation, which is gone afterwards"),
    call("/api/endsession", "session=others"),
    page("/settings/sessions", "session=others")
        .done_again("ends the sessions that have begun since; only the secret changes again"),
    both("/settings/two-factor/app", "/api/totp/begin", "current_password=correct horse"),
    untried_page("/settings/two-factor/app/confirm").not_kept("as /api/totp/confirm"),
    untried_page("/settings/two-factor/app/remove").kept_but_untried("does what /api/totp/end does"),
    untried_page("/settings/two-factor/codes")
        .not_kept("answers with secrets: a repeat shows new ones, which count"),
    untried_page("/settings/two-factor/passkeys")
        .not_kept("writes only a challenge, of which the last counts"),
    untried_page("/settings/two-factor/passkeys/confirm").not_kept("as /api/totp/confirm"),
    untried_page("/settings/two-factor/passkeys/remove").kept_but_untried("as /api/totp/end, of a passkey"),
    untried_call("/api/sites/admin/ban").kept_but_untried("tried in `openapi`"),
    untried_call("/api/sites/admin/unban").kept_but_untried("tried in `openapi`"),
    untried_call("/api/sites/own").not_kept("the voter is the browser, not an account; writes nothing twice"),
    both(
        "/submit",
        "/api/submit",
        "news_id=-1&title=A title&url?=http://example.com/new&text?=A text&\
            topics?=rust, new-topic",
    )
    .refused_in_silence(),
    both("/subscribe", "/api/subscribe", "news_id=2"),
    untried_call("/api/totp/confirm")
        .not_kept("answers with secrets of which only hashes are stored; refused the second time"),
    untried_call("/api/totp/end").kept_but_untried("tried in `openapi`"),
    both("/tweet", "/api/tweet", "text=A tweet").refused_in_silence(),
    both("/unblock", "/api/unblock", "username=bob"),
    both("/unflag", "/api/unflag", "kind=comment&id=1-1"),
    both("/unfollow", "/api/unfollow", "username=bob"),
    both("/unfollowtopic", "/api/unfollowtopic", "topic=rust"),
    both("/unhide", "/api/unhide", "news_id=2"),
    both("/unmute", "/api/unmute", "what=word&value=chess"),
    both("/unmutetopic", "/api/unmutetopic", "topic=rust"),
    both("/unsave", "/api/unsave", "news_id=2"),
    both("/unsubscribe", "/api/unsubscribe", "news_id=2"),
    untried_page("/unsubscribe/{token}").not_kept("no account needed: unsubscribed twice is as once"),
    call(
        "/api/updateprofile",
        "about=new&email=new@example.org&password?=a new password&\
            current_password?=correct horse&fullname?=A new name&tweet_news?=0&shortcuts?=modifier&\
            digest?=weekly&mail_replies?=1&sort_comments?=newest&theme?=dark&text_size?=large",
    )
    .refused_in_silence(),
    untried_page("/v1/vote").not_kept("the voter is the browser: a vote twice is as once"),
    untried_page("/vote").not_kept("the voter is the browser: a vote twice is as once"),
    both("/votecomment", "/api/votecomment", "comment_id=1-1&vote_type=up"),
    both("/votenews", "/api/votenews", "news_id=2&vote_type=up"),
    both("/votesite", "/api/sites/vote", "link=example.org&vote=1"),
    untried_page("/welcome").kept_but_untried("the first account becomes administrator, once"),
];
