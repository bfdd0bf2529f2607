//! Fragments: markup that is rendered once, with placeholders for the parts that differ.
//! Markup that repeats on a page or is the same for many viewers is a fragment, because
//! filling it is little more than copying.
//!
//! The placeholders of a fragment are an enum, so the compiler checks that all are filled.
//! Cached fragments are made by plain functions of shared values (`Frame::derived`), which
//! cannot depend on the viewer.

use maud::{Markup, PreEscaped, Render};
use memchr::memmem;
use tidings_domain::accounts::users::User;

/// The placeholders of a fragment, declared with `placeholders!`.
pub trait Placeholder: Copy + Send + Sync + 'static {
    /// All placeholders, each at its [`Placeholder::index`].
    const ALL: &'static [Self];

    /// The position in [`Placeholder::ALL`].
    fn index(self) -> usize;
}

/// Declares the placeholders of a fragment.
macro_rules! placeholders {
    ($(#[$meta:meta])* $visibility:vis enum $Name:ident { $($(#[$doc:meta])* $Variant:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visibility enum $Name {
            $($(#[$doc])* $Variant),+
        }

        impl $crate::markup::fragments::Placeholder for $Name {
            const ALL: &'static [Self] = &[$(Self::$Variant),+];

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}
pub(crate) use placeholders;

placeholders! {
    /// The placeholder of a fragment that has only one.
    pub enum ContentPlaceholder {
        /// The content.
        Content,
    }
}

/// Inserts placeholders into markup: marks for a [`Fragment`], or what a function writes immediately.
pub struct Slots<'a, P>(Option<Write<'a, P>>);

/// Writes the content of a placeholder.
type Write<'a, P> = &'a dyn Fn(P, &mut String);

impl<'a, P: Placeholder> Slots<'a, P> {
    /// Placeholders that a function fills immediately.
    pub fn filled_by(write: Write<'a, P>) -> Self {
        Self(Some(write))
    }

    /// A placeholder, to be rendered into the markup.
    pub fn at(&self, placeholder: P) -> impl Render {
        written(move |html| match self.0 {
            None => mark(html, placeholder, ""),
            Some(write) => write(placeholder, html),
        })
    }

    /// A placeholder with its usual content, which is part of the fragment.
    pub fn usually(&self, placeholder: P, content: impl Render) -> impl Render {
        written(move |html| match self.0 {
            None => {
                mark(html, placeholder, BEGIN);
                content.render_to(html);
                mark(html, placeholder, END);
            }
            Some(write) => write(placeholder, html),
        })
    }
}

/// Precedes the number of a placeholder in the markup. User text cannot contain it, because
/// its `<` is escaped.
const MARK: &str = "<placeholder ";
/// Follows the number at the beginning of usual content; [`END`] at its end.
const BEGIN: &str = "+";
/// See [`BEGIN`].
const END: &str = "-";

fn mark(html: &mut String, placeholder: impl Placeholder, part: &str) {
    html.push_str(MARK);
    placeholder.index().render_to(html);
    html.push_str(part);
    html.push('>');
}

/// Markup in pieces, with placeholders between them.
#[derive(Debug)]
pub struct Fragment<P> {
    text: Box<str>,
    places: Box<[Place<P>]>,
}

/// Where a placeholder is in the text.
#[derive(Debug)]
struct Place<P> {
    placeholder: P,
    /// Whether it has usual content, which may be empty.
    has_usual: bool,
    start: u32,
    /// The end of the usual content.
    end: u32,
}

impl<P: Placeholder> Fragment<P> {
    /// Makes a fragment of the markup that a function returns.
    pub fn new(make: impl FnOnce(&Slots<'_, P>) -> Markup) -> Self {
        let marked = make(&Slots(None)).into_string();
        let (mut text, mut places, mut start) = (String::with_capacity(marked.len()), Vec::new(), 0);
        for at in memmem::find_iter(marked.as_bytes(), MARK) {
            let Some((number, _)) = marked.get(at + MARK.len()..).and_then(|rest| rest.split_once('>'))
            else {
                continue;
            };
            text.push_str(marked.get(start..at).unwrap_or_default());
            start = at + MARK.len() + number.len() + 1;
            let here = u32::try_from(text.len()).unwrap_or(u32::MAX);
            if number.ends_with(END) {
                places.last_mut().into_iter().for_each(|place: &mut Place<P>| place.end = here);
                continue;
            }
            let has_usual = number.ends_with(BEGIN);
            let number = number.trim_end_matches(BEGIN).parse::<usize>().ok();
            if let Some(placeholder) = number.and_then(|number| P::ALL.get(number)) {
                places.push(Place { placeholder: *placeholder, has_usual, start: here, end: here });
            }
        }
        text.push_str(marked.get(start..).unwrap_or_default());
        Self { text: text.into(), places: places.into() }
    }

    /// Writes the markup; `write` writes the content of each placeholder.
    pub fn fill(&self, html: &mut String, write: impl Fn(P, &mut String)) {
        self.fill_those(html, |_| true, write);
    }

    /// The same with the usual content of the placeholders that have it.
    pub fn fill_usual(&self, html: &mut String, write: impl Fn(P, &mut String)) {
        self.fill_those(html, |place| !place.has_usual, write);
    }

    fn fill_those(
        &self,
        html: &mut String,
        is_filled: impl Fn(&Place<P>) -> bool,
        write: impl Fn(P, &mut String),
    ) {
        let mut at = 0;
        for place in self.places.iter().filter(|place| is_filled(place)) {
            html.push_str(self.text.get(at..place.start as usize).unwrap_or_default());
            write(place.placeholder, html);
            at = place.end as usize;
        }
        html.push_str(self.text.get(at..).unwrap_or_default());
    }

    /// The approximate size in memory, in bytes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.text.len() + size_of_val(&*self.places)
    }
}

/// Whether links to other sites open in new windows. Viewers can choose it, so it is part of
/// the key of cached fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkTarget {
    /// In the same window.
    Same,
    /// In a new window.
    NewWindow,
}

impl LinkTarget {
    /// Where links open for somebody.
    pub const fn of(viewer: &User) -> Self {
        if viewer.flags.new_windows { Self::NewWindow } else { Self::Same }
    }

    /// The attribute `target` of such links.
    pub fn attribute(self) -> Option<&'static str> {
        self.is_new_window().then_some("_blank")
    }

    /// Whether links open new windows.
    pub fn is_new_window(self) -> bool {
        self == Self::NewWindow
    }
}

/// The key of a value derived from a part of a cached value: the id of that value, the link target, and the number of
/// the part.
pub type PartKey = (u64, LinkTarget, u64);

/// Renders by writing directly into the output, without a string of its own.
pub fn written<F: Fn(&mut String)>(write: F) -> Written<F> {
    Written(write)
}

/// See [`written`].
#[derive(Clone, Copy)]
pub struct Written<F>(F);

impl<F: Fn(&mut String)> Render for Written<F> {
    fn render(&self) -> Markup {
        let mut html = String::new();
        (self.0)(&mut html);
        PreEscaped(html)
    }

    fn render_to(&self, html: &mut String) {
        (self.0)(html);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maud::html;

    placeholders! {
        enum Two {
            One,
            Other,
        }
    }

    fn filled(fragment: &Fragment<Two>) -> String {
        let mut html = String::new();
        fragment.fill(&mut html, |placeholder, html| match placeholder {
            Two::One => html.push('1'),
            Two::Other => "<2>".render_to(html),
        });
        html
    }

    #[test]
    fn placeholders_are_filled_in_text_and_attributes() {
        let fragment = Fragment::new(|slots| {
            html! { p id=(slots.at(Two::One)) { (slots.at(Two::Other)) " and " (slots.at(Two::One)) "." } }
        });
        assert_eq!(filled(&fragment), r#"<p id="1">&lt;2&gt; and 1.</p>"#);
        assert_eq!(filled(&fragment), r#"<p id="1">&lt;2&gt; and 1.</p>"#);
        assert_eq!(filled(&Fragment::new(|_| html! { "none" })), "none");
    }

    #[test]
    fn usual_content_is_kept_or_replaced() {
        let fragment = Fragment::new(|slots| {
            let usual = html! { b { "usual" } };
            html! { (slots.usually(Two::Other, &usual)) (slots.at(Two::One)) (slots.usually(Two::Other, "")) }
        });
        assert_eq!(filled(&fragment), "&lt;2&gt;1&lt;2&gt;");
        let mut html = String::new();
        fragment.fill_usual(&mut html, |_, html| html.push('.'));
        assert_eq!(html, "<b>usual</b>.");
    }

    #[test]
    fn user_text_cannot_contain_a_placeholder() {
        let fragment = Fragment::new(|slots| html! { "<placeholder 0>" (slots.at(Two::One)) });
        assert_eq!(filled(&fragment), "&lt;placeholder 0&gt;1");
    }
}
