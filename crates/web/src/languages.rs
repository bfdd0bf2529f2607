//! The languages that a site can speak: those of the program, and those of the operator.

use flate2::read::DeflateDecoder;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidings_language::po::{self, PoError};
use tidings_language::{Catalogue, Speakable, Tag};

/// The catalogues of the program, compressed by `build.rs`.
const SHIPPED: [(&str, &[u8]); 5] = [
    ("de", include_bytes!(concat!(env!("OUT_DIR"), "/de.po"))),
    ("es", include_bytes!(concat!(env!("OUT_DIR"), "/es.po"))),
    ("fr", include_bytes!(concat!(env!("OUT_DIR"), "/fr.po"))),
    ("it", include_bytes!(concat!(env!("OUT_DIR"), "/it.po"))),
    ("ja", include_bytes!(concat!(env!("OUT_DIR"), "/ja.po"))),
];

/// The largest catalogue that is read.
const MAX_CATALOGUE: u64 = 8 << 20;

/// Why a site cannot speak as its settings say.
#[derive(Debug, thiserror::Error)]
pub enum LanguageError {
    /// The folder with translations, or a file in it, cannot be read.
    #[error("site.translations: cannot read {}: {error}", .path.display())]
    Unreadable {
        /// The folder, or the file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A catalogue is broken.
    #[error("site.translations: {}, {error}", .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line and the reason.
        error: PoError,
    },
    /// The name of a file is no language.
    #[error("site.translations: {} is not named after a language, such as it.po or pt-BR.po", .0.display())]
    Misnamed(PathBuf),
    /// The language of the site has no catalogue.
    #[error(
        "site.language is {language}, expected one of these: {known}. For another language, put its catalogue into site.translations"
    )]
    Unknown {
        /// The language.
        language: Tag,
        /// Those that the site can speak.
        known: String,
    },
}

/// The languages that a site can speak.
#[derive(Debug, Clone, Default)]
pub struct Languages {
    /// The catalogues of the operator.
    own: Arc<BTreeMap<String, String>>,
    /// Those that were read, with all that they have.
    read: Arc<Mutex<BTreeMap<String, Option<Speakable>>>>,
}

impl PartialEq for Languages {
    fn eq(&self, other: &Self) -> bool {
        self.own == other.own
    }
}

impl Languages {
    /// The languages of the program, and those with a catalogue in a folder.
    ///
    /// # Errors
    /// When the folder cannot be read, or has a file that is no catalogue. Logs the texts that the program does not have.
    pub fn read(folder: Option<&Path>) -> Result<Self, LanguageError> {
        let mut own = BTreeMap::new();
        let unreadable = |path: &Path, error| LanguageError::Unreadable { path: path.to_owned(), error };
        for file in folder
            .map(|folder| folder.read_dir().map_err(|error| unreadable(folder, error)))
            .transpose()?
            .into_iter()
            .flatten()
        {
            let path = file.map_err(|error| unreadable(folder.unwrap_or(Path::new("")), error))?.path();
            if path.extension().is_none_or(|extension| extension != "po") {
                continue;
            }
            let tag = path.file_stem().and_then(|name| Tag::parse(name.to_str()?));
            let tag = tag.ok_or_else(|| LanguageError::Misnamed(path.clone()))?;
            let mut text = String::new();
            let opened = std::fs::File::open(&path)
                .and_then(|file| file.take(MAX_CATALOGUE).read_to_string(&mut text));
            opened.map_err(|error| unreadable(&path, error))?;
            let broken = |error| LanguageError::Broken { path: path.clone(), error };
            let shipped = shipped(&tag);
            let catalogues: Vec<&str> = std::iter::once(text.as_str()).chain(shipped.as_deref()).collect();
            Catalogue::read(tag.clone(), &catalogues).map_err(|(_, error)| broken(error))?;
            warn_of_unknown(&path, &text).map_err(broken)?;
            own.insert(tag.to_string(), text);
        }
        Ok(Self { own: Arc::new(own), read: Arc::default() })
    }

    /// Demands that there is a catalogue for a language.
    ///
    /// # Errors
    /// When there is none.
    pub fn demand(&self, language: &Tag) -> Result<(), LanguageError> {
        let known: Vec<&str> = self.names().collect();
        if language.wider().any(|name| known.contains(&name)) {
            return Ok(());
        }
        Err(LanguageError::Unknown { language: language.clone(), known: known.join(", ") })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let shipped = std::iter::once("en").chain(SHIPPED.map(|(name, _)| name));
        let own = self.own.keys().map(String::as_str);
        shipped.chain(own.filter(|own| *own != "en" && SHIPPED.iter().all(|(name, _)| name != own)))
    }

    /// A language to speak; `None` is plain English.
    pub fn speakable(&self, language: &Tag) -> Option<Speakable> {
        *self.read.lock().entry(language.to_string()).or_insert_with(|| {
            let own = language.wider().filter_map(|name| self.own.get(name)).map(String::as_str);
            let shipped = shipped(language);
            let catalogues: Vec<&str> = own.chain(shipped.as_deref()).collect();
            if catalogues.is_empty() {
                return None;
            }
            // Both were read before: those of the operator at the start, and those of the program by its tests.
            Catalogue::read(language.clone(), &catalogues).ok()?.keep()
        })
    }
}

/// The catalogue of the program for a language.
fn shipped(language: &Tag) -> Option<String> {
    let find = |name: &str| SHIPPED.iter().find(|(shipped, _)| *shipped == name);
    let (_, compressed) = language.wider().find_map(find)?;
    let mut text = String::new();
    DeflateDecoder::new(*compressed).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Logs which texts of a catalogue the program does not have: a typing error would change nothing.
fn warn_of_unknown(path: &Path, own: &str) -> Result<(), PoError> {
    let Some(Ok(complete)) =
        shipped(&Tag::parse("de").unwrap_or_default()).map(|text| Catalogue::read(Tag::ENGLISH, &[&text]))
    else {
        return Ok(());
    };
    for entry in po::read(own)?.iter().filter(|entry| !entry.id.is_empty() && !complete.has(entry)) {
        tracing::warn!(file = %path.display(), line = entry.line, text = entry.id, "the program has no such text to translate");
    }
    Ok(())
}
