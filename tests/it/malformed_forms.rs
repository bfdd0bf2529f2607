//! What no form of ours would send, sent to the pages: answered with a page
//! that says so, and never written. The calls of the API get the same.

use reqwest::StatusCode;

use crate::client::{FORM, HttpResponse, PASSWORD, encoded};
use crate::html::Page;
use crate::malformed::{BAD_VALUES, Call, NO_FORM_TYPES, NOT_UTF_8, OPTIONAL, REQUIRED, Target, no_forms};

const fn signed(path: &'static str, fields: &'static [(&'static str, &'static str, bool)]) -> Call {
    Call { path, fields, takes_get: false, signed: true }
}

const fn open(path: &'static str, fields: &'static [(&'static str, &'static str, bool)]) -> Call {
    Call { path, fields, takes_get: false, signed: false }
}

/// Every form of the pages with good values.
pub const FORMS: &[Call] = &[
    open(
        "/register",
        &[
            ("username", "mallory", REQUIRED),
            ("password", "a good password", REQUIRED),
            ("email", "mallory@example.org", OPTIONAL),
            ("application", "I read a lot.", OPTIONAL),
        ],
    ),
    signed("/settings/invitations", &[("email", "carol@example.org", OPTIONAL)]),
    signed("/settings/confirm-email", &[]),
    open("/login", &[("username", "alice", REQUIRED), ("password", PASSWORD, REQUIRED)]),
    open("/reset-password", &[("username", "alice", REQUIRED), ("email", "alice@example.org", REQUIRED)]),
    signed("/logout", &[]),
    signed(
        "/profile",
        &[
            ("about", "new", REQUIRED),
            ("email", "new@example.org", REQUIRED),
            ("password", "a new password", OPTIONAL),
            ("current_password", PASSWORD, OPTIONAL),
        ],
    ),
    signed(
        "/submit",
        &[
            ("news_id", "-1", REQUIRED),
            ("title", "A title", REQUIRED),
            ("url", "http://example.com/new", OPTIONAL),
            ("text", "A text", OPTIONAL),
            ("topics", "rust, new-topic", OPTIONAL),
        ],
    ),
    signed(
        "/editnews/1",
        &[
            ("news_id", "1", REQUIRED),
            ("title", "A title", REQUIRED),
            ("url", "http://example.com/new", OPTIONAL),
            ("text", "", OPTIONAL),
        ],
    ),
    signed("/delnews/1", &[]),
    signed("/votenews", &[("news_id", "2", REQUIRED), ("vote_type", "up", REQUIRED)]),
    signed("/votecomment", &[("comment_id", "1-1", REQUIRED), ("vote_type", "up", REQUIRED)]),
    signed(
        "/postcomment",
        &[
            ("news_id", "1", REQUIRED),
            ("comment_id", "-1", REQUIRED),
            ("parent_id", "1", REQUIRED),
            ("comment", "text", REQUIRED),
        ],
    ),
    signed("/admin/recompute", &[]),
    // The name of the site may be what no topic may be called.
    signed(
        "/admin/site",
        &[
            ("description", "A sentence", OPTIONAL),
            ("accent", "#aa0000", OPTIONAL),
            ("rules", "Be kind", OPTIONAL),
        ],
    ),
    signed("/admin/site/removelogo", &[]),
    signed("/renametopic", &[("topic", "rust", REQUIRED), ("name", "crab", REQUIRED)]),
    signed("/mergetopic", &[("topic", "rust", REQUIRED), ("into", "go", REQUIRED)]),
    signed(
        "/moderate",
        &[
            ("action", "silence", REQUIRED),
            ("kind", "user", REQUIRED),
            ("id", "bob", REQUIRED),
            ("reason", "spam", REQUIRED),
        ],
    ),
    signed("/moderate/undo", &[("moderation_id", "1", REQUIRED), ("reason", "a mistake", REQUIRED)]),
    signed(
        "/flag",
        &[
            ("kind", "story", REQUIRED),
            ("id", "2", REQUIRED),
            ("reason", "spam", REQUIRED),
            ("note", "a note", OPTIONAL),
        ],
    ),
    signed("/moderate/votes", &[]),
    signed("/unflag", &[("kind", "comment", REQUIRED), ("id", "1-1", REQUIRED)]),
    signed("/hide", &[("news_id", "2", REQUIRED)]),
    signed("/unhide", &[("news_id", "2", REQUIRED)]),
    signed("/save", &[("news_id", "2", REQUIRED)]),
    signed("/unsave", &[("news_id", "2", REQUIRED)]),
    signed("/followtopic", &[("topic", "rust", REQUIRED)]),
    signed("/unfollowtopic", &[("topic", "rust", REQUIRED)]),
    signed("/mutetopic", &[("topic", "rust", REQUIRED)]),
    signed("/unmutetopic", &[("topic", "rust", REQUIRED)]),
    signed("/mute", &[("what", "word", REQUIRED), ("value", "chess", REQUIRED)]),
    signed("/unmute", &[("what", "word", REQUIRED), ("value", "chess", REQUIRED)]),
    signed("/block", &[("username", "bob", REQUIRED)]),
    signed("/unblock", &[("username", "bob", REQUIRED)]),
    signed("/describetopic", &[("about", "A sentence", REQUIRED), ("topic", "rust", REQUIRED)]),
    signed("/tweet", &[("text", "A tweet", REQUIRED)]),
    signed("/deltweet/1", &[]),
    signed("/follow", &[("username", "bob", REQUIRED)]),
    signed("/unfollow", &[("username", "bob", REQUIRED)]),
    signed("/subscribe", &[("news_id", "2", REQUIRED)]),
    signed("/unsubscribe", &[("news_id", "2", REQUIRED)]),
    signed(
        "/moderate/rules",
        &[
            ("effect", "hold", REQUIRED),
            ("pattern", "example.com", REQUIRED),
            ("reason", "spam", REQUIRED),
            ("what", "domain", REQUIRED),
        ],
    ),
    signed("/moderate/rules/lift", &[("reason", "a mistake", REQUIRED), ("rule_id", "1", REQUIRED)]),
    signed("/readinbox", &[("id", "all", REQUIRED), ("until", "reply:1-1", OPTIONAL)]),
    signed("/inbox/feed", &[("feed", "new", REQUIRED)]),
    signed(
        "/settings",
        &[
            ("about", "new", REQUIRED),
            ("email", "new@example.org", REQUIRED),
            ("password", "a new password", OPTIONAL),
            ("current_password", PASSWORD, OPTIONAL),
            ("fullname", "A new name", OPTIONAL),
            ("tweet_news", "1", OPTIONAL),
            ("tweet_news_shown", "1", OPTIONAL),
            ("shortcuts", "modifier", OPTIONAL),
            ("digest", "weekly", OPTIONAL),
            ("mail_replies", "1", OPTIONAL),
            ("mail_replies_shown", "1", OPTIONAL),
            ("sort_comments", "newest", OPTIONAL),
        ],
    ),
    signed("/settings/deactivate", &[("password", PASSWORD, REQUIRED)]),
    signed("/settings/two-factor/app", &[("current_password", PASSWORD, REQUIRED)]),
    open(
        "/appeal",
        &[
            ("moderation_id", "1", REQUIRED),
            ("text", "It was not like that", REQUIRED),
            ("username", "bob", OPTIONAL),
            ("password", PASSWORD, OPTIONAL),
        ],
    ),
];

