//! Markup that is the same for everybody, made once and kept beside the value
//! that it shows, with holes for what depends on who looks, and when.

use super::layout::Frame;
use crate::domain::kept::Shown;
use maud::{Markup, PreEscaped, Render};

const MARK: &str = "<hole>";

/// Stands where something is put in. No text can be taken for it: everywhere
/// else a `<` is our own.
pub const HOLE: PreEscaped<&str> = PreEscaped(MARK);

/// What `make` renders, with `filling` in its holes, in their order. `make`
/// may look at nothing but the value and whether links open new windows.
#[must_use]
pub fn filled<'a, const HOLES: usize>(
    frame: &Frame<'_>,
    shown: &'a Shown,
    filling: [&'a str; HOLES],
    make: impl FnOnce() -> Markup,
) -> Filled<'a, HOLES> {
    let parts = shown
        .get_or_make(frame.new_windows(), || make().into_string().split(MARK).map(str::to_owned).collect());
    debug_assert_eq!(parts.len(), HOLES + 1);
    Filled { parts, filling }
}

/// Markup with its holes filled, written where it belongs without a detour.
pub struct Filled<'a, const HOLES: usize> {
    parts: &'a [String],
    filling: [&'a str; HOLES],
}

impl<const HOLES: usize> Render for Filled<'_, HOLES> {
    fn render_to(&self, html: &mut String) {
        let mut filling = self.filling.iter();
        for (number, part) in self.parts.iter().enumerate() {
            if number > 0 {
                html.push_str(filling.next().copied().unwrap_or_default());
            }
            html.push_str(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::framed;
    use super::*;
    use maud::html;

    #[test]
    fn holes_are_filled_and_the_rest_is_made_once() {
        let shown = Shown::default();
        let show = |filling: [&str; 2], text: &str| {
            framed(None, |frame| {
                filled(frame, &shown, filling, || html! { p { (text) (HOLE) " and " (HOLE) } })
                    .render()
                    .into_string()
            })
        };
        assert_eq!(show(["1", "2"], "a<hole>b"), "<p>a&lt;hole&gt;b1 and 2</p>");
        assert_eq!(show(["3", ""], "made no more"), "<p>a&lt;hole&gt;b3 and </p>");
    }
}
