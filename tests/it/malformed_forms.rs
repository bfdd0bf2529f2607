//! Requests that no form of ours would send, sent to the pages: answered with a page
//! that says so, and never written. The calls of the API get the same.

use reqwest::StatusCode;

use crate::addresses::{REQUIRED, forms};
use crate::client::{FORM, HttpResponse, encoded};
use crate::html::Page;
use crate::malformed::{BAD_VALUES, NO_FORM_TYPES, NOT_UTF_8, Target, no_forms};

/// The answer must be a page that says what was wrong, with one of these statuses.
#[track_caller]
fn check_reported(answer: &HttpResponse, statuses: &[u16], what: &str) -> String {
    assert!(statuses.contains(&answer.status.as_u16()), "{what}: {}", answer.status);
    assert!(!answer.headers.contains_key("set-cookie"), "{what}");
    Page::of(answer).alert().unwrap_or_else(|| panic!("a message: {what}")).to_owned()
}

#[tokio::test]
async fn good_forms_are_accepted_so_that_the_others_could_be() {
    for form in forms() {
        let target = Target::new().await;
        for answer in target.send(&form, &target.form_without(&form, "")).await {
            let is_one_of_two = form.path.starts_with("/settings/two-factor/");
            let stays = ["/reset-password", "/appeal"].contains(&form.path) || is_one_of_two;
            let expected = if stays { StatusCode::OK } else { StatusCode::SEE_OTHER };
            assert_eq!(answer.status, expected, "{}", form.path);
        }
    }
}

#[tokio::test]
async fn a_missing_field_is_refused_and_named() {
    let target = Target::new().await;
    let before = target.dump().await;
    for form in forms() {
        for (name, _, _) in form.fields.iter().filter(|(_, _, optional)| *optional == REQUIRED) {
            for answer in target.send(&form, &target.form_without(&form, name)).await {
                let told = check_reported(&answer, &[400], &format!("{} {name}", form.path));
                assert!(told.starts_with(&format!("The field {name} is wrong: ")), "{}: {told}", form.path);
            }
        }
        for body in ["", "unknown=1"] {
            for answer in target.send(&form, body).await {
                check_reported(&answer, if form.signed { &[403] } else { &[400] }, form.path);
            }
        }
    }
    assert_eq!(target.dump().await, before);
}

#[tokio::test]
async fn what_is_no_form_is_a_bad_request() {
    let target = Target::new().await;
    let before = target.dump().await;
    for form in forms() {
        let whole = target.form_without(&form, "");
        for name in Target::names(&form).into_iter().chain(["next", "unknown"]) {
            for body in no_forms(&whole, &target.form_without(&form, name), name) {
                for answer in target.send(&form, &body).await {
                    check_reported(&answer, &[400], &format!("{} {body}", form.path));
                }
            }
        }
        for body in NOT_UTF_8 {
            let answer = target.client(&form).post_bytes(form.path, FORM, body.to_vec()).await;
            check_reported(&answer, &[400], form.path);
        }
        for content_type in NO_FORM_TYPES {
            let body = whole.clone().into_bytes();
            let answer = target.client(&form).post_bytes(form.path, content_type, body).await;
            check_reported(&answer, &[400], &format!("{} {content_type:?}", form.path));
        }
        let large = format!("{whole}&unknown={}", "x".repeat(1_000_000));
        for answer in target.send(&form, &large).await {
            check_reported(&answer, &[413], form.path);
        }
    }
    assert_eq!(target.dump().await, before);
}

#[tokio::test]
async fn values_out_of_this_world_are_refused_and_write_nothing() {
    let target = Target::new().await;
    let before = target.dump().await;
    let mut tried = 0;
    for form in forms() {
        for &(name, values) in BAD_VALUES {
            if form.fields.iter().all(|(known, _, _)| *known != name) {
                continue;
            }
            let others = target.form_without(&form, name);
            for value in values {
                // One number alone is an edit of that comment.
                if (form.path, name, *value) == ("/postcomment", "comment_id", "1") {
                    continue;
                }
                let body = format!("{others}&{}", encoded(&[(name, value)]));
                for answer in target.send(&form, &body).await {
                    // An id that could be one is of nothing that is there.
                    let what = format!("{} {name}={value:?}", form.path);
                    check_reported(&answer, &[400, 403, 404, 422], &what);
                    tried += 1;
                }
            }
        }
    }
    assert_eq!(target.dump().await, before);
    assert!(tried > 150, "{tried}");
}

#[tokio::test]
async fn long_values_and_control_characters_never_make_an_error_of_ours() {
    let long = "x".repeat(60_000);
    for form in forms() {
        // Some of these are harmless in some fields: a new site for each form.
        let target = Target::new().await;
        for name in Target::names(&form).into_iter().chain(["next"]) {
            let others = target.form_without(&form, name);
            for value in [&*long, "%00", "a%00b", "%1B%5B31m", "%0D%0A", "%E2%80%AE", "%F0%9F%A6%80"] {
                for answer in target.send(&form, &format!("{others}&{name}={value}")).await {
                    assert!(!answer.status.is_server_error(), "{} {name}={value:.9}", form.path);
                    if answer.status != StatusCode::SEE_OTHER {
                        Page::of(&answer);
                    }
                }
            }
        }
        crate::consistency::check(&target.dump().await);
    }
}
