//! The index: what can be found, in a folder or in memory.
//!
//! The folder holds nothing that cannot be read again. With each commit it notes how far it has read
//! ([`Progress`]), so what is in it and how far it is can never disagree. One process writes to a folder at a
//! time; another one takes the folder with the next number.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strum::{EnumCount, EnumString, IntoStaticStr, VariantArray};
use tantivy::collector::DocSetCollector;
use tantivy::directory::INDEX_WRITER_LOCK;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError};
use tantivy::merge_policy::LogMergePolicy;
use tantivy::query::RangeQuery;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::tokenizer::{Stemmer, TextAnalyzer, Token, TokenStream, Tokenizer};
use tantivy::{
    DocSet, IndexBuilder, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, SegmentMeta, TERMINATED,
    TantivyDocument, TantivyError, Term,
};
use tidings_text::words::{self, Word};

pub use tantivy::tokenizer::Language;

/// The version of the fields. An index of another version, or of another idea of words, is not used.
const VERSION: u32 = 6;
/// The memory of the writer in bytes; more is written to the folder at once.
const WRITER_BYTES: usize = 20_000_000;
/// The bytes that are read and unpacked together to learn the id of a result.
const STORED_BLOCK_BYTES: usize = 2_048;
/// The share of a file's documents that may be out of date before it is written anew.
const MOST_REMOVED: f32 = 0.25;
/// How often to try to merge all sets of files, beside merges that have begun before.
const MERGE_ATTEMPTS: usize = 5;
/// The highest number of a folder; so many servers may share a working folder.
const MOST_FOLDERS: usize = 16;
/// The errors of a system on which too many files are open: ENFILE and EMFILE.
const TOO_MANY_FILES: [i32; 2] = [23, 24];
/// The mode of a folder: it has addresses of members, and words of hidden posts.
const FOLDER_MODE: u32 = 0o700;
/// The longest text that is indexed, in bytes; what comes after it is not found.
const LONGEST_TEXT: usize = 65_536;

/// The index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The library failed, on its files or its threads.
    #[error("the search index failed: {0}")]
    Failed(#[from] TantivyError),
    /// The folder cannot be used.
    #[error("cannot use the folder {folder} for the search index: {error}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The threads that search cannot be started.
    #[error("cannot start the threads that search: {0}")]
    Threads(String),
    /// A file has other bytes than were written.
    #[error("the file {0} is damaged")]
    Damaged(PathBuf),
    /// Other processes use all the folders.
    #[error("{MOST_FOLDERS} other servers use the folder {0} and those beside it for their search indexes")]
    Taken(PathBuf),
}

impl IndexError {
    /// Whether the files of the index are damaged, so that only a new one helps: not if the disk is full, or another
    /// process uses it.
    pub fn is_damage(&self) -> bool {
        use std::io::ErrorKind::{
            FileTooLarge, Interrupted, OutOfMemory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem,
            StorageFull,
        };
        let Self::Failed(error) = self else { return matches!(self, Self::Damaged(_)) };
        let cause = match error {
            TantivyError::IoError(error) => error,
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => io_error,
            TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. }) => io_error,
            TantivyError::OpenWriteError(_)
            | TantivyError::LockFailure(..)
            | TantivyError::ErrorInThread(_)
            | TantivyError::Poisoned
            | TantivyError::InvalidArgument(_) => return false,
            // The bytes that it has read make no sense.
            _ => return true,
        };
        let is_of_disk = matches!(
            cause.kind(),
            FileTooLarge
                | Interrupted
                | OutOfMemory
                | PermissionDenied
                | QuotaExceeded
                | ReadOnlyFilesystem
                | StorageFull
        );
        !is_of_disk && !TOO_MANY_FILES.iter().any(|number| cause.raw_os_error() == Some(*number))
    }
}

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumCount, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// A story.
    Story,
    /// A comment.
    Comment,
    /// A post to followers.
    Post,
    /// A person.
    Person,
    /// A web site.
    Site,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether its documents are found by titles.
    pub const fn has_title(self) -> bool {
        !matches!(self, Self::Comment | Self::Post)
    }

    /// Whether its documents are found by the words of their host, path and topics.
    pub const fn has_place(self) -> bool {
        !matches!(self, Self::Comment)
    }
}

