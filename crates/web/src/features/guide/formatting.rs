//! How to format comments and the texts of stories.

use crate::error::Result;
use crate::markup::markdown::markdown;
use crate::markup::{Frame, Page};
use maud::{Markup, html};
use tidings_language::{Message, m, t};

/// The kinds of formatting, each with its instructions and an example.
const EXAMPLES: [(&Message, &Message, &str); 6] = [
    (
        m!("Paragraphs and lines"),
        m!("Leave a line empty to begin a paragraph. A line break stays a line break."),
        "The first paragraph.\n\nThe second one,\non two lines.",
    ),
    (
        m!("Emphasis"),
        m!("Put * or _ around words to emphasise them, and ** around what is important."),
        "Read *all* of it. It is **not** long.",
    ),
    (
        m!("Links"),
        m!("An address becomes a link by itself. To link a word, put it in brackets and the address in \
             parentheses. A username after @ leads to that person."),
        "See https://example.com/ or [the example](https://example.com/).",
    ),
    (m!("Quotes"), m!("Begin lines with > to quote someone."), "> What do you think of it?\n\nI like it."),
    (
        m!("Lists"),
        m!("Begin lines with - or with a number and a full stop."),
        "- tea\n- coffee\n\n1. Boil the water.\n2. Wait.",
    ),
    (
        m!("Code"),
        m!("Put ` around code, and ``` on the lines before and after a block of it. Four spaces at the \
             beginning of each line do the same."),
        "Run `make`:\n\n```\nint main(void) {\n    return 0;\n}\n```",
    ),
];

/// GET /formatting.
pub async fn formatting(Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let content = html! {
        div.prose {
            p { (t!("You can format comments and the texts of stories with a few characters of Markdown.")) }
            @for (what, how, example) in EXAMPLES {
                h2 { (what.text()) }
                p { (how.text()) }
                div.example {
                    div.text.formatted { pre { code { (example) } } }
                    div.text.formatted { (markdown(example, frame.link_target())) }
                }
            }
            h2 { (t!("Everything else")) }
            p {
                (t!(
                    "HTML, headings, images and tables are shown as you typed them. To show one of the \
                     characters above instead of using it, put a backslash before it: {example}.",
                    example = html! { code { "\\*" } }
                ))
            }
        }
    };
    Ok(frame.headed(t!("Formatting"), &content))
}
