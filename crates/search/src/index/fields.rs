//! The fields of the index, and how it cuts texts into words.

use super::document::Kind;
use strum::{EnumCount, VariantArray};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tidings_text::words::{self, Word};

/// The mark of what not everybody finds, and the tag of a person whom only moderators find.
pub(crate) const HIDDEN: &str = "hidden";

/// The fields of a text: of its words and of their stems.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body {
    pub(crate) words: Field,
    pub(crate) stems: Field,
}

/// Declares the fields in the order in which an index has them. The texts of each kind are in between.
macro_rules! fields {
    (
        before { $($(#[$first_doc:meta])* $first:ident: $add_first:ident($first_options:expr);)* }
        after { $($(#[$doc:meta])* $name:ident: $add:ident($options:expr);)* }
    ) => {
        /// The fields of the index.
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct Fields {
            $($(#[$first_doc])* pub(crate) $first: Field,)*
            /// One for each kind, so that a search for stories reads nothing of the many comments.
            pub(crate) bodies: [Body; Kind::COUNT],
            $($(#[$doc])* pub(crate) $name: Field,)*
        }

        impl Fields {
            pub(super) fn schema() -> (Schema, Self) {
                let mut schema = Schema::builder();
                let fields = Self {
                    $($first: schema.$add_first(stringify!($first), $first_options),)*
                    bodies: std::array::from_fn(|place| Body {
                        words: schema.add_text_field(&body_of(Kind::VARIANTS[place]), cut("words")),
                        stems: schema.add_text_field(&stems_of(Kind::VARIANTS[place]), cut("stems")),
                    }),
                    $($name: schema.$add(stringify!($name), $options),)*
                };
                (schema.build(), fields)
            }

            /// The fields of another schema; `None` if one is missing.
            pub(super) fn of(schema: &Schema) -> Option<Self> {
                let bodies = Kind::VARIANTS.iter().map(|kind| {
                    let words = schema.get_field(&body_of(*kind)).ok()?;
                    Some(Body { words, stems: schema.get_field(&stems_of(*kind)).ok()? })
                });
                Some(Self {
                    $($first: schema.get_field(stringify!($first)).ok()?,)*
                    bodies: bodies.collect::<Option<Vec<_>>>()?.try_into().ok()?,
                    $($name: schema.get_field(stringify!($name)).ok()?,)*
                })
            }
        }
    };
}

fields! {
    before {
        id: add_text_field(STRING | STORED);
        kind: add_text_field(STRING);
        author: add_u64_field(INDEXED);
        story_author: add_u64_field(INDEXED);
        story: add_u64_field(FAST | INDEXED);
        title: add_text_field(cut("words"));
        title_stems: add_text_field(cut("stems"));
    }
    after {
        /// Host, path and topics, as words.
        place: add_text_field(cut("words"));
        url: add_text_field(STRING);
        /// The host and those above it.
        hosts: add_text_field(STRING);
        topics: add_text_field(STRING);
        time: add_i64_field(FAST | INDEXED);
        votes: add_i64_field(FAST | INDEXED);
        comments: add_i64_field(FAST | INDEXED);
        /// `text` or `link`, `ask`, `show`.
        is: add_text_field(STRING);
        /// Tags of an account.
        tags: add_text_field(STRING);
        number: add_i64_field(FAST);
        karma: add_i64_field(FAST | INDEXED);
        seen: add_i64_field(FAST);
        digest: add_i64_field(FAST);
        /// [`HIDDEN`] in documents that not everybody finds.
        hidden: add_text_field(STRING);
        /// The person who finds such a document all the same.
        seer: add_u64_field(INDEXED);
        /// When something of an account ends.
        ends: add_i64_field(INDEXED);
    }
}

/// A text whose words can be found beside each other.
fn cut(tokenizer: &str) -> TextOptions {
    let indexing = TextFieldIndexing::default().set_tokenizer(tokenizer);
    TextOptions::default()
        .set_indexing_options(indexing.set_index_option(IndexRecordOption::WithFreqsAndPositions))
}

/// The name of the field with the words of a kind.
fn body_of(kind: Kind) -> String {
    format!("{}_body", kind.name())
}

/// The name of the field with the stems of a kind.
fn stems_of(kind: Kind) -> String {
    format!("{}_body_stems", kind.name())
}

impl Fields {
    /// The fields of the texts of a kind, or of all.
    pub(crate) fn bodies_of(&self, kind: Option<Kind>) -> &[Body] {
        match kind {
            Some(kind) => std::slice::from_ref(&self.bodies[kind as usize]),
            None => &self.bodies,
        }
    }

    /// The fields of titles.
    pub(crate) const fn titles(&self) -> Body {
        Body { words: self.title, stems: self.title_stems }
    }
}

/// Cuts texts for the library as [`words::words`] does.
#[derive(Clone, Default)]
pub(super) struct Words {
    token: Token,
}

/// The words of one text.
pub(super) struct WordStream<'a> {
    words: std::vec::IntoIter<Word>,
    token: &'a mut Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream { words: words::words(text).into_iter(), token: &mut self.token }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(word) = self.words.next() else { return false };
        self.token.text = word.text;
        self.token.position = word.position;
        self.token.offset_from = word.start;
        self.token.offset_to = word.end;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
