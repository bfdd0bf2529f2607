//! The catalogue of a language, and which one the process speaks.

use crate::formats::Formats;
use crate::po::{self, Entry, PoError};
use crate::{Message, PluralForms, Tag};
use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The translations of a message: its text, or one text for each form of the plural.
pub(crate) type Texts = Box<[Box<str>]>;

/// The most messages whose translations are found without hashing. The program has about a third as many.
const PLACES: usize = 8_192;

/// The most catalogues that a process reads in its life.
pub(crate) const CATALOGUES: usize = 32;

/// No place, and no catalogue.
pub(crate) const NONE: usize = usize::MAX;

/// The catalogues of the process, for good: their texts are handed out as `&'static str`.
static CATALOGUE: [OnceLock<Catalogue>; CATALOGUES] = [const { OnceLock::new() }; CATALOGUES];

/// The one that the process speaks: an index into [`CATALOGUE`], or [`NONE`] for plain English.
static SPOKEN: AtomicUsize = AtomicUsize::new(NONE);

/// The place of the next message that is looked for.
static NEXT_PLACE: AtomicUsize = AtomicUsize::new(0);

/// A language with its texts.
#[derive(Debug)]
pub struct Catalogue {
    tag: Tag,
    plurals: PluralForms,
    /// The texts by context and English.
    texts: HashMap<Box<str>, Texts>,
    /// The same by the place of a message, once it was looked for.
    places: Box<[OnceLock<Option<&'static Texts>>]>,
    formats: Option<Formats>,
}

/// A catalogue that the process can speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speakable(usize);

impl Catalogue {
    /// A language with the texts of catalogues, of which the first that has a text wins.
    ///
    /// # Errors
    ///
    /// Returns the index of the catalogue that is broken, and its line.
    pub fn read(tag: Tag, catalogues: &[&str]) -> Result<Self, (usize, PoError)> {
        let mut texts = HashMap::new();
        let mut plurals: Option<(PluralForms, String)> = None;
        let mut read = Vec::with_capacity(catalogues.len());
        // The widest catalogue, that of the program if there is one, says which forms the language has.
        for (index, catalogue) in catalogues.iter().enumerate().rev() {
            let fail = |error| (index, error);
            let entries = po::read(catalogue).map_err(fail)?;
            if let Some(field) = po::field_of_header(&entries, "Plural-Forms") {
                let fail = |expected: &str| {
                    let reason = format!("Plural-Forms is {field:.80}, expected {expected}");
                    fail(PoError { line: entries.first().map_or(1, |header| header.line), reason })
                };
                let forms = PluralForms::parse(field)
                    .ok_or_else(|| fail("something like nplurals=2; plural=(n != 1);"))?;
                let (known, known_field) = plurals.get_or_insert_with(|| (forms.clone(), field.to_owned()));
                if *known != forms {
                    return Err(fail(&format!("{known_field} as in the other catalogue of the language")));
                }
            }
            read.push((index, entries));
        }
        let plurals = plurals.map_or_else(PluralForms::english, |(forms, _)| forms);
        for (index, entries) in read.into_iter().rev() {
            let fail = |error| (index, error);
            for entry in entries.into_iter().filter(|entry| !entry.id.is_empty() && !entry.is_fuzzy) {
                if entry.texts.iter().all(String::is_empty) {
                    continue;
                }
                check(&entry, &plurals).map_err(|reason| fail(PoError { line: entry.line, reason }))?;
                let translated = entry.texts.into_iter().map(String::into_boxed_str).collect();
                texts.entry(key(&entry.context, &entry.id)).or_insert(translated);
            }
        }
        let places = (0..PLACES).map(|_| OnceLock::new()).collect();
        let formats = Formats::of(&tag);
        Ok(Self { tag, plurals, texts, places, formats })
    }

    /// How many texts it has for this entry: one, or one for each form of the plural. `None` if it has none.
    pub fn forms_of(&self, entry: &Entry) -> Option<usize> {
        Some(self.texts.get(&key(&entry.context, &entry.id))?.len())
    }