/// Something that can be found.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// A name that means something to the caller.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// The number of its author.
    pub author: Option<u64>,
    /// The number of the author of the story that it belongs to.
    pub story_author: Option<u64>,
    /// The number of the story that it is or belongs to.
    pub story: Option<u64>,
    /// Its title or name.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Its URL, in the form in which URLs are compared.
    pub url: Option<String>,
    /// The host of its URL, or of that of its story, in lower case.
    pub host: Option<String>,
    /// Its topics, or those of its story.
    pub topics: Vec<String>,
    /// When it was posted: Unix seconds.
    pub time: i64,
    /// Its votes.
    pub votes: i64,
    /// Its comments.
    pub comments: i64,
    /// The people who find it.
    pub audience: Audience,
    /// For a person: what only moderators search by.
    pub account: Option<Account>,
}

/// The people who find a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Audience {
    /// Everybody.
    #[default]
    Everybody,
    /// The person with this number, and who sees what is hidden.
    Only(u64),
    /// Only who sees what is hidden.
    Insiders,
}

/// The data by which moderators find a person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// Names of what is true of it, such as `staff` or `name:alice`. One can ask for a whole tag or its beginning.
    pub tags: Vec<String>,
    /// Its number; newer accounts have higher ones.
    pub number: i64,
    /// Whether only moderators find the person.
    pub is_hidden: bool,
    /// Their karma.
    pub karma: i64,
    /// The day of their last visit, counted from the beginning of Unix time.
    pub seen: i64,
    /// When something of this ends by itself, such as a ban: Unix seconds.
    pub ends: Option<i64>,
}

/// The numbers of a document that change often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Its votes.
    pub votes: i64,
    /// Its comments.
    pub comments: i64,
    /// The karma of a person.
    pub karma: i64,
    /// The day of a person's last visit.
    pub seen: i64,
    /// A digest of who finds it, and of a person's tags.
    pub digest: i64,
}

impl Document {
    /// Its numbers that change often.
    pub fn counts(&self) -> Counts {
        let account = self.account.as_ref();
        let mut hasher = DefaultHasher::new();
        (self.audience, account.map(|account| (&account.tags, account.is_hidden, account.ends)))
            .hash(&mut hasher);
        Counts {
            votes: self.votes,
            comments: self.comments,
            karma: account.map_or(0, |account| account.karma),
            seen: account.map_or(0, |account| account.seen),
            digest: hasher.finish().cast_signed(),
        }
    }
}

/// How far an index has read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// The name of the store that it has read.
    #[serde(default)]
    pub store: String,
    /// The place in the caller's feed of changes.
    pub place: u64,
    /// Whether it has everything up to that place.
    pub is_complete: bool,
}

/// The fields of a text: of its words and of their stems.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body {
    pub(crate) words: Field,
    pub(crate) stems: Field,
}

/// The fields of the index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    pub(crate) id: Field,
    pub(crate) kind: Field,
    pub(crate) author: Field,
    pub(crate) story_author: Field,
    pub(crate) story: Field,
    pub(crate) title: Field,
    pub(crate) title_stems: Field,
    /// One for each kind, so that a search for stories reads nothing of the many comments.
    pub(crate) bodies: [Body; Kind::COUNT],
    /// Host, path and topics, as words.
    pub(crate) place: Field,
    pub(crate) url: Field,
    /// The host and those above it.
    pub(crate) hosts: Field,
    pub(crate) topics: Field,
    pub(crate) time: Field,
    pub(crate) votes: Field,
    pub(crate) comments: Field,
    /// `text` or `link`, `ask`, `show`.
    pub(crate) is: Field,
    /// Tags of an account.
    pub(crate) tags: Field,
    pub(crate) number: Field,
    pub(crate) karma: Field,
    pub(crate) seen: Field,
    pub(crate) digest: Field,
    /// [`HIDDEN`] in documents that not everybody finds.
    pub(crate) hidden: Field,
    /// The person who finds such a document all the same.
    pub(crate) seer: Field,
    /// When something of an account ends.
    pub(crate) ends: Field,
}

