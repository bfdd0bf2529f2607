use crate::formats::{choice, date, decimal, enumerated, list, month, number};
use crate::{Catalogue, Phrase, Tag, m, n, p, po, spans, speak, t, tag};
use maud::{Render, html};
use std::sync::{Mutex, PoisonError};

/// The language is one for the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const HEADER: &str = "msgid \"\"\nmsgstr \"Plural-Forms: nplurals=2; plural=n != 1;\\n\"\n\n";

const ITALIAN: &str = r#"
msgid "Add comment"
msgstr "Aggiungi commento"

msgctxt "verb"
msgid "flag"
msgstr "segnala"

msgid "{name} replied to you"
msgstr "Hai una risposta di {name}"

msgid "{count} comment"
msgid_plural "{count} comments"
msgstr[0] "{count} commento"
msgstr[1] "{count} commenti"

#, fuzzy
msgid "Log in"
msgstr "Entra?"
"#;

fn catalogue(name: &str, texts: &str) -> Catalogue {
    Catalogue::read(Tag::parse(name).unwrap(), &[&format!("{HEADER}{texts}")]).unwrap()
}

fn speaking<T>(catalogue: Option<Catalogue>, ask: impl FnOnce() -> T) -> T {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    speak(catalogue.map(|catalogue| catalogue.keep().unwrap()));
    let answer = ask();
    speak(None);
    answer
}

/// Some texts in the language that is spoken.
fn texts() -> Vec<String> {
    let name = "<b>";
    let log = html! { a href="/log" { "log" } };
    vec![
        t!("Add comment").to_owned(),
        t!("verb" => "flag").to_owned(),
        m!("flag").text().to_owned(),
        t!("{name} replied to you", name).to_string(),
        t!("{name} replied to you", name).render().into_string(),
        t!("{name} replied to you", name = log).render().into_string(),
        n!(1_u64, "{count} comment", "{count} comments").to_string(),
        n!(12_345_u64, "{count} comment", "{count} comments").to_string(),
        t!("Log in").to_owned(),
        spans::every(3 * 3_600).to_string(),
    ]
}

#[test]
fn english_is_what_stands_in_the_code() {
    let english = speaking(None, texts);
    let expected = [
        "Add comment",
        "flag",
        "flag",
        "<b> replied to you",
        "&lt;b&gt; replied to you",
        "<a href=\"/log\">log</a> replied to you",
        "1 comment",
        "12,345 comments",
        "Log in",
        "every 3 hours",
    ];
    assert_eq!(english, expected);
}

#[test]
fn a_catalogue_translates_what_it_has() {
    let italian = speaking(Some(catalogue("it", ITALIAN)), texts);
    let expected = [
        "Aggiungi commento",
        "segnala",
        "flag",
        "Hai una risposta di <b>",
        "Hai una risposta di &lt;b&gt;",
        "Hai una risposta di <a href=\"/log\">log</a>",
        "1 commento",
        "12.345 commenti",
        "Log in",
        "every 3 hours",
    ];
    assert_eq!(italian, expected);
}

#[test]
fn a_phrase_is_known_in_english_in_every_language() {
    let phrase = || -> Phrase<'static> {
        p!("{name} replied to you", name = n!(2_u8, "{count} comment", "{count} comments"))
    };
    let said = speaking(Some(catalogue("it", ITALIAN)), || (phrase().to_string(), phrase().in_english()));
    assert_eq!(said, ("Hai una risposta di 2 commenti".to_owned(), "2 comments replied to you".to_owned()));
}

#[test]
fn the_first_catalogue_wins_text_by_text() {
    let own = format!("{HEADER}msgid \"Add comment\"\nmsgstr \"Commenta\"\n");
    let both = Catalogue::read(Tag::parse("it").unwrap(), &[&own, &format!("{HEADER}{ITALIAN}")]).unwrap();
    let said = speaking(Some(both), || (t!("Add comment"), t!("verb" => "flag"), tag().as_str().to_owned()));
    assert_eq!(said, ("Commenta", "segnala", "it".to_owned()));
}

