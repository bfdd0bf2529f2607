//! Numbers, dates and lists, written as the language of the site does.

use crate::catalogue::formats;
use crate::{Argument, LANGUAGES, Phrase, Tag, p};
use icu_calendar::Gregorian;
use icu_datetime::FixedCalendarDateTimeFormatter;
use icu_datetime::fieldsets::{YM, YMD};
use icu_datetime::input::Date;
use icu_decimal::DecimalFormatter;
use icu_decimal::input::Decimal;
use icu_list::ListFormatter;
use icu_list::options::ListFormatterOptions;
use icu_locale_core::Locale;

/// The months in English.
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// How a language writes numbers, dates and lists.
#[derive(Debug)]
pub struct Formats {
    decimal: DecimalFormatter,
    date: FixedCalendarDateTimeFormatter<Gregorian, YMD>,
    month: FixedCalendarDateTimeFormatter<Gregorian, YM>,
    list: ListFormatter,
    choice: ListFormatter,
}

impl Formats {
    /// Those of a language, if they are known.
    pub fn of(tag: &Tag) -> Option<Self> {
        let known = tag.wider().find(|name| LANGUAGES.iter().any(|(known, _)| known == name))?;
        // Days stand before months, and no comma before "and".
        let name = if known == "en" { "en-GB" } else { tag.as_str() };
        let locale = Locale::try_from_str(name).ok()?;
        Some(Self {
            decimal: DecimalFormatter::try_new((&locale).into(), Default::default()).ok()?,
            date: FixedCalendarDateTimeFormatter::try_new((&locale).into(), YMD::medium()).ok()?,
            month: FixedCalendarDateTimeFormatter::try_new((&locale).into(), YM::long()).ok()?,
            list: ListFormatter::try_new_and((&locale).into(), ListFormatterOptions::default()).ok()?,
            choice: ListFormatter::try_new_or((&locale).into(), ListFormatterOptions::default()).ok()?,
        })
    }
}

/// A whole number, with its groups of digits: "15,020".
pub fn number(number: impl Into<i128>) -> String {
    let number = number.into();
    if (0..1_000).contains(&number) {
        return number.to_string();
    }
    match formats() {
        Err(_) => grouped(number),
        Ok(None) => number.to_string(),
        Ok(Some(formats)) => formats.decimal.format(&Decimal::from(number)).to_string(),
    }
}

/// A number with so many digits after the point.
pub fn decimal(number: f64, digits: usize) -> String {
    let plain = format!("{number:.digits$}");
    match formats() {
        Ok(Some(formats)) => {
            Decimal::try_from_str(&plain).map_or(plain, |number| formats.decimal.format(&number).to_string())
        }
        _ => plain,
    }
}

/// A day, with its month in letters where that is usual: "3 Nov 2026".
pub fn date(year: i16, month: u8, day: u8) -> String {
    let known = match formats() {
        Err(_) => return english_date(year, month, day),
        Ok(formats) => formats.and_then(|formats| {
            let date = Date::try_new_gregorian(year.into(), month, day).ok()?;
            Some(formats.date.format(&date).to_string())
        }),
    };
    known.unwrap_or_else(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// A month of a year: "November 2026".
pub fn month(year: i16, month: u8) -> String {
    let known = match formats() {
        Err(_) => MONTHS.get(usize::from(month.wrapping_sub(1))).map(|name| format!("{name} {year}")),
        Ok(formats) => formats.and_then(|formats| {
            let date = Date::try_new_gregorian(year.into(), month, 1).ok()?;
            Some(formats.month.format(&date).to_string())
        }),
    };
    known.unwrap_or_else(|| format!("{year:04}-{month:02}"))
}

/// Several things in a sentence: "a, b and c".
pub fn list(things: &[String]) -> String {
    match formats() {
        Ok(Some(formats)) => formats.list.format(things.iter()).to_string(),
        _ => joined(things, |first, second| p!("{first} and {second}", first, second)),
    }
}

/// One of several things in a sentence: "a, b or c".
pub fn choice(things: &[String]) -> String {
    match formats() {
        Ok(Some(formats)) => formats.choice.format(things.iter()).to_string(),
        _ => joined(things, |first, second| p!("{first} or {second}", first, second)),
    }
}

fn joined<'a>(things: &'a [String], last_two: fn(Argument<'a>, Argument<'a>) -> Phrase<'a>) -> String {
    match things {
        [] => String::new(),
        [thing] => thing.clone(),
        [most @ .., last] => last_two(enumerated(most), last.into()).to_string(),
    }
}

/// Things one after the other: "a, b, c".
pub fn enumerated<'a>(things: impl IntoIterator<Item: Into<Argument<'a>>>) -> Argument<'a> {
    let things = things.into_iter().map(Into::into);
    let all = things.reduce(|first, second| p!("{first}, {second}", first, second).into());
    all.unwrap_or(Argument::Text("".into()))
}

/// A day as English writes it.
pub(crate) fn english_date(year: i16, month: u8, day: u8) -> String {
    match MONTHS.get(usize::from(month.wrapping_sub(1))) {
        Some(name) => format!("{day} {name:.3} {year}"),
        None => format!("{year:04}-{month:02}-{day:02}"),
    }
}

/// A whole number as English writes it.
pub(crate) fn grouped(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0 {
        text.push('-');
    }
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