    /// Keeps it for the life of the process. `None` if the process has read too many.
    pub fn keep(self) -> Option<Speakable> {
        let mut catalogue = Some(self);
        for (index, slot) in CATALOGUE.iter().enumerate() {
            if slot.get().is_none() {
                match slot.set(catalogue.take()?) {
                    Ok(()) => return Some(Speakable(index)),
                    Err(back) => catalogue = Some(back),
                }
            }
        }
        None
    }

    fn texts_of(&'static self, message: &Message) -> Option<&'static Texts> {
        let found = || self.texts.get(&key(message.context, message.english));
        let mut place = message.place.load(Ordering::Relaxed);
        if place == NONE {
            place = NEXT_PLACE.fetch_add(1, Ordering::Relaxed);
            message.place.store(place, Ordering::Relaxed);
        }
        self.places.get(place).map_or_else(found, |slot| *slot.get_or_init(found))
    }
}

/// What a text is found by, as in the compiled catalogues of gettext.
fn key(context: &str, english: &str) -> Box<str> {
    if context.is_empty() { english.into() } else { format!("{context}\u{4}{english}").into() }
}

/// Why the translation of a message cannot be used.
fn check(entry: &Entry, plurals: &PluralForms) -> Result<(), String> {
    let forms = entry.plural.as_ref().map_or(1, |_| plurals.count);
    if entry.texts.len() != forms || entry.texts.iter().any(String::is_empty) {
        return Err(format!(
            "expected {forms} forms, msgstr[0] to msgstr[{}], each with a text, or all of them empty for English",
            forms - 1
        ));
    }
    let known: Vec<&str> =
        po::arguments(&entry.id).chain(po::arguments(entry.plural.as_deref().unwrap_or_default())).collect();
    for text in &entry.texts {
        if let Some(unknown) = po::arguments(text).find(|name| !known.contains(name)) {
            let has = if known.is_empty() {
                "nothing in braces".to_owned()
            } else {
                format!("{{{}}}", known.join("}, {"))
            };
            return Err(format!("the English text has no {{{unknown}}}; it has {has}"));
        }
    }
    Ok(())
}

/// From now on, the process speaks this language; plain English without one. Returns whether it spoke another before.
pub fn speak(language: Option<Speakable>) -> bool {
    let place = language.map_or(NONE, |language| language.0);
    // Most calls change nothing, and need not take the line of the cache from other processors.
    SPOKEN.load(Ordering::Relaxed) != place && SPOKEN.swap(place, Ordering::Relaxed) != place
}

/// The place of the language that is spoken among all: at most [`CATALOGUES`], which is plain English.
pub(crate) fn place_of_spoken() -> usize {
    SPOKEN.load(Ordering::Relaxed).min(CATALOGUES)
}

fn spoken() -> Option<&'static Catalogue> {
    CATALOGUE.get(SPOKEN.load(Ordering::Relaxed))?.get()
}

/// The language that the process speaks.
pub fn tag() -> &'static Tag {
    static ENGLISH: Tag = Tag::ENGLISH;
    spoken().map_or(&ENGLISH, |catalogue| &catalogue.tag)
}

/// The translations of a message; `None` in plain English, and if there are none.
pub(crate) fn translated(message: &Message) -> Option<&'static Texts> {
    spoken()?.texts_of(message)
}

/// The translation for a number; `None` in plain English, and if there is none.
pub(crate) fn translated_for(message: &Message, count: u64) -> Option<&'static str> {
    let catalogue = spoken()?;
    catalogue.texts_of(message)?.get(catalogue.plurals.of(count)).map(|text| &**text)
}

/// How the language writes numbers and dates: `Err` in plain English, `Ok(None)` if it is not known.
pub(crate) fn formats() -> Result<Option<&'static Formats>, Tag> {
    spoken().map_or(Err(Tag::ENGLISH), |catalogue| Ok(catalogue.formats.as_ref()))
}
