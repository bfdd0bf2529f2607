//! Numbers and spans of time as people read them: "15,020", "15 hours".

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A whole number with a comma between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The same for a number that may be negative.
pub fn grouped_signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

/// "1 story", "15,020 stories".
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A text with a small first letter, for the middle of a sentence.
pub fn decapitalized(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().into_iter().flat_map(char::to_lowercase).chain(rest).collect()
}

/// The first eight words of a text, or less if those are long.
pub fn first_words(text: &str) -> String {
    const WORDS: usize = 8;
    const CHARACTERS: usize = 80;
    let mut words = text.split_whitespace();
    let mut first = words.by_ref().take(WORDS).collect::<Vec<_>>().join(" ");
    let long = first.char_indices().nth(CHARACTERS);
    if let Some((end, _)) = long {
        first.truncate(end);
    }
    if long.is_some() || words.next().is_some() {
        first.push('…');
    }
    first
}

/// An exact span of time, in the largest unit that divides it: "90 seconds", "8 hours".
pub fn span(seconds: u64) -> String {
    let (size, unit) = unit_of(seconds);
    of_unit(seconds / size, unit)
}

/// How often something happens once in such a span: "an hour", "every 3 hours".
pub fn every(seconds: u64) -> String {
    match unit_of(seconds) {
        (HOUR, unit) if seconds == HOUR => format!("an {unit}"),
        (size, unit) if seconds == size => format!("a {unit}"),
        _ => format!("every {}", span(seconds)),
    }
}

/// How old something is, or how long it has been going on: never more than it is, in the largest
/// unit of which there are two: "61 seconds", "119 minutes", "2 hours".
pub fn age(seconds: u64) -> String {
    let unit = [DAY, HOUR, MINUTE].into_iter().find(|unit| seconds >= 2 * unit).unwrap_or(1);
    span(seconds - seconds % unit)
}

/// How long to wait: never too short, and no more exact than people need it.
pub fn wait(seconds: u64) -> String {
    let (minutes, hours) = (seconds.div_ceil(MINUTE).max(1), seconds.div_ceil(HOUR));
    if minutes < 120 && !minutes.is_multiple_of(60) {
        of_unit(minutes, "minute")
    } else if hours < 48 && !hours.is_multiple_of(24) {
        of_unit(hours, "hour")
    } else {
        of_unit(seconds.div_ceil(DAY), "day")
    }
}

/// A duration, exactly: in days, hours, minutes or seconds.
pub fn exactly(seconds: u64) -> String {
    let (size, unit) = unit_of(seconds);
    of_unit(seconds / size, unit)
}

fn of_unit(count: u64, unit: &str) -> String {
    counted(count, unit, &format!("{unit}s"))
}

fn unit_of(seconds: u64) -> (u64, &'static str) {
    [(DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")]
        .into_iter()
        .find(|(size, _)| seconds >= *size && seconds.is_multiple_of(*size))
        .unwrap_or((1, "second"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_by_its_first_words() {
        assert_eq!(first_words(" one  two\nthree "), "one two three");
        assert_eq!(first_words("1 2 3 4 5 6 7 8"), "1 2 3 4 5 6 7 8");
        assert_eq!(first_words("1 2 3 4 5 6 7 8 9"), "1 2 3 4 5 6 7 8…");
        assert_eq!(first_words(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
        assert_eq!(first_words(""), "");
    }

    #[test]
    fn digits_are_grouped_by_three() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (15_020, "15,020"),
            (123_456, "123,456"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped_signed(-1_234), "-1,234");
        assert_eq!(grouped_signed(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn spans_are_in_the_largest_unit_that_divides_them() {
        for (seconds, text, often) in [
            (28_800, "8 hours", "every 8 hours"),
            (2_592_000, "30 days", "every 30 days"),
            (90, "90 seconds", "every 90 seconds"),
            (86_400, "1 day", "a day"),
            (3_600, "1 hour", "an hour"),
            (60, "1 minute", "a minute"),
            (1, "1 second", "a second"),
            (0, "0 seconds", "every 0 seconds"),
        ] {
            assert_eq!((span(seconds).as_str(), every(seconds).as_str()), (text, often));
        }
    }

    #[test]
    fn ages_are_rounded_down() {
        for (seconds, text) in [
            (0, "0 seconds"),
            (7, "7 seconds"),
            (60, "1 minute"),
            (61, "61 seconds"),
            (119, "119 seconds"),
            (179, "2 minutes"),
            (3_600, "1 hour"),
            (3_661, "61 minutes"),
            (7_199, "119 minutes"),
            (7_205, "2 hours"),
            (172_799, "47 hours"),
            (259_199, "2 days"),
        ] {
            assert_eq!(age(seconds), text);
        }
    }

    #[test]
    fn waits_are_rounded_up_to_what_people_need() {
        for (seconds, text) in [
            (0, "1 minute"),
            (1, "1 minute"),
            (61, "2 minutes"),
            (900, "15 minutes"),
            (3_600, "1 hour"),
            (3_661, "62 minutes"),
            (7_200, "2 hours"),
            (53_991, "15 hours"),
            (54_000, "15 hours"),
            (86_400, "1 day"),
            (90_000, "25 hours"),
            (180_000, "3 days"),
        ] {
            assert_eq!(wait(seconds), text);
        }
    }
}
