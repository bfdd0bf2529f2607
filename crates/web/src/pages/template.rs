//! Markup that is made once, with holes for what is different each time. What
//! is on a page many times, or the same for many readers, is a template: to
//! fill it in costs no more than copying it to where it belongs.

use super::layout::Frame;
use maud::{Markup, PreEscaped, Render};
use tidings_domain::shown::{Cut, Shown};

const MARK: &str = "<hole>";

/// Stands where something is put in. No text can be taken for it: everywhere
/// else a `<` is our own.
pub const HOLE: PreEscaped<&str> = PreEscaped(MARK);

/// Markup with so many holes.
pub struct Template<const HOLES: usize>(Cut);

impl<const HOLES: usize> Template<HOLES> {
    /// Markup that has [`HOLE`]s.
    #[must_use]
    pub fn new(markup: Markup) -> Self {
        Self(cut::<HOLES>(markup))
    }

    /// The markup with something in each hole, in their order.
    #[must_use]
    pub fn filled<'a>(&'a self, filling: [&'a dyn Render; HOLES]) -> Filled<'a, HOLES> {
        Filled { cut: &self.0, filling }
    }
}

fn cut<const HOLES: usize>(markup: Markup) -> Cut {
    let cut = Cut::at(&markup.into_string(), MARK);
    debug_assert_eq!(cut.marks(), HOLES);
    cut
}

/// What `make` renders with a filling. What is shown again is made once more with
/// holes, and kept beside the value that it shows: `make` may look at nothing but
/// the value, the filling, and whether links open new windows.
pub fn filled<const HOLES: usize>(
    frame: &Frame<'_>,
    shown: &Shown,
    filling: [&dyn Render; HOLES],
    make: impl Fn([&dyn Render; HOLES]) -> Markup,
) -> impl Render {
    let hole: &dyn Render = &HOLE;
    written(move |html| match shown.get_or_make(frame.new_windows(), || cut::<HOLES>(make([hole; HOLES]))) {
        Some(cut) => Filled { cut, filling }.render_to(html),
        None => make(filling).render_to(html),
    })
}

/// A template with its holes filled, written where it belongs without a detour.
pub struct Filled<'a, const HOLES: usize> {
    cut: &'a Cut,
    filling: [&'a dyn Render; HOLES],
}

impl<const HOLES: usize> Render for Filled<'_, HOLES> {
    fn render_to(&self, html: &mut String) {
        let (pieces, last) = self.cut.pieces();
        for (piece, filling) in pieces.zip(self.filling) {
            html.push_str(piece);
            filling.render_to(html);
        }
        html.push_str(last);
    }
}

/// What `write` writes, straight to where it belongs.
pub fn written<F: Fn(&mut String)>(write: F) -> Written<F> {
    Written(write)
}

/// See [`written`].
#[derive(Clone, Copy)]
pub struct Written<F>(F);

impl<F: Fn(&mut String)> Render for Written<F> {
    fn render_to(&self, html: &mut String) {
        (self.0)(html);
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::framed;
    use super::*;
    use maud::html;

    #[test]
    fn holes_are_filled_and_the_rest_is_made_once() {
        let shown = Shown::with_room(1_000);
        let show = |filling: [&dyn Render; 2], text: &str| {
            framed(None, |frame| {
                let make = |[one, two]: [&dyn Render; 2]| html! { p { (text) (one) " and " (two) } };
                filled(frame, &shown, filling, make).render().into_string()
            })
        };
        assert_eq!(show([&"1", &"<2>"], "once"), "<p>once1 and &lt;2&gt;</p>");
        assert_eq!(show([&"1", &"<2>"], "a<hole>b"), "<p>a&lt;hole&gt;b1 and &lt;2&gt;</p>");
        assert_eq!(show([&3, &""], "made no more"), "<p>a&lt;hole&gt;b3 and </p>");
    }

    #[test]
    fn a_template_is_filled_again_and_again() {
        let template = Template::<2>::new(html! { p id=(HOLE) { (HOLE) } });
        assert_eq!(template.filled([&1, &"<"]).render().into_string(), r#"<p id="1">&lt;</p>"#);
        assert_eq!(
            template.filled([&"a\"b", &HOLE]).render().into_string(),
            r#"<p id="a&quot;b"><hole></p>"#
        );
    }
}
