//! The index: what can be found, in a folder or in memory.
//!
//! The folder holds nothing that cannot be read again. With each commit it notes how far it has read
//! ([`Progress`]), so what is in it and how far it is can never disagree. One process writes to a folder at a
//! time; another one takes the folder with the next number.

mod document;
mod fields;

pub use document::{Account, Audience, Counts, Document, Kind};
pub(crate) use fields::{Body, Fields, HIDDEN};

use crate::asking::{exactly, range};
use crate::seen::SeenCounts;
use fields::Words;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tantivy::collector::DocSetCollector;
use tantivy::directory::INDEX_WRITER_LOCK;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError};
use tantivy::merge_policy::LogMergePolicy;
use tantivy::schema::{Schema, Value};
use tantivy::tokenizer::{Stemmer, TextAnalyzer, TokenStream};
use tantivy::{
    DocAddress, IndexBuilder, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher, SegmentMeta,
    TantivyDocument, TantivyError, Term,
};
use tidings_text::words;

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
        use std::io::ErrorKind as Of;
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
            Of::FileTooLarge
                | Of::Interrupted
                | Of::OutOfMemory
                | Of::PermissionDenied
                | Of::QuotaExceeded
                | Of::ReadOnlyFilesystem
                | Of::StorageFull
        );
        !is_of_disk && !TOO_MANY_FILES.iter().any(|number| cause.raw_os_error() == Some(*number))
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

/// An index as it was last committed: the side that is asked.
pub struct View {
    pub(crate) fields: Fields,
    pub(crate) reader: IndexReader,
    /// The counts of the documents that every visitor finds, once somebody has searched since the last commit.
    pub(crate) seen: Mutex<Option<Arc<SeenCounts>>>,
    reloading: Mutex<()>,
    index: tantivy::Index,
}

impl View {
    fn new(index: tantivy::Index, fields: Fields, language: Option<Language>) -> Result<Self, IndexError> {
        let words = || TextAnalyzer::builder(Words::default());
        let stems = match language {
            Some(language) => words().filter(Stemmer::new(language)).build(),
            None => words().build(),
        };
        index.tokenizers().register("words", words().build());
        index.tokenizers().register("stems", stems);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { fields, reader, seen: Mutex::default(), reloading: Mutex::new(()), index })
    }

    /// Shows what was committed last. Of two at the same time, the one that has read older files would otherwise come
    /// last, and the view would go back.
    fn reload(&self) -> Result<(), IndexError> {
        let _turn = self.reloading.lock();
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
        stem(&mut self.stems(), word)
    }

    /// The id of a document that was found.
    pub(crate) fn id_of(&self, searcher: &Searcher, document: DocAddress) -> Result<String, IndexError> {
        let stored: TantivyDocument = searcher.doc(document)?;
        Ok(stored.get_first(self.fields.id).and_then(|id| id.as_str()).unwrap_or_default().to_owned())
    }
}