/// The mark of what not everybody finds, and the tag of a person whom only moderators find.
pub(crate) const HIDDEN: &str = "hidden";

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

    fn schema() -> (Schema, Self) {
        let words = |tokenizer: &str, option| {
            let indexing = TextFieldIndexing::default().set_tokenizer(tokenizer).set_index_option(option);
            TextOptions::default().set_indexing_options(indexing)
        };
        let mut schema = Schema::builder();
        let fields = Self {
            id: schema.add_text_field("id", STRING | STORED),
            kind: schema.add_text_field("kind", STRING),
            author: schema.add_u64_field("author", INDEXED),
            story_author: schema.add_u64_field("story_author", INDEXED),
            story: schema.add_u64_field("story", FAST | INDEXED),
            title: schema.add_text_field("title", words("words", IndexRecordOption::WithFreqsAndPositions)),
            title_stems: schema
                .add_text_field("title_stems", words("stems", IndexRecordOption::WithFreqsAndPositions)),
            bodies: std::array::from_fn(|place| {
                let mut add = |name: &str, tokenizer| {
                    schema.add_text_field(name, words(tokenizer, IndexRecordOption::WithFreqsAndPositions))
                };
                let [name, name_of_stems] = body_names(Kind::VARIANTS[place]);
                Body { words: add(&name, "words"), stems: add(&name_of_stems, "stems") }
            }),
            place: schema.add_text_field("place", words("words", IndexRecordOption::WithFreqsAndPositions)),
            url: schema.add_text_field("url", STRING),
            hosts: schema.add_text_field("hosts", STRING),
            topics: schema.add_text_field("topics", STRING),
            time: schema.add_i64_field("time", FAST | INDEXED),
            votes: schema.add_i64_field("votes", FAST | INDEXED),
            comments: schema.add_i64_field("comments", FAST | INDEXED),
            is: schema.add_text_field("is", STRING),
            tags: schema.add_text_field("tags", STRING),
            number: schema.add_i64_field("number", FAST),
            karma: schema.add_i64_field("karma", FAST | INDEXED),
            seen: schema.add_i64_field("seen", FAST),
            digest: schema.add_i64_field("digest", FAST),
            hidden: schema.add_text_field("hidden", STRING),
            seer: schema.add_u64_field("seer", INDEXED),
            ends: schema.add_i64_field("ends", INDEXED),
        };
        (schema.build(), fields)
    }

    /// The fields of another schema; `None` if one is missing.
    fn of(schema: &Schema) -> Option<Self> {
        let of_name = |name: &str| schema.get_field(name).ok();
        Some(Self {
            id: of_name("id")?,
            kind: of_name("kind")?,
            author: of_name("author")?,
            story_author: of_name("story_author")?,
            story: of_name("story")?,
            title: of_name("title")?,
            title_stems: of_name("title_stems")?,
            bodies: {
                let bodies = Kind::VARIANTS.iter().map(|kind| {
                    let [name, name_of_stems] = body_names(*kind);
                    Some(Body { words: of_name(&name)?, stems: of_name(&name_of_stems)? })
                });
                bodies.collect::<Option<Vec<_>>>()?.try_into().ok()?
            },
            place: of_name("place")?,
            url: of_name("url")?,
            hosts: of_name("hosts")?,
            topics: of_name("topics")?,
            time: of_name("time")?,
            votes: of_name("votes")?,
            comments: of_name("comments")?,
            is: of_name("is")?,
            tags: of_name("tags")?,
            number: of_name("number")?,
            karma: of_name("karma")?,
            seen: of_name("seen")?,
            digest: of_name("digest")?,
            hidden: of_name("hidden")?,
            seer: of_name("seer")?,
            ends: of_name("ends")?,
        })
    }
}

/// The names of the fields of the text of a kind: of its words and of their stems.
fn body_names(kind: Kind) -> [String; 2] {
    [format!("{}_body", kind.name()), format!("{}_body_stems", kind.name())]
}

/// An index as it was last committed: the side that is asked.
pub struct View {
    pub(crate) fields: Fields,
    pub(crate) reader: IndexReader,
    reloading: Mutex<()>,
    index: tantivy::Index,
}

