//! The texts of the program and their translations: `translations/tidings.pot` is what the code says, and each catalogue
//! has all of it.

use crate::documents::{ROOT, rust_files};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use tidings_language::po::{self, Entry, quoted};
use tidings_language::{Catalogue, LANGUAGES, PluralForms, Tag};

/// The longest line of a catalogue, in bytes; longer texts are in several lines.
const MOST_BYTES: usize = 100;

/// A text of the code.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Text {
    plural: Option<String>,
    /// The files that have it.
    files: BTreeSet<String>,
}

/// The texts of the code by English and context.
type Texts = BTreeMap<(String, String), Text>;

fn translations() -> PathBuf {
    Path::new(ROOT).join("crates/web/translations")
}

/// The text of a string literal.
fn literal(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Literal(literal) => syn::parse_str::<syn::LitStr>(&literal.to_string()).ok(),
        // A literal of a macro by example comes in a group.
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            return literal_of_group(&group.stream());
        }
        _ => None,
    }
    .map(|literal| literal.value())
}

fn literal_of_group(stream: &TokenStream) -> Option<String> {
    let tokens: Vec<TokenTree> = stream.clone().into_iter().collect();
    let [token] = tokens.as_slice() else { return None };
    literal(token)
}

/// Splits tokens at the commas between arguments.
fn arguments(stream: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut all = vec![Vec::new()];
    for token in stream {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => all.push(Vec::new()),
            _ => all.last_mut().unwrap().push(token),
        }
    }
    all.retain(|argument| !argument.is_empty());
    all
}

/// Adds a call of `t!`, `p!`, `m!` or `n!`, and checks that it names each of its arguments.
fn add(texts: &mut Texts, name: &str, stream: TokenStream, file: &str) {
    let mut arguments = arguments(stream);
    if name == "n" {
        arguments.remove(0);
    }
    let first = arguments.remove(0);
    let (context, english) = match first.as_slice() {
        [english] => (String::new(), literal(english)),
        [context, equals, more, english] if equals.to_string() == "=" && more.to_string() == ">" => {
            (literal(context).unwrap_or_else(|| panic!("{file}: {context}")), literal(english))
        }
        _ => panic!("{file}: {name}!({first:?})"),
    };
    let english =
        english.unwrap_or_else(|| panic!("{file}: {name}! of something that is no text: {first:?}"));
    let plural = (name == "n")
        .then(|| literal(&arguments.remove(0)[0]).unwrap_or_else(|| panic!("{file}: {english}")));
    let mut used: BTreeSet<&str> =
        po::arguments(&english).chain(plural.as_deref().into_iter().flat_map(po::arguments)).collect();
    if name == "n" {
        used.remove("count");
    }
    let given: BTreeSet<String> = arguments.iter().map(|argument| argument[0].to_string()).collect();
    if name != "m" {
        assert!(
            used.iter().copied().eq(given.iter().map(String::as_str)),
            "{file}: {english:?} is given {given:?}"
        );
    }
    let text = texts.entry((english.clone(), context)).or_default();
    assert!(
        text.files.is_empty() || text.plural == plural || text.plural.is_none() != plural.is_none(),
        "{file}: two plurals of {english:?}"
    );
    text.plural = text.plural.take().or(plural);
    text.files.insert(file.to_owned());
}

fn collect(texts: &mut Texts, stream: TokenStream, file: &str) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        if let [.., TokenTree::Ident(name), TokenTree::Punct(bang)] = &tokens[..index]
            && bang.as_char() == '!'
            && ["t", "p", "m", "n"].contains(&name.to_string().as_str())
        {
            add(texts, &name.to_string(), group.stream(), file);
        }
        // Arguments have texts, too.
        collect(texts, group.stream(), file);
    }
}

/// All texts of the code.
fn texts() -> Texts {
    let folders = ["crates/language/src", "crates/search/src", "crates/domain/src", "crates/web/src", "src"];
    let mut texts = Texts::new();
    for (file, source) in rust_files(&folders) {
        // The crate has its macros and their tests.
        if ["crates/language/src/lib.rs", "crates/language/src/tests.rs"].contains(&file.as_str()) {
            continue;
        }
        let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
        collect(&mut texts, source.parse().unwrap_or_else(|error| panic!("{file}: {error}")), &file);
    }
    texts
}

/// A part of a message, in lines that are not too long.
fn part(keyword: &str, text: &str) -> String {
    let whole = format!("{keyword} {}\n", quoted(text));
    if whole.len() <= MOST_BYTES {
        return whole;
    }
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        if lines.last().unwrap().len() + word.len() > MOST_BYTES - 4 && !word.trim().is_empty() {
            lines.push(String::new());
        }
        lines.last_mut().unwrap().push_str(word);
    }
    let lines = lines.iter().map(|line| quoted(line) + "\n").collect::<String>();
    format!("{keyword} \"\"\n{lines}")
}

