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
    #[error("site.translations: cannot read {}: {error}. Name a folder of UTF-8 files, or leave the setting empty", .path.display())]
    Unreadable {
        /// The folder, or the file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A catalogue is broken.
    #[error("site.translations: {catalogue}, {error}")]
    Broken {
        /// The file, or words for a catalogue of the program.
        catalogue: String,
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
    /// The catalogues of the operator, with their files.
    own: Arc<BTreeMap<String, (PathBuf, String)>>,
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
    /// When the folder cannot be read, or has a file that is no catalogue.
    pub fn read(folder: Option<&Path>) -> Result<Self, LanguageError> {
        let mut own = BTreeMap::new();
        let unreadable = |path: &Path, error| LanguageError::Unreadable { path: path.to_owned(), error };
        let Some(folder) = folder else { return Ok(Self::default()) };
        for file in folder.read_dir().map_err(|error| unreadable(folder, error))? {
            let path = file.map_err(|error| unreadable(folder, error))?.path();
            if path.extension().is_none_or(|extension| extension != "po") {
                continue;
            }
            let tag = path.file_stem().and_then(|name| Tag::parse(name.to_str()?));
            let tag = tag.ok_or_else(|| LanguageError::Misnamed(path.clone()))?;
            let mut text = String::new();
            let opened = std::fs::File::open(&path)
                .and_then(|file| file.take(MAX_CATALOGUE).read_to_string(&mut text));
            opened.map_err(|error| unreadable(&path, error))?;
            own.insert(tag.to_string(), (path, text));
        }
        let languages = Self { own: Arc::new(own), read: Arc::default() };
        for tag in languages.own.keys().filter_map(|name| Tag::parse(name)) {
            languages.catalogue(&tag)?;
        }
        Ok(languages)
    }

    /// The catalogue of a language, with those that win over it; `None` if there is none.
    fn catalogue(&self, language: &Tag) -> Result<Option<Catalogue>, LanguageError> {
        let own: Vec<_> = language.wider().filter_map(|name| self.own.get(name)).collect();
        let shipped = shipped(language);
        let texts: Vec<&str> = own.iter().map(|(_, text)| text.as_str()).chain(shipped.as_deref()).collect();
        if texts.is_empty() {
            return Ok(None);
        }
        let read = Catalogue::read(language.clone(), &texts).map_err(|(index, error)| {
            let catalogue = own.get(index).map(|(path, _)| path.display().to_string());
            let catalogue = catalogue.unwrap_or_else(|| "the catalogue of the program".to_owned());
            LanguageError::Broken { catalogue, error }
        });
        read.map(Some)
    }

    /// Sentences about what has no effect, or is missing, in the catalogues of the operator.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let german = Tag::parse("de").and_then(|tag| Self::default().catalogue(&tag).ok()?);
        let Some(complete) = german.filter(|_| !self.own.is_empty()) else { return warnings };
        for (path, text) in self.own.values() {
            for entry in po::read(text).into_iter().flatten().filter(|entry| !entry.id.is_empty()) {
                let wrong = match (complete.forms_of(&entry), &entry.plural, entry.lacking()) {
                    (None, ..) => "the program has no such text in this context".to_owned(),
                    (Some(2..), None, _) => "msgid_plural is missing".to_owned(),
                    (Some(_), _, Some(lacking)) => format!("the translation lacks {{{lacking}}}"),
                    (Some(_), _, None) => continue,
                };
                warnings.push(format!("{}, line {}: {wrong}: {:?}", path.display(), entry.line, entry.id));
            }
        }
        warnings
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
        let read = || self.catalogue(language).ok()??.keep();
        *self.read.lock().entry(language.to_string()).or_insert_with(read)
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
