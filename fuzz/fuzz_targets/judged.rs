//! Any text as a comment, a tweet and a profile: what the page links is what the rules judge, and whom it links is whom
//! it mentions.

#![no_main]

use checker::{check_links, check_markup};
use libfuzzer_sys::fuzz_target;
use tidings_text::stored_text::StoredText;
use tidings_web::markup::autolink::linked;
use tidings_web::markup::fragments::LinkTarget;
use tidings_web::markup::markdown::markdown;

#[path = "../../crates/web/src/markup/markdown/checker.rs"]
mod checker;

fuzz_target!(|text: &str| {
    let html = markdown(text, LinkTarget::Same).into_string();
    check_markup(text, &html);
    check_links(StoredText::Formatted(text), &html);
    for written in [StoredText::Post(text), StoredText::Plain(text)] {
        let html = linked(written, LinkTarget::Same, |name| Some(format!("/@{name}")));
        check_links(written, &html.into_string());
    }
});