impl View {
    fn new(index: tantivy::Index, fields: Fields, language: Option<Language>) -> Result<Self, IndexError> {
        let words = TextAnalyzer::builder(Words::default());
        index.tokenizers().register("words", words.build());
        let stems = TextAnalyzer::builder(Words::default());
        match language {
            Some(language) => {
                index.tokenizers().register("stems", stems.filter(Stemmer::new(language)).build())
            }
            None => index.tokenizers().register("stems", stems.build()),
        }
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { fields, reader, reloading: Mutex::new(()), index })
    }

    /// Shows what was committed last. Of two at the same time, the one that has read older files would otherwise come
    /// last, and the view would go back.
    fn reload(&self) -> Result<(), IndexError> {
        let _turn = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.reader.reload()?)
    }

    /// How many documents there are.
    pub fn documents(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Its size on disk, or in memory, in bytes.
    pub fn bytes(&self) -> u64 {
        self.reader.searcher().space_usage().map_or(0, |usage| usage.total().get_bytes())
    }

    /// Cuts a text into stems.
    pub(crate) fn stems(&self) -> Option<TextAnalyzer> {
        self.index.tokenizers().get("stems")
    }

    /// The stem of a word, as the index has it.
    pub(crate) fn stem(&self, word: &str) -> String {
        let Some(mut analyzer) = self.stems() else { return word.to_owned() };
        let mut stems = analyzer.token_stream(word);
        let mut last = None;
        while let Some(token) = stems.next() {
            last = Some(token.text.clone());
        }
        last.unwrap_or_else(|| word.to_owned())
    }
}

/// An index.
pub struct Index {
    /// The side that is asked.
    pub view: Arc<View>,
    writer: Mutex<IndexWriter>,
    language: Option<Language>,
    /// The folder that it uses, which may have a number; `None` in memory.
    folder: Option<PathBuf>,
    /// The folder without a number.
    first_folder: Option<PathBuf>,
}