#[test]
fn numbers_dates_and_lists_follow_the_language() {
    let things = ["a", "b", "c"].map(str::to_owned);
    let all = || {
        let numbers = [number(1_234_567), number(-5), decimal(1.25, 1)];
        let lists = [list(&things), choice(&things), enumerated(&things).to_string()];
        [numbers.join(" | "), date(2026, 11, 3), month(2026, 11), lists.join(" | ")].join(" | ")
    };
    let shown = |name: &str| speaking(Some(catalogue(name, "")), all);
    assert_eq!(speaking(None, all), shown("en"));
    for (name, expected) in [
        ("en", "1,234,567 | -5 | 1.2 | 3 Nov 2026 | November 2026 | a, b and c | a, b or c | a, b, c"),
        (
            "de-AT",
            "1\u{a0}234\u{a0}567 | -5 | 1,2 | 03.11.2026 | November 2026 | a, b und c | a, b oder c | a, b, c",
        ),
        (
            "fr",
            "1\u{202f}234\u{202f}567 | -5 | 1,2 | 3 nov. 2026 | novembre 2026 | a, b et c | a, b ou c | a, b, c",
        ),
        ("ja", "1,234,567 | -5 | 1.2 | 2026/11/03 | 2026年11月 | a、b、c | a、b、またはc | a, b, c"),
        // Not shipped.
        ("pt", "1234567 | -5 | 1.2 | 2026-11-03 | 2026-11 | a, b and c | a, b or c | a, b, c"),
    ] {
        assert_eq!(shown(name), expected, "{name}");
    }
}

#[test]
fn lists_are_as_the_catalogue_says_in_a_language_that_is_not_shipped() {
    let texts = "msgid \"{first} and {second}\"\nmsgstr \"{first} e {second}\"\n\nmsgid \"{first}, {second}\"\nmsgstr \"{first}; {second}\"\n";
    let things = ["a", "<b>", "c"].map(str::to_owned);
    let said = speaking(Some(catalogue("pt", texts)), || {
        (list(&things), enumerated(&things).render().into_string())
    });
    assert_eq!(said, ("a; <b> e c".to_owned(), "a; &lt;b&gt;; c".to_owned()));
}

#[test]
fn a_catalogue_without_a_header_has_the_forms_of_the_next() {
    let own =
        "msgid \"{count} comment\"\nmsgid_plural \"{count} comments\"\nmsgstr[0] \"a\"\nmsgstr[1] \"b\"\n";
    for next in [String::new(), format!("{HEADER}{ITALIAN}")] {
        let both = Catalogue::read(Tag::ENGLISH, &[own, &next]).unwrap();
        let said = speaking(Some(both), || {
            [1_u8, 2].map(|count| n!(count, "{count} comment", "{count} comments").to_string())
        });
        assert_eq!(said, ["a", "b"]);
    }
    let other = "msgid \"\"\nmsgstr \"Plural-Forms: nplurals=1; plural=0;\\n\"\n";
    assert_eq!(Catalogue::read(Tag::ENGLISH, &[other, HEADER]).unwrap_err().0, 0);
}

#[test]
fn a_broken_catalogue_is_refused_with_its_line() {
    let english = Tag::parse("it").unwrap();
    for (line, texts) in [
        (4, "msgid \"Add comment\"\nmsgstr \"{nome}\"\n"),
        (4, "msgid \"{count} a\"\nmsgid_plural \"{count} b\"\nmsgstr[0] \"{count} c\"\n"),
        (4, "msgid \"{count} a\"\nmsgid_plural \"{count} b\"\nmsgstr[0] \"{count} c\"\nmsgstr[1] \"\"\n"),
        (5, "msgid \"a\"\nmsgstr a\n"),
    ] {
        let error = Catalogue::read(english.clone(), &["", &format!("{HEADER}{texts}")]).unwrap_err();
        assert_eq!((error.0, error.1.line), (1, line), "{texts}");
    }
    let forms = "msgid \"\"\nmsgstr \"Plural-Forms: nplurals=2; plural=many;\\n\"\n";
    assert_eq!(Catalogue::read(english, &[forms]).unwrap_err().1.line, 1);
}

#[test]
fn a_catalogue_knows_what_it_has() {
    let entries = po::read(ITALIAN).unwrap();
    let italian = catalogue("it", ITALIAN);
    let known: Vec<Option<usize>> = entries.iter().map(|entry| italian.forms_of(entry)).collect();
    assert_eq!(known, [Some(1), Some(1), Some(1), Some(2), None]);
}

#[test]
fn a_value_is_made_once_for_each_language() {
    static VALUE: crate::PerLanguage<String> = crate::PerLanguage::new(|| t!("Add comment").to_owned());
    assert_eq!(speaking(None, || VALUE.clone()), "Add comment");
    assert_eq!(speaking(Some(catalogue("it", ITALIAN)), || VALUE.clone()), "Aggiungi commento");
    assert_eq!(speaking(None, || VALUE.clone()), "Add comment");
}
