//! Catalogues in the format of GNU gettext: what `.po` files say.

/// A line of a catalogue that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct PoError {
    /// The number of the line, from 1.
    pub line: usize,
    /// Why it cannot be read.
    pub reason: String,
}

/// A message of a catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The line of its `msgid`.
    pub line: usize,
    /// Its context; empty without one.
    pub context: String,
    /// The English text, for one thing if it has a number.
    pub id: String,
    /// The English text for several things.
    pub plural: Option<String>,
    /// The translation, or one for each form of the plural. Empty ones are not translated yet.
    pub texts: Vec<String>,
    /// Whether a translator has to look at it again. Its translation is not used.
    pub is_fuzzy: bool,
}

impl Entry {
    /// An argument of the English text that a translation lacks. A form for one thing need not name its number.
    pub fn lacking(&self) -> Option<&str> {
        let has = |text: &str, name: &str| arguments(text).any(|known| known == name);
        let is_needed = |name: &&str| match &self.plural {
            None => true,
            Some(plural) => *name != "count" && has(plural, name),
        };
        let is_lacking = |name: &&str| self.texts.iter().any(|text| !text.is_empty() && !has(text, name));
        arguments(&self.id).filter(is_needed).find(is_lacking)
    }
}

/// The part of a message to which a line belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Context,
    Id,
    Plural,
    Text(usize),
}

/// The entries of a catalogue. The first, with an empty id, is its header.
///
/// # Errors
///
/// Returns [`PoError`] for the first line that is no part of a message.
pub fn read(catalogue: &str) -> Result<Vec<Entry>, PoError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut next = Entry::default();
    let mut part = None;
    for (line, text) in (1..).zip(catalogue.trim_start_matches('\u{feff}').lines()) {
        let text = text.trim();
        let fail = |reason: &str| PoError { line, reason: reason.to_owned() };
        if text.is_empty() || text.starts_with('#') {
            if part.is_some_and(|part| part >= Part::Text(0)) {
                entries.push(std::mem::take(&mut next));
                part = None;
            }
            next.is_fuzzy |= text.starts_with("#,") && text.contains("fuzzy");
            continue;
        }
        let (keyword, quoted) =
            text.split_at(text.find('"').ok_or_else(|| fail("expected a text in quotation marks"))?);
        let begun = match keyword.trim_end() {
            "" => None,
            "msgctxt" => Some(Part::Context),
            "msgid" => Some(Part::Id),
            "msgid_plural" => Some(Part::Plural),
            "msgstr" => Some(Part::Text(0)),
            form => {
                let number =
                    form.strip_prefix("msgstr[").and_then(|form| form.strip_suffix(']')?.parse().ok());
                Some(Part::Text(
                    number.ok_or_else(|| fail("expected msgctxt, msgid, msgid_plural or msgstr"))?,
                ))
            }
        };
        if let Some(begun) = begun {
            // The next message may follow without an empty line.
            if matches!(begun, Part::Context | Part::Id) && part.is_some_and(|part| part >= Part::Text(0)) {
                entries.push(std::mem::take(&mut next));
            } else if part.is_some_and(|part| part >= begun) {
                return Err(fail("this part of the message is there already, or stands in the wrong order"));
            }
            match begun {
                Part::Id => next.line = line,
                Part::Plural => next.plural = Some(String::new()),
                Part::Text(form) if form != next.texts.len() => {
                    return Err(fail("the forms of the plural are not counted from 0"));
                }
                Part::Text(_) => next.texts.push(String::new()),
                Part::Context => {}
            }
            if begun > Part::Id && next.line == 0 {
                return Err(fail("the message has no msgid"));
            }
            part = Some(begun);
        }
        let added = unquoted(quoted)
            .ok_or_else(|| fail("the text in quotation marks is not closed, or has a wrong escape"))?;
        let whole = match part {
            None => return Err(fail("this text belongs to no message")),
            Some(Part::Context) => &mut next.context,
            Some(Part::Id) => &mut next.id,
            Some(Part::Plural) => next.plural.get_or_insert_default(),
            Some(Part::Text(_)) => next.texts.last_mut().ok_or_else(|| fail("the message has no msgstr"))?,
        };
        whole.push_str(&added);
    }
    if next.line > 0 {
        if next.texts.is_empty() {
            return Err(PoError { line: next.line, reason: "the message has no msgstr".to_owned() });
        }
        entries.push(next);
    }
    Ok(entries)
}