/// A message with its translations.
fn message(
    (english, context): &(String, String),
    text: &Text,
    translations: &[String],
    forms: usize,
) -> String {
    let mut message = String::from("\n");
    if !context.is_empty() {
        message += &part("msgctxt", context);
    }
    message += &part("msgid", english);
    let translation = |form: usize| translations.get(form).map_or("", String::as_str);
    match &text.plural {
        None => message += &part("msgstr", translation(0)),
        Some(plural) => {
            message += &part("msgid_plural", plural);
            (0..forms).for_each(|form| message += &part(&format!("msgstr[{form}]"), translation(form)));
        }
    }
    message
}

/// The template that translators begin with.
fn template(texts: &Texts) -> String {
    let mut template = concat!(
        "# The texts of Tidings. See docs/translating.md.\n",
        "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=UTF-8\\n\"\n\"Content-Transfer-Encoding: 8bit\\n\"\n",
    )
    .to_owned();
    for (key, text) in texts {
        let whole = message(key, text, &[], 2);
        let files = text.files.iter().map(|file| format!("#: {file}\n")).collect::<String>();
        write!(template, "\n{files}{}", whole.trim_start()).unwrap();
    }
    template
}

#[test]
fn the_template_has_what_the_code_says() {
    let path = translations().join("tidings.pot");
    let (template, kept) = (template(&texts()), fs::read_to_string(&path).unwrap_or_default());
    if template != kept {
        fs::write(&path, &template).unwrap();
    }
    assert!(template == kept, "{} was not what the code says, and is now", path.display());
}

fn entries_of(name: &str) -> (PathBuf, String, Vec<Entry>) {
    let path = translations().join(format!("{name}.po"));
    let text = fs::read_to_string(&path).unwrap();
    let entries = po::read(&text).unwrap_or_else(|error| panic!("{}, {error}", path.display()));
    (path, text, entries)
}

/// A catalogue in the order of the template, with all that it has of it.
fn in_order(texts: &Texts, entries: &[Entry]) -> String {
    let header = &entries[0].texts[0];
    let forms = PluralForms::parse(po::field_of_header(entries, "Plural-Forms").unwrap()).unwrap().count;
    let lines = header.lines().map(|line| quoted(&format!("{line}\n")) + "\n").collect::<String>();
    let mut catalogue = format!("msgid \"\"\nmsgstr \"\"\n{lines}");
    for (key, text) in texts {
        let known =
            entries.iter().find(|entry| entry.id == key.0 && entry.context == key.1 && !entry.is_fuzzy);
        catalogue += &message(key, text, known.map_or(&[], |entry| &entry.texts), forms);
    }
    catalogue
}

/// The faults of a translation.
fn faults(entry: &Entry) -> Vec<String> {
    let mut faults = Vec::new();
    let of = |text: &str| po::arguments(text).map(str::to_owned).collect::<BTreeSet<_>>();
    let (one, many) = (of(&entry.id), of(entry.plural.as_ref().unwrap_or(&entry.id)));
    faults.extend(entry.lacking().map(|name| format!("it lacks {name}")));
    for text in &entry.texts {
        let used = of(text);
        if used.iter().any(|name| !one.contains(name) && !many.contains(name)) {
            faults.push(format!("it has {used:?}, and English has {one:?} and {many:?}"));
        }
        if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
            faults.push("it has a blank at an end".to_owned());
        }
        for mark in ['<', '>', '&', '*', '`', '\n'] {
            let english = [Some(entry.id.as_str()), entry.plural.as_deref()];
            if text.contains(mark) && !english.iter().flatten().any(|english| english.contains(mark)) {
                faults.push(format!("it has {mark:?}, and English has none"));
            }
        }
    }
    faults
}

#[test]
fn the_catalogues_have_every_text() {
    let texts = texts();
    let mut wrong = Vec::new();
    for (name, _) in LANGUAGES.into_iter().filter(|(name, _)| *name != "en") {
        let (path, kept, entries) = entries_of(name);
        let ordered = in_order(&texts, &entries);
        if ordered != kept {
            fs::write(&path, &ordered).unwrap();
            wrong.push(format!("{}: it was not in the order of the template, and is now", path.display()));
        }
        let (_, _, entries) = entries_of(name);
        for entry in &entries[1..] {
            if entry.texts.iter().any(String::is_empty) {
                wrong.push(format!("{}, line {}: not translated: {}", path.display(), entry.line, entry.id));
                continue;
            }
            wrong.extend(faults(entry).into_iter().map(|fault| {
                format!("{}, line {}: {fault}: {}", path.display(), entry.line, entry.texts.join(" | "))
            }));
        }
        if let Err((_, error)) = Catalogue::read(Tag::parse(name).unwrap(), &[&ordered]) {
            wrong.push(format!("{}, {error}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}
