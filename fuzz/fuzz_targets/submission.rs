//! Any three texts as a submission: accepted or refused. An accepted submission keeps
//! the rules, and normalising a URL twice changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidings_domain::submissions::{Submission, SubmissionContent};
use tidings_domain::values::NewsUrl;

fuzz_target!(|fields: (&str, &str, &str)| {
    let (title, url, text) = fields;
    check_url(url);
    let Ok(submission) = Submission::parse(title, url, text) else {
        return;
    };
    let title = submission.title.as_str();
    assert!((1..=80).contains(&title.chars().count()), "title {title:?}");
    assert!(!title.chars().any(char::is_control), "title {title:?}");
    match submission.content {
        SubmissionContent::Link(url, comment) => {
            assert!((1..=2048).contains(&url.as_str().chars().count()));
            if let Some(comment) = comment {
                check_body(comment.as_str());
            }
        }
        SubmissionContent::Text(text) => check_body(text.as_str()),
    }
});

fn check_body(body: &str) {
    assert!((1..=4096).contains(&body.chars().count()));
    assert!(!body.contains('\r'));
    assert!(!body.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "body {body:?}");
}

fn check_url(input: &str) {
    let Ok(url) = NewsUrl::parse(input) else {
        return;
    };
    assert_eq!(url.as_str(), input.trim());
    assert!(!url.host().is_empty());
    let once = url.normalised();
    let parsed = url::Url::parse(&once).expect("a normalised URL that cannot be read");
    assert!(matches!(parsed.scheme(), "http" | "https"));
    assert_eq!(parsed.host_str(), Some(url.host().as_str()), "another host after normalising");
    // Percent-encoding makes a URL longer; one that is too long now is refused, and that is fine.
    if let Ok(again) = NewsUrl::parse(&once) {
        assert_eq!(again.normalised(), once);
    } else {
        assert!(once.chars().count() > 2048, "a normalised URL is refused: {once:?}");
    }
}
