//! Every address that takes a POST: the answer is kept for a repeat of the request, or there is a reason
//! why it need not be.

use tidings_testing::routes::post_routes;

use crate::client::{HttpResponse, encoded};
use crate::malformed::{CALLS, Call, REQUIRED, Target};
use crate::malformed_forms::FORMS;
use crate::repeats::{answered, stored};

/// Further calls of the administrator of a [`Target`].
const OTHERS: &[Call] = &[
    signed("/api/endsession", &[("session", "others", REQUIRED)]),
    signed("/settings/sessions", &[("session", "others", REQUIRED)]),
    signed("/api/sites/vote", &[("link", "example.org", REQUIRED), ("vote", "1", REQUIRED)]),
    signed("/votesite", &[("link", "example.org", REQUIRED), ("vote", "1", REQUIRED)]),
    signed("/api/sites/admin/settings", &[("maximum_votes_per_user_per_day", "20", REQUIRED)]),
    signed("/admin/sites/settings", &[("maximum_votes_per_user_per_day", "20", REQUIRED)]),
];

/// Addresses whose calls need more than a [`Target`] has, and what they have in common with others.
const NOT_TRIED: &[(&str, &str)] = &[
    ("/api/totp/end", "tried in `openapi`"),
    ("/api/sites/admin/ban", "tried in `openapi`"),
    ("/api/sites/admin/unban", "tried in `openapi`"),
    ("/admin/sites/ban", "does what /api/sites/admin/ban does"),
    ("/admin/sites/unban", "does what /api/sites/admin/unban does"),
    ("/settings/two-factor/app/remove", "does what /api/totp/end does"),
    ("/settings/two-factor/passkeys/remove", "as /api/totp/end, of a passkey"),
    ("/settings/invitations/withdraw", "needs the code of an invitation, which is gone afterwards"),
    ("/welcome", "the first account becomes administrator, once"),
];

/// Addresses that do something again for a repeat, and why this is right.
const DONE_AGAIN: &[(&str, &str)] =
    &[("/settings/sessions", "ends the sessions that have begun since; only the secret changes again")];

/// Addresses whose answers are not kept, and why a repeat does no harm.
const NOT_KEPT: &[(&str, &str)] = &[
    ("/api/create_account", "no account yet: a name can be taken once"),
    ("/register", "no account yet: a name can be taken once"),
    ("/api/login", "no account yet: a further session"),
    ("/login", "no account yet: a further session"),
    ("/login/code", "no account yet: a code counts once"),
    ("/login/passkey", "no account yet: a challenge counts once"),
    ("/login/passkey/options", "no account yet: writes nothing that lasts"),
    ("/api/reset-password", "no account yet: a further mail, within a limit"),
    ("/reset-password", "no account yet: a further mail, within a limit"),
    ("/reset-password/{token}", "no account yet: a link counts once"),
    ("/confirm-email/{token}", "no account needed: confirmed twice is as once"),
    ("/unsubscribe/{token}", "no account needed: unsubscribed twice is as once"),
    ("/api/appeal", "with a password there is no session, and an appeal is possible once"),
    ("/appeal", "with a password there is no session, and an appeal is possible once"),
    ("/api/sites/own", "the voter is the browser, not an account; writes nothing twice"),
    ("/vote", "the voter is the browser: a vote twice is as once"),
    ("/v1/vote", "the voter is the browser: a vote twice is as once"),
    ("/api/logout", "ends the session, and with it whatever could repeat it"),
    ("/logout", "ends the session, and with it whatever could repeat it"),
    ("/settings/deactivate", "ends the account"),
    ("/api/preview", "writes nothing"),
    ("/preview", "writes nothing"),
    ("/api/fetchtitle", "writes nothing"),
    ("/api/totp/confirm", "answers with secrets of which only hashes are stored; refused the second time"),
    ("/settings/two-factor/app/confirm", "as /api/totp/confirm"),
    ("/settings/two-factor/codes", "answers with secrets: a repeat shows new ones, which count"),
    ("/settings/two-factor/passkeys", "writes only a challenge, of which the last counts"),
    ("/settings/two-factor/passkeys/confirm", "as /api/totp/confirm"),
    ("/admin/site/logo", "a file, not a form; set twice it is as once"),
];

const fn signed(path: &'static str, fields: &'static [(&'static str, &'static str, bool)]) -> Call {
    Call { path, fields, takes_get: false, signed: true }
}

fn is_listed(list: &[(&str, &str)], route: &str) -> bool {
    list.iter().any(|(listed, _)| *listed == route)
}

fn tried() -> impl Iterator<Item = &'static Call> {
    CALLS.iter().chain(FORMS).chain(OTHERS).filter(|call| call.signed)
}

/// The route of the address of a call.
fn route_of(call: &Call) -> String {
    call.path.replace("/1", "/{id}")
}

#[test]
fn each_address_that_takes_a_post_is_decided_about() {
    let tried: Vec<String> = tried().map(route_of).collect();
    for route in post_routes() {
        let is_kept = tried.contains(&route) && !is_listed(NOT_KEPT, &route);
        let decided = [is_kept, is_listed(NOT_TRIED, &route), is_listed(NOT_KEPT, &route)];
        let count = decided.iter().filter(|is| **is).count();
        assert_eq!(count, 1, "{route}: what happens when it is sent twice?");
    }
}

/// What a client sees.
fn seen(answer: &HttpResponse, is_call: bool) -> (u16, String) {
    let location = answer.headers.get("location").map(|location| location.to_str().unwrap().to_owned());
    let body = is_call.then(|| answer.json().to_string());
    (answer.status.as_u16(), location.or(body).unwrap_or_default())
}

async fn send(target: &Target, call: &Call, request: &str) -> HttpResponse {
    let form = format!("{}&{}", target.form_without(call, ""), encoded(&[("request", request)]));
    target.send(call, &form).await.remove(0)
}

#[tokio::test]
async fn each_action_with_a_session_is_done_once_and_answered_twice() {
    let (mut kept, mut wrong) = (0, Vec::new());
    for call in tried().filter(|call| !is_listed(NOT_KEPT, &route_of(call))) {
        let target = Target::new().await;
        let is_call = call.path.starts_with("/api/");
        let first = send(&target, call, "a name").await;
        if !first.status.is_success() && !first.status.is_redirection() {
            wrong.push(format!("{}: it is refused", call.path));
            continue;
        }
        let done = stored(&target.server).await;
        // Forms that set a state keep no answer.
        if is_call && answered(&done).len() != 1 {
            wrong.push(format!("{}: the answer is not kept", call.path));
        }
        if call.fields.iter().any(|(name, ..)| *name == "password") {
            // The session has ended with the old password.
            continue;
        }
        let again = send(&target, call, "a name").await;
        let (first, again) = (seen(&first, is_call), seen(&again, is_call));
        if first != again {
            wrong.push(format!("{}: {again:?} instead of {first:?}", call.path));
        }
        if !is_listed(DONE_AGAIN, &route_of(call)) && stored(&target.server).await != done {
            wrong.push(format!("{}: it is done twice", call.path));
        }
        kept += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(kept > 60, "{kept}");
}
