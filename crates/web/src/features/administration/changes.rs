//! The change log of the version that is running.

use crate::error::Result;
use crate::markup::markdown::markdown;
use crate::markup::{Administrator, Frame, Page};
use maud::{Markup, html};
use tidings_language::t;

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The change log, with headings of two levels and lists of one.
const CHANGES: &str = include_str!("../../../../../CHANGELOG.md");

/// GET /admin/changes.
pub async fn page(Page { app, mut visit, here, .. }: Page<Administrator>) -> Result<Markup> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        p { (t!("This server is Tidings {version}.", version = VERSION)) }
        div.prose { @for block in blocks(CHANGES) { (block.render(&frame)) } }
    };
    Ok(frame.headed(t!("Changes"), &content))
}

/// A part of the change log.
#[derive(Debug, PartialEq, Eq)]
enum Block {
    Version(String),
    Group(String),
    Item(String),
    Text(String),
}

impl Block {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let text = |text: &str| markdown(text, frame.link_target());
        html! {
            @match self {
                Self::Version(name) => h2 { (name) },
                Self::Group(name) => h3 { (name) },
                Self::Item(item) => div.text.formatted { (text(&format!("- {item}"))) },
                Self::Text(paragraph) => div.text.formatted { (text(paragraph)) },
            }
        }
    }
}

/// The parts of a change log, without its title. Lines that are broken are joined.
fn blocks(log: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut is_open = false;
    for line in log.lines().skip_while(|line| !line.starts_with("## ")) {
        let begun = if let Some(name) = line.strip_prefix("### ") {
            Block::Group(name.to_owned())
        } else if let Some(name) = line.strip_prefix("## ") {
            Block::Version(name.replace(['[', ']'], ""))
        } else if let Some(item) = line.strip_prefix("- ") {
            Block::Item(item.to_owned())
        } else if line.trim().is_empty() {
            is_open = false;
            continue;
        } else if is_open && let Some(Block::Item(text) | Block::Text(text)) = blocks.last_mut() {
            text.push(' ');
            text.push_str(line.trim());
            continue;
        } else {
            Block::Text(line.to_owned())
        };
        is_open = matches!(begun, Block::Item(_) | Block::Text(_));
        blocks.push(begun);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_log_is_headings_and_lists() {
        let log = "# Changelog\n\nWhat it is.\n\n## [1.2.0] - 2026-01-02\n\nAll\nof it.\n\n### Added\n\n- One,\n  long.\n- Two.\n";
        let owned = str::to_owned;
        let expected = vec![
            Block::Version(owned("1.2.0 - 2026-01-02")),
            Block::Text(owned("All of it.")),
            Block::Group(owned("Added")),
            Block::Item(owned("One, long.")),
            Block::Item(owned("Two.")),
        ];
        assert_eq!(blocks(log), expected);
        assert!(blocks(CHANGES).contains(&Block::Group(owned("Added"))));
    }
}
