//! Any text as a comment on a page: only the allowed markup comes out, every link leads to the
//! web or a mailbox, and the size stays within its bound.

#![no_main]

use checker::{check_links, check_markup};
use libfuzzer_sys::fuzz_target;
use tidings_text::stored_text::StoredText;
use tidings_web::markup::fragments::LinkTarget;
use tidings_web::markup::markdown::markdown;

#[path = "../../crates/web/src/markup/markdown/checker.rs"]
mod checker;

fuzz_target!(|text: &str| {
    for links in [LinkTarget::Same, LinkTarget::NewWindow] {
        let html = markdown(text, links).into_string();
        check_markup(text, &html);
        check_links(StoredText::Formatted(text), &html);
    }
});