impl Index {
    /// The index in a folder, or a new one in memory. A folder that is missing, damaged, or of another version or
    /// language becomes an empty index. If another process uses the folder, the one with `.2`, `.3`, ... added is
    /// taken.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub fn open(folder: Option<&Path>, language: Option<Language>) -> Result<Self, IndexError> {
        let (schema, fields) = Fields::schema();
        let Some(folder) = folder else {
            let index = builder(schema).create_in_ram()?;
            return Self::with(index, fields, language, None);
        };
        for number in 1..=MOST_FOLDERS {
            match Self::open_folder(&numbered(folder, number), &schema, fields, language) {
                Err(IndexError::Failed(TantivyError::LockFailure(LockError::LockBusy, _))) => {}
                opened => return Ok(Self { first_folder: Some(folder.to_owned()), ..opened? }),
            }
        }
        Err(IndexError::Taken(folder.to_owned()))
    }

    fn open_folder(
        folder: &Path,
        schema: &Schema,
        fields: Fields,
        language: Option<Language>,
    ) -> Result<Self, IndexError> {
        let failed = |error| IndexError::Folder { folder: folder.to_owned(), error };
        let of_version = of_version(folder, language);
        make_private(folder).and_then(|()| make_private(&of_version)).map_err(failed)?;
        let open = || {
            let index = match tantivy::Index::open_in_dir(&of_version) {
                Ok(index) => index,
                Err(_) => builder(schema.clone()).create_in_dir(&of_version)?,
            };
            Self::with(index, fields, language, Some(folder.to_owned()))
        };
        let opened = match open() {
            Err(IndexError::Failed(error)) if !matches!(error, TantivyError::LockFailure(..)) => {
                std::fs::remove_dir_all(&of_version).map_err(failed)?;
                make_private(&of_version).map_err(failed)?;
                open()?
            }
            other => other?,
        };
        Ok(opened)
    }

    /// A complete index of another version or language in the same folder, to answer until this one is complete;
    /// `None` if it has none of the same fields.
    pub fn previous(&self) -> Option<View> {
        let opened = self.others().into_iter().filter_map(|path| {
            let index = tantivy::Index::open_in_dir(path).ok()?;
            let fields = Fields::of(&index.schema())?;
            if progress(&index).ok()?.is_complete {
                View::new(index, fields, self.language).ok()
            } else {
                None
            }
        });
        { opened }.next()
    }

    /// Removes indexes of other versions and languages, and those with higher numbers that no process uses.
    pub fn remove_others(&self) {
        for path in self.others() {
            let is_unused = unused(&path);
            if is_unused.is_ok() {
                std::fs::remove_dir_all(path).ok();
            }
        }
        let Some((first, own)) = self.first_folder.as_ref().zip(self.folder.as_ref()) else { return };
        for folder in (2..=MOST_FOLDERS).map(|number| numbered(first, number)) {
            if folder != *own {
                remove_unused(&folder).ok();
            }
        }
    }

    /// The folders of other versions and languages.
    fn others(&self) -> Vec<PathBuf> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let own = of_version(folder, self.language);
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| *path != own && path.is_dir()).collect()
    }

    fn with(
        index: tantivy::Index,
        fields: Fields,
        language: Option<Language>,
        folder: Option<PathBuf>,
    ) -> Result<Self, IndexError> {
        let writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        writer.set_merge_policy(merge_policy());
        let writer = Mutex::new(writer);
        let view = Arc::new(View::new(index, fields, language)?);
        Ok(Self { view, writer, language, folder, first_folder: None })
    }

    /// How far it has read.
    ///
    /// # Errors
    /// When its files cannot be read.
    pub fn progress(&self) -> Result<Progress, IndexError> {
        progress(&self.view.index)
    }

    /// Adds a document, or replaces the one with its id. It is found after the next commit.
    ///
    /// # Errors
    /// When the library fails.
    pub fn put(&self, document: &Document) -> Result<(), IndexError> {
        let writer = self.writer();
        writer.delete_term(Term::from_field_text(self.view.fields.id, &document.id));
        writer.add_document(self.stored(document))?;
        Ok(())
    }

    /// Removes the document with an id.
    pub fn remove(&self, id: &str) {
        self.writer().delete_term(Term::from_field_text(self.view.fields.id, id));
    }

    /// Removes a story with everything that belongs to it.
    pub fn remove_story(&self, story: u64) {
        self.writer().delete_term(Term::from_field_u64(self.view.fields.story, story));
    }

    /// Removes everything; it is found until the next commit.
    ///
    /// # Errors
    /// When the library fails.
    pub fn clear(&self) -> Result<(), IndexError> {
        self.writer().delete_all_documents()?;
        Ok(())
    }

    /// Makes what was added and removed durable and found, together with how far the index has read.
    ///
    /// # Errors
    /// When the library fails, such as on a full disk. The changes since the last commit are gone then.
    pub fn commit(&self, progress: Progress) -> Result<(), IndexError> {
        let payload = serde_json::to_string(&progress).unwrap_or_default();
        let mut writer = self.writer();
        let mut prepared = writer.prepare_commit()?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        self.view.reload()?;
        Ok(())
    }

    /// Writes the files anew, so that they have nothing of what was removed and committed. Takes as long as a
    /// large merge.
    ///
    /// # Errors
    /// When the library fails. The files are then as they were.
    pub fn compact(&self) -> Result<(), IndexError> {
        let metas = self.view.index.searchable_segment_metas()?;
        if metas.iter().any(SegmentMeta::has_deletes) {
            self.merge(&metas)?;
        }
        let collecting = self.writer().garbage_collect_files();
        collecting.wait()?;
        Ok(())
    }

    /// Makes one set of files of all, so that a search reads one. Takes as long as a large merge; the index can be
    /// written to and asked meanwhile.
    ///
    /// # Errors
    /// When the library fails. The files are then as they were.
    pub fn merge_all(&self) -> Result<(), IndexError> {
        let mut outcome = Ok(());
        for _ in 0..MERGE_ATTEMPTS {
            let metas = self.view.index.searchable_segment_metas()?;
            if metas.len() <= 1 {
                return Ok(());
            }
            // Fails if a merge that had begun took some of them away.
            outcome = self.merge(&metas);
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    /// Merges some sets of files into one.
    fn merge(&self, metas: &[SegmentMeta]) -> Result<(), IndexError> {
        let segments: Vec<_> = metas.iter().map(SegmentMeta::id).collect();
        let merging = self.writer().merge(&segments);
        merging.wait()?;
        self.view.reload()?;
        Ok(())
    }

    /// Forgets what was added and removed since the last commit.
    ///
    /// # Errors
    /// When the library fails.
    pub fn roll_back(&self) -> Result<(), IndexError> {
        let mut writer = self.writer();
        writer.rollback()?;
        writer.set_merge_policy(merge_policy());
        Ok(())
    }

    /// The numbers of the document with an id; `None` if there is none, or if it has not been committed.
    ///
    /// # Errors
    /// When the library fails.
    pub fn counts(&self, id: &str) -> Result<Option<Counts>, IndexError> {
        let term = Term::from_field_text(self.view.fields.id, id);
        for segment in self.view.reader.searcher().segment_readers() {
            let index = segment.inverted_index(self.view.fields.id)?;
            let postings = index.read_postings(&term, IndexRecordOption::Basic);
            let Some(mut postings) = postings.map_err(TantivyError::from)? else { continue };
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                if segment.alive_bitset().is_none_or(|alive| alive.is_alive(doc)) {
                    let columns = segment.fast_fields();
                    let count = |name| Ok::<_, TantivyError>(columns.i64(name)?.first(doc).unwrap_or(0));
                    return Ok(Some(Counts {
                        votes: count("votes")?,
                        comments: count("comments")?,
                        karma: count("karma")?,
                        seen: count("seen")?,
                        digest: count("digest")?,
                    }));
                }
                postings.advance();
            }
        }
        Ok(None)
    }

    /// The ids of accounts of which something has ended by itself at a time.
    ///
    /// # Errors
    /// When the library fails.
    pub fn ended(&self, now: i64) -> Result<Vec<String>, IndexError> {
        let fields = &self.view.fields;
        let searcher = self.view.reader.searcher();
        let now = Bound::Included(Term::from_field_i64(fields.ends, now));
        let query = RangeQuery::new(Bound::Unbounded, now);
        let mut ids = Vec::new();
        for address in searcher.search(&query, &DocSetCollector)? {
            let stored: TantivyDocument = searcher.doc(address)?;
            ids.extend(stored.get_first(fields.id).and_then(|id| id.as_str()).map(str::to_owned));
        }
        Ok(ids)
    }

    /// Compares every file with its checksum.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], or when the files cannot be read.
    pub fn check_files(&self) -> Result<(), IndexError> {
        let damaged = self.view.index.validate_checksum()?;
        damaged.into_iter().next().map_or(Ok(()), |file| Err(IndexError::Damaged(file)))
    }

    /// Removes its files. The next index in the folder is empty.
    ///
    /// # Errors
    /// When they cannot be removed.
    pub fn remove_files(self) -> Result<(), IndexError> {
        let Some(folder) = self.folder.as_ref().map(|folder| of_version(folder, self.language)) else {
            return Ok(());
        };
        drop(self);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(IndexError::Folder { folder, error })
            }
            _ => Ok(()),
        }
    }

    /// The folder that it uses.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    fn writer(&self) -> MutexGuard<'_, IndexWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stored(&self, document: &Document) -> TantivyDocument {
        let fields = &self.view.fields;
        let mut stored = TantivyDocument::new();
        stored.add_text(fields.id, &document.id);
        stored.add_text(fields.kind, document.kind.name());
        document.author.iter().for_each(|author| stored.add_u64(fields.author, *author));
        document.story_author.iter().for_each(|author| stored.add_u64(fields.story_author, *author));
        document.story.iter().for_each(|story| stored.add_u64(fields.story, *story));
        let text = (fields.bodies[document.kind as usize], &document.body);
        let title = document.kind.has_title().then_some((fields.titles(), &document.title));
        for (body, text) in [text].into_iter().chain(title) {
            stored.add_text(body.words, beginning(text));
            stored.add_text(body.stems, beginning(text));
        }
        document.url.iter().for_each(|url| stored.add_text(fields.url, url));
        let host = document.host.as_deref().map(|host| host.strip_prefix("www.").unwrap_or(host));
        host.into_iter().flat_map(hosts_above).for_each(|host| stored.add_text(fields.hosts, host));
        document.topics.iter().for_each(|topic| stored.add_text(fields.topics, topic.to_lowercase()));
        if document.kind.has_place() {
            let url = document.url.as_deref().map(beginning);
            let topics = document.topics.iter().map(String::as_str);
            url.into_iter().chain(host).chain(topics).for_each(|place| stored.add_text(fields.place, place));
        }
        stored.add_i64(fields.time, document.time);
        stored.add_i64(fields.votes, document.votes);
        stored.add_i64(fields.comments, document.comments);
        // Every document has these, because a column of numbers must not be missing.
        let Counts { karma, seen, digest, .. } = document.counts();
        stored.add_i64(fields.number, document.account.as_ref().map_or(0, |account| account.number));
        stored.add_i64(fields.karma, karma);
        stored.add_i64(fields.seen, seen);
        stored.add_i64(fields.digest, digest);
        if let Some(account) = &document.account {
            account.tags.iter().for_each(|tag| stored.add_text(fields.tags, tag));
            account.ends.iter().for_each(|ends| stored.add_i64(fields.ends, *ends));
            if account.is_hidden {
                stored.add_text(fields.tags, HIDDEN);
            }
        }
        let is_hidden = document.account.as_ref().is_some_and(|account| account.is_hidden);
        if is_hidden || document.audience != Audience::Everybody {
            stored.add_text(fields.hidden, HIDDEN);
        }
        if let Audience::Only(seer) = document.audience {
            stored.add_u64(fields.seer, seer);
        }
        if document.kind == Kind::Story {
            stored.add_text(fields.is, if document.url.is_some() { "link" } else { "text" });
            if let Some(first @ ("ask" | "show")) = words::asked(&document.title).first().map(String::as_str)
            {
                stored.add_text(fields.is, first);
            }
        }
        stored
    }
}

