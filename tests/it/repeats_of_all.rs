//! Every address that takes a POST: the answer is kept for a repeat of the request, unless `addresses` says
//! why it need not be.

use crate::addresses::{Address, Repeat, calls, forms};
use crate::client::{HttpResponse, encoded};
use crate::malformed::Target;
use crate::repeats::{answered, stored};

/// The parts of an answer that a client sees.
fn seen(answer: &HttpResponse, is_call: bool) -> (u16, String) {
    let location = answer.headers.get("location").map(|location| location.to_str().unwrap().to_owned());
    let body = is_call.then(|| answer.json().to_string());
    (answer.status.as_u16(), location.or(body).unwrap_or_default())
}

/// The same without the signature of a notice, which changes with the secret of forms.
fn unsigned((status, text): (u16, String)) -> (u16, String) {
    match text.rsplit_once('.') {
        Some((unsigned, _)) if text.contains("notice=") => (status, unsigned.to_owned()),
        _ => (status, text),
    }
}

async fn send(target: &Target, call: &Address, request: &str) -> HttpResponse {
    let form = format!("{}&{}", target.form_without(call, ""), encoded(&[("request", request)]));
    target.send(call, &form).await.remove(0)
}

#[tokio::test]
async fn each_action_with_a_session_is_done_once_and_answered_twice() {
    let (mut kept, mut wrong) = (0, Vec::new());
    let is_kept = |call: &Address| {
        call.signed && !matches!(call.repeat, Repeat::NotKept(_) | Repeat::KeptButUntried(_))
    };
    for call in calls().chain(forms()).filter(is_kept) {
        let target = Target::new().await;
        let is_call = call.path.starts_with("/api/");
        let first = send(&target, &call, "a name").await;
        if !first.status.is_success() && !first.status.is_redirection() {
            wrong.push(format!("{}: it is refused", call.path));
            continue;
        }
        let done = stored(&target.server).await;
        // Forms that set a state keep no answer. An action on several people, here one, notes each deed too.
        let expected = if call.path == "/api/moderate/people" { 2 } else { 1 };
        if is_call && answered(&done).len() != expected {
            wrong.push(format!("{}: the answer is not kept", call.path));
        }
        if call.fields.iter().any(|(name, ..)| *name == "password") {
            // The session has ended with the old password.
            continue;
        }
        let again = send(&target, &call, "a name").await;
        let is_done_again = matches!(call.repeat, Repeat::DoneAgain(_));
        let [first, again] = [&first, &again].map(|answer| {
            let seen = seen(answer, is_call);
            // A repeat may have replaced the secret.
            if is_done_again { unsigned(seen) } else { seen }
        });
        if first != again {
            wrong.push(format!("{}: {again:?} instead of {first:?}", call.path));
        }
        if !is_done_again && stored(&target.server).await != done {
            wrong.push(format!("{}: it is done twice", call.path));
        }
        kept += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(kept > 60, "{kept}");
}