/// The answer must be a page that says what was wrong, with one of these statuses.
#[track_caller]
fn check_reported(answer: &HttpResponse, statuses: &[u16], what: &str) -> String {
    assert!(statuses.contains(&answer.status.as_u16()), "{what}: {}", answer.status);
    assert!(!answer.headers.contains_key("set-cookie"), "{what}");
    Page::of(answer).alert().unwrap_or_else(|| panic!("a message: {what}")).to_owned()
}

#[tokio::test]
async fn good_forms_are_accepted_so_that_the_others_could_be() {
    for form in FORMS {
        let target = Target::new().await;
        for answer in target.send(form, &target.form_without(form, "")).await {
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
    for form in FORMS {
        for (name, _, _) in form.fields.iter().filter(|(_, _, optional)| *optional == REQUIRED) {
            for answer in target.send(form, &target.form_without(form, name)).await {
                let told = check_reported(&answer, &[400], &format!("{} {name}", form.path));
                assert!(told.starts_with(&format!("The field {name} is wrong: ")), "{}: {told}", form.path);
            }
        }
        for body in ["", "unknown=1"] {
            for answer in target.send(form, body).await {
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
    for form in FORMS {
        let whole = target.form_without(form, "");
        for name in Target::names(form).into_iter().chain(["next", "unknown"]) {
            for body in no_forms(&whole, &target.form_without(form, name), name) {
                for answer in target.send(form, &body).await {
                    check_reported(&answer, &[400], &format!("{} {body}", form.path));
                }
            }
        }
        for body in NOT_UTF_8 {
            let answer = target.client(form).post_bytes(form.path, FORM, body.to_vec()).await;
            check_reported(&answer, &[400], form.path);
        }
        for content_type in NO_FORM_TYPES {
            let body = whole.clone().into_bytes();
            let answer = target.client(form).post_bytes(form.path, content_type, body).await;
            check_reported(&answer, &[400], &format!("{} {content_type:?}", form.path));
        }
        let large = format!("{whole}&unknown={}", "x".repeat(1_000_000));
        for answer in target.send(form, &large).await {
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
    for form in FORMS {
        for (name, values) in BAD_VALUES {
            if form.fields.iter().all(|(known, _, _)| *known != name) {
                continue;
            }
            let others = target.form_without(form, name);
            for value in values {
                // One number alone is an edit of that comment.
                if (form.path, name, *value) == ("/postcomment", "comment_id", "1") {
                    continue;
                }
                let body = format!("{others}&{}", encoded(&[(name, value)]));
                for answer in target.send(form, &body).await {
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
    for form in FORMS {
        // Some of these are harmless in some fields: a new site for each form.
        let target = Target::new().await;
        for name in Target::names(form).into_iter().chain(["next"]) {
            let others = target.form_without(form, name);
            for value in [&*long, "%00", "a%00b", "%1B%5B31m", "%0D%0A", "%E2%80%AE", "%F0%9F%A6%80"] {
                for answer in target.send(form, &format!("{others}&{name}={value}")).await {
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