/// The index in a folder as it was committed last, for a look at it while a server uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The documents in it.
    pub documents: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// How far it has read.
    pub progress: Progress,
}

/// Looks at the index in a folder; `None` if there is none of this version and language.
///
/// # Errors
/// When its files cannot be read.
pub fn look(folder: &Path, language: Option<Language>) -> Result<Option<State>, IndexError> {
    let folder = of_version(folder, language);
    if !folder.join("meta.json").exists() {
        return Ok(None);
    }
    let index = tantivy::Index::open_in_dir(&folder)?;
    let progress = progress(&index)?;
    let Some(fields) = Fields::of(&index.schema()) else { return Ok(None) };
    let view = View::new(index, fields, language)?;
    Ok(Some(State { documents: view.documents(), bytes: view.bytes(), progress }))
}

fn builder(schema: Schema) -> IndexBuilder {
    let settings = IndexSettings { docstore_blocksize: STORED_BLOCK_BYTES, ..IndexSettings::default() };
    tantivy::Index::builder().schema(schema).settings(settings)
}

fn merge_policy() -> Box<LogMergePolicy> {
    let mut policy = LogMergePolicy::default();
    policy.set_del_docs_ratio_before_merge(MOST_REMOVED);
    Box::new(policy)
}

fn progress(index: &tantivy::Index) -> Result<Progress, IndexError> {
    let payload = index.load_metas()?.payload;
    // No payload: nothing has been committed yet.
    Ok(payload.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// Where the files of this version are.
fn of_version(folder: &Path, language: Option<Language>) -> PathBuf {
    folder.join(format!("{VERSION}.{}-{}", words::VERSION, name_of(language)))
}

/// Makes a folder that only its owner may read, and takes the right from everybody else if it is there.
fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
    builder.create(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if folder.metadata()?.permissions().mode() & 0o777 != FOLDER_MODE {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(FOLDER_MODE))?;
        }
    }
    Ok(())
}

/// A host and all hosts above it: `a.b.org`, `b.org`, `org`.
fn hosts_above(host: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(host), |host| host.split_once('.').map(|(_, above)| above))
}

/// The part of a text that is indexed.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

/// Removes a folder with indexes if no process writes to any of them.
fn remove_unused(folder: &Path) -> std::io::Result<()> {
    let held: Result<Vec<_>, _> =
        std::fs::read_dir(folder)?.flatten().map(|entry| unused(&entry.path())).collect();
    held.and_then(|_held| std::fs::remove_dir_all(folder))
}

/// The lock of an index, if no process writes to it.
fn unused(index: &Path) -> std::io::Result<File> {
    let lock = File::open(index.join(&INDEX_WRITER_LOCK.filepath))?;
    lock.try_lock()?;
    Ok(lock)
}

fn numbered(folder: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return folder.to_owned();
    }
    let mut name = folder.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// The name of a language in the name of a folder.
fn name_of(language: Option<Language>) -> String {
    language.map_or_else(|| "none".to_owned(), |language| format!("{language:?}").to_lowercase())
}

/// Cuts texts for the library as [`words::words`] does.
#[derive(Clone, Default)]
struct Words {
    token: Token,
}

/// The words of one text.
struct WordStream<'a> {
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