/// The text between quotation marks; `None` if it is malformed.
fn unquoted(quoted: &str) -> Option<String> {
    let inner = quoted.strip_prefix('"')?.strip_suffix('"').filter(|_| quoted.len() > 1)?;
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '"' => return None,
            '\\' => match characters.next()? {
                'n' => '\n',
                't' => '\t',
                escaped @ ('"' | '\\') => escaped,
                _ => return None,
            },
            character => character,
        });
    }
    Some(text)
}

/// A text in quotation marks, as catalogues have it.
pub fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}

/// A field of the header of a catalogue.
pub fn field_of_header<'a>(entries: &'a [Entry], name: &str) -> Option<&'a str> {
    let header = entries.first().filter(|entry| entry.id.is_empty())?.texts.first()?;
    header.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
}

/// The names of the arguments in a text, in their order.
pub fn arguments(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of_error(catalogue: &str) -> usize {
        read(catalogue).unwrap_err().line
    }

    #[test]
    fn entries_are_read_with_all_their_parts() {
        let catalogue = concat!(
            "# A comment\nmsgid \"\"\nmsgstr \"\"\n\"Language: it\\n\"\n\"Plural-Forms: nplurals=2; plural=n != 1;\\n\"\n\n",
            "#: a.rs:1\n#, fuzzy\nmsgctxt \"verb\"\nmsgid \"say \\\"flag\\\"\"\nmsgstr \"segnala\"\n\n",
            "msgid \"{count} story\"\nmsgid_plural \"{count} stories\"\nmsgstr[0] \"{count} storia\"\nmsgstr[1] \"\"\n\"{count} storie\"\n",
            "msgid \"a\\nb\"\nmsgstr \"\"\n#~ msgid \"gone\"\n#~ msgstr \"andato\"\n"
        );
        let entries = read(catalogue).unwrap();
        assert_eq!(field_of_header(&entries, "Plural-Forms"), Some("nplurals=2; plural=n != 1;"));
        assert_eq!(field_of_header(&entries, "Language"), Some("it"));
        let [_, flag, stories, last] = entries.as_slice() else { panic!("{entries:?}") };
        assert_eq!((flag.context.as_str(), flag.id.as_str(), flag.is_fuzzy), ("verb", "say \"flag\"", true));
        assert_eq!(stories.plural.as_deref(), Some("{count} stories"));
        assert_eq!(stories.texts, ["{count} storia", "{count} storie"]);
        assert!(!stories.is_fuzzy);
        assert_eq!((last.id.as_str(), last.texts.concat()), ("a\nb", String::new()));
        assert_eq!(read(""), Ok(Vec::new()));
    }

    #[test]
    fn a_broken_line_is_named() {
        for (line, catalogue) in [
            (1, "hello"),
            (1, "\"text of nothing\""),
            (2, "msgid \"a\"\nmsgstr \"b"),
            (2, "msgid \"a\"\nmsgstr \"\\x\""),
            (2, "msgid \"a\"\nmsgid \"b\""),
            (3, "msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[1] \"c\""),
            (1, "msgstr \"a\""),
            (2, "\nmsgid \"a\""),
            (2, "msgid \"a\"\nmessage \"b\""),
            (1, "msgid \""),
        ] {
            assert_eq!(line_of_error(catalogue), line, "{catalogue}");
        }
    }

    #[test]
    fn what_is_quoted_reads_as_it_was() {
        for text in ["plain", "a \"b\" \\ c", "two\nlines\tand a tab", ""] {
            assert_eq!(unquoted(&quoted(text)).as_deref(), Some(text));
        }
    }

    #[test]
    fn an_argument_that_a_translation_lacks_is_found() {
        for (lacking, catalogue) in [
            (None, "msgid \"{a} of {b}\"\nmsgstr \"{b}: {a}\""),
            (Some("b"), "msgid \"{a} of {b}\"\nmsgstr \"{a}\""),
            (None, "msgid \"{a} of {b}\"\nmsgstr \"\""),
            (
                None,
                "msgid \"{count} a\"\nmsgid_plural \"{count} b\"\nmsgstr[0] \"one\"\nmsgstr[1] \"{count} c\"",
            ),
            (
                Some("of"),
                "msgid \"{count} {of}\"\nmsgid_plural \"{count} {of}\"\nmsgstr[0] \"{of}\"\nmsgstr[1] \"{count}\"",
            ),
        ] {
            assert_eq!(read(catalogue).unwrap()[0].lacking(), lacking, "{catalogue}");
        }
    }

    #[test]
    fn arguments_are_the_names_in_braces() {
        assert_eq!(arguments("{a} of {b}").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(arguments("none }{").count(), 0);
    }
}