/// The stem of a word; the word itself without an analyzer.
pub(crate) fn stem(analyzer: &mut Option<TextAnalyzer>, word: &str) -> String {
    let mut stem = word.to_owned();
    let mut tokens = analyzer.as_mut().map(|analyzer| analyzer.token_stream(word));
    // The last one has the signs of the word.
    while let Some(token) = tokens.as_mut().and_then(|tokens| tokens.next()) {
        stem.clone_from(&token.text);
    }
    stem
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
        match open() {
            Err(IndexError::Failed(error)) if !matches!(error, TantivyError::LockFailure(..)) => {
                std::fs::remove_dir_all(&of_version).map_err(failed)?;
                make_private(&of_version).map_err(failed)?;
                open()
            }
            other => other,
        }
    }

    /// A complete index of another version or language in the same folder, to answer until this one is complete;
    /// `None` if it has none of the same fields.
    pub fn previous(&self) -> Option<View> {
        let opened = self.others().into_iter().filter_map(|path| {
            let index = tantivy::Index::open_in_dir(path).ok()?;
            let fields = Fields::of(&index.schema())?;
            progress(&index).ok().filter(|progress| progress.is_complete)?;
            View::new(index, fields, self.language).ok()
        });
        { opened }.next()
    }

    /// Removes indexes of other versions and languages, and those with higher numbers that no process uses.
    pub fn remove_others(&self) {
        for path in self.others() {
            unused(&path).and_then(|_held| std::fs::remove_dir_all(&path)).ok();
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
        let writer = self.writer.lock();
        writer.delete_term(Term::from_field_text(self.view.fields.id, &document.id));
        writer.add_document(self.stored(document))?;
        Ok(())
    }

    /// Removes the document with an id.
    pub fn remove(&self, id: &str) {
        self.writer.lock().delete_term(Term::from_field_text(self.view.fields.id, id));
    }

    /// Removes a story with everything that belongs to it.
    pub fn remove_story(&self, story: u64) {
        self.writer.lock().delete_term(Term::from_field_u64(self.view.fields.story, story));
    }

    /// Removes everything; it is found until the next commit.
    ///
    /// # Errors
    /// When the library fails.
    pub fn clear(&self) -> Result<(), IndexError> {
        self.writer.lock().delete_all_documents()?;
        Ok(())
    }

    /// Makes what was added and removed durable and found, together with how far the index has read.
    ///
    /// # Errors
    /// When the library fails, such as on a full disk. The changes since the last commit are gone then.
    pub fn commit(&self, progress: Progress) -> Result<(), IndexError> {
        let payload = serde_json::to_string(&progress).unwrap_or_default();
        let mut writer = self.writer.lock();
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
        let collecting = self.writer.lock().garbage_collect_files();
        collecting.wait()?;
        Ok(())
    }

    /// Makes one set of files of all, so that a search reads one. Takes as long as a large merge; the index can be
    /// written to and asked meanwhile.
    ///
    /// # Errors
    /// When the library fails. The files are then as they were.
    pub fn merge_all(&self) -> Result<(), IndexError> {
        let mut attempts = MERGE_ATTEMPTS;
        loop {
            attempts -= 1;
            let metas = self.view.index.searchable_segment_metas()?;
            // Fails if a merge that had begun took some of them away.
            let outcome = if metas.len() <= 1 { Ok(()) } else { self.merge(&metas) };
            if outcome.is_ok() || attempts == 0 {
                return outcome;
            }
        }
    }

    /// Merges some sets of files into one.
    fn merge(&self, metas: &[SegmentMeta]) -> Result<(), IndexError> {
        let segments: Vec<_> = metas.iter().map(SegmentMeta::id).collect();
        let merging = self.writer.lock().merge(&segments);
        merging.wait()?;
        self.view.reload()?;
        Ok(())
    }

    /// Forgets what was added and removed since the last commit.
    ///
    /// # Errors
    /// When the library fails.
    pub fn roll_back(&self) -> Result<(), IndexError> {
        let mut writer = self.writer.lock();
        writer.rollback()?;
        writer.set_merge_policy(merge_policy());
        Ok(())
    }

    /// The numbers of the document with an id; `None` if there is none, or if it has not been committed.
    ///
    /// # Errors
    /// When the library fails.
    pub fn counts(&self, id: &str) -> Result<Option<Counts>, IndexError> {
        let searcher = self.view.reader.searcher();
        let found = searcher.search(&*exactly(self.view.fields.id, id), &DocSetCollector)?;
        let Some(DocAddress { segment_ord, doc_id }) = found.into_iter().next() else { return Ok(None) };
        let columns = searcher.segment_reader(segment_ord).fast_fields();
        let count = |name| Ok::<_, TantivyError>(columns.i64(name)?.first(doc_id).unwrap_or(0));
        Ok(Some(Counts {
            votes: count("votes")?,
            comments: count("comments")?,
            karma: count("karma")?,
            seen: count("seen")?,
            digest: count("digest")?,
        }))
    }

    /// The ids of accounts of which something has ended by itself at a time.
    ///
    /// # Errors
    /// When the library fails.
    pub fn ended(&self, now: i64) -> Result<Vec<String>, IndexError> {
        let searcher = self.view.reader.searcher();
        let found = searcher.search(&*range(self.view.fields.ends, ..=now), &DocSetCollector)?;
        found.into_iter().map(|address| self.view.id_of(&searcher, address)).collect()
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

/// The name of a language in settings, and in the name of a folder.
pub fn name_of(language: Option<Language>) -> String {
    language.map_or_else(|| "none".to_owned(), |language| format!("{language:?}").to_lowercase())
}
