//! Reading submissions from a CSV file.

use super::accounts::username;
use super::listed::read_rows;
use anyhow::{Context, bail};
use csv::StringRecord;
use jiff::civil;
use jiff::tz::TimeZone;
use serde::Deserialize;
use std::collections::HashSet;
use std::path::Path;
use tidings_domain::imports::{ImportedStory, imported_topics, mend_encoding};
use tidings_domain::values::text::is_unfit_for_line;
use tidings_domain::values::{ImportedVotes, MAX_IMPORTED_TITLE, NewsUrl, Timestamp};

/// A submission that can be imported.
#[derive(Debug, PartialEq)]
pub(super) struct StoryRow {
    /// The line in the file that it starts at.
    pub(super) line: u64,
    /// Its id in the file.
    pub(super) id: String,
    /// Its content, without a text.
    pub(super) story: ImportedStory,
    pub(super) points: u64,
    pub(super) author: String,
    /// Whether its text was encoded twice.
    pub(super) mended: bool,
}

/// The content of a file.
#[derive(Debug, Default)]
pub(super) struct StoryFile {
    pub(super) rows: Vec<StoryRow>,
    /// The rows that cannot be imported: line and reason.
    pub(super) refused: Vec<(u64, String)>,
    /// Rows whose text was encoded twice and has been repaired.
    pub(super) mended: u64,
    /// Authors who get another username.
    pub(super) renamed: u64,
}

/// The columns of a row. A file need not have those with a default.
#[derive(Deserialize)]
struct Columns<'a> {
    id: &'a str,
    title: &'a str,
    url: &'a str,
    #[serde(default)]
    num_points: &'a str,
    author: &'a str,
    created_at: &'a str,
    #[serde(default)]
    topics: &'a str,
}

/// Those that it needs.
const REQUIRED: [&str; 5] = ["id", "title", "url", "author", "created_at"];

/// Reads the text of a whole file. `zone` is the time zone of times without one. Times after `now` are refused.
pub(super) fn read(
    path: &Path,
    text: &[u8],
    zone: Option<&TimeZone>,
    now: Timestamp,
) -> anyhow::Result<StoryFile> {
    let mut ids = HashSet::new();
    let (rows, refused) = read_rows((path, text), ("stories", &REQUIRED), |record, header, line| {
        let row = parse(record, header, line, zone)?;
        if row.story.posted > now {
            bail!("created_at is in the future");
        }
        if !ids.insert(row.id.clone()) {
            bail!("id {:?} is repeated", row.id);
        }
        Ok(row)
    })?;
    let mended = rows.iter().filter(|row| row.mended).count() as u64;
    let mut read = StoryFile { rows, refused, mended, renamed: 0 };
    let authors: HashSet<&str> = read.rows.iter().map(|row| row.author.as_str()).collect();
    let renamed =
        authors.into_iter().filter(|author| username(author).is_ok_and(|name| name.as_str() != *author));
    read.renamed = u64::try_from(renamed.count())?;
    Ok(read)
}

fn parse(
    record: &StringRecord,
    header: &StringRecord,
    line: u64,
    zone: Option<&TimeZone>,
) -> anyhow::Result<StoryRow> {
    let width = header.len();
    if record.len() != width {
        bail!("the row has {} columns, the first line has {width}", record.len());
    }
    let row: Columns<'_> = record.deserialize(Some(header))?;
    let Columns { id, author, .. } = row;
    if id.is_empty() || id.len() > 64 || id.contains(is_unfit_for_line) {
        bail!("id {:?} is empty, too long, or contains control characters", shortened(id));
    }
    let (title, mended_url) = (mend_encoding(row.title), mend_encoding(row.url));
    let mended = title != row.title || mended_url != row.url;
    if title.is_empty() {
        bail!("the title is empty");
    }
    if title.chars().count() > MAX_IMPORTED_TITLE {
        bail!("the title is too long ({MAX_IMPORTED_TITLE} characters at most)");
    }
    if let Some(found) = title.chars().find(|character| is_unfit_for_line(*character)) {
        bail!("the title contains a control character (U+{:04X})", u32::from(found));
    }
    let url = match mended_url {
        empty if empty.is_empty() => None,
        url => Some(NewsUrl::parse_listed(&url).with_context(|| format!("url {:?}", shortened(&url)))?),
    };
    let points = match row.num_points {
        "" => 1,
        points => points
            .parse::<i64>()
            .ok()
            .with_context(|| format!("num_points {:?} is not a whole number", shortened(points)))?,
    };
    if author.is_empty() || author.chars().count() > 64 || author.contains(is_unfit_for_line) {
        bail!("author {:?} is empty, too long, or contains control characters", shortened(author));
    }
    let story = ImportedStory {
        title,
        url,
        text: None,
        posted: time(row.created_at, zone)?,
        votes: ImportedVotes::default(),
        topics: imported_topics(row.topics),
    };
    Ok(StoryRow {
        line,
        id: id.to_owned(),
        story,
        points: u64::try_from(points.max(1)).unwrap_or(1),
        author: author.to_owned(),
        mended,
    })
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Reads a time: Unix seconds, RFC 3339, `2016-08-04 11:52[:30]`, or
/// `8/4/2016 11:52` (month first). Without a zone of its own it is in `zone`;
/// by default the last form is New York time, which is what the public Hacker
/// News data sets use, and the others UTC.
fn time(text: &str, zone: Option<&TimeZone>) -> anyhow::Result<Timestamp> {
    let seconds = if let Ok(seconds) = text.parse::<i64>() {
        seconds
    } else if let Ok(time) = text.parse::<jiff::Timestamp>() {
        time.as_second()
    } else if let Ok(time) = text.parse::<civil::DateTime>() {
        time.to_zoned(zone.cloned().unwrap_or(TimeZone::UTC))?.timestamp().as_second()
    } else if let Ok(time) = civil::DateTime::strptime("%m/%d/%Y %H:%M", text)
        .or_else(|_| civil::DateTime::strptime("%m/%d/%Y %H:%M:%S", text))
    {
        let zone = match zone {
            Some(zone) => zone.clone(),
            None => TimeZone::get("America/New_York")?,
        };
        time.to_zoned(zone)?.timestamp().as_second()
    } else {
        bail!(
            "created_at {:?} is not a time: write Unix seconds, 2016-08-04T11:52:00Z, 2016-08-04 11:52 or 8/4/2016 11:52",
            shortened(text)
        );
    };
    match u64::try_from(seconds) {
        // The year 2200: a time in other units.
        Ok(seconds) if seconds < 7_258_118_400 => Ok(Timestamp(seconds)),
        _ => bail!("created_at {:?} is not between 1970 and 2200", shortened(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_500_000_000);

    fn read_text(text: &str) -> StoryFile {
        read(Path::new("links.csv"), text.as_bytes(), None, NOW).unwrap()
    }

    #[test]
    fn rows_are_named_by_the_lines_at_which_they_begin() {
        let text = "id,title,url,author,created_at\n\
            1,\"A title\n\n over lines\",,ann,1\n\
            2,No time,,ann,never\n\
            \n\
            3,\"An \"\"author\"\"\",,\"a\nb\",1\n\
            4,No time,,ann,never\n\
            5,Right,,ann,1\n";
        let lines = |text: &str| {
            let read = read_text(text);
            let refused: Vec<u64> = read.refused.iter().map(|(line, _)| *line).collect();
            (refused, read.rows.iter().map(|row| row.line).collect::<Vec<u64>>())
        };
        let expected = (vec![2, 5, 7, 9], vec![10]);
        assert_eq!(lines(text), expected);
        assert_eq!(lines(&text.replace('\n', "\r\n")), expected);
        assert_eq!(lines(&text.replace('\n', "\r")), expected);
    }

    #[test]
    fn what_nobody_could_submit_is_refused() {
        let read = read_text(
            "id,title,url,author,created_at\n\
             1,Later,https://example.com/,ann,1500000001\n\
             2,Now,https://example.com/,ann,1500000000\n\
             3,Login,https://bank.example:secret@evil.example/,ann,1\n\
             4,Name,https://bank.example@evil.example/,ann,1\n\
             5,Turned \u{202e}eltit,https://example.com/,ann,1\n\
             6,Turned,https://example.com/\u{202e},ann,1\n\
             7,Turned,https://example.com/,\u{202e}ann,1\n",
        );
        let reasons: Vec<&str> = read.refused.iter().map(|(_, reason)| reason.as_str()).collect();
        let parts = ["in the future", "password", "user name", "U+202E", "U+202E", "control character"];
        assert_eq!(reasons.len(), parts.len(), "{reasons:?}");
        for (reason, part) in reasons.iter().zip(parts) {
            assert!(reason.contains(part), "{reason}");
        }
        assert_eq!(read.rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["2"]);
    }

    #[test]
    fn times_are_read_in_every_form() {
        for (text, seconds) in [
            ("1470325920", 1_470_325_920),
            ("2016-08-04T15:52:00Z", 1_470_325_920),
            ("2016-08-04T17:52:00+02:00", 1_470_325_920),
            ("2016-08-04 15:52", 1_470_325_920),
            ("2016-08-04 15:52:00", 1_470_325_920),
            // New York, summer and winter time.
            ("8/4/2016 11:52", 1_470_325_920),
            ("1/26/2016 19:30", 1_453_854_600),
        ] {
            assert_eq!(time(text, None).unwrap(), Timestamp(seconds), "{text}");
        }
        assert_eq!(time("8/4/2016 15:52", Some(&TimeZone::UTC)).unwrap(), Timestamp(1_470_325_920));
        for bad in ["", "yesterday", "13/13/2016 11:52", "-1", "1470325920000"] {
            assert!(time(bad, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn columns_are_found_by_name_and_bad_rows_are_refused_with_their_line() {
        let read = read_text(
            "\u{feff}created_at,author,id,extra,title,url,num_points\n\
             8/4/2016 11:52,ann,1,x,\"A, \"\"quoted\"\" title\",Http://Example.com/,386\n\
             8/4/2016 11:52,ann,2,x,No host,http://,1\n\
             8/4/2016 11:52,ann,1,x,Again,http://example.com/,1\n\
             8/4/2016 11:52,ann,3,x,Ask,,\n\
             never,ann,4,x,Bad date,http://example.com/,1\n\
             8/4/2016 11:52,,5,x,No author,http://example.com/,1\n\
             8/4/2016 11:52,ann,6,x,Short row\n\
             8/4/2016 11:52,ann,7,x,Points,http://example.com/,many\n",
        );
        let titles: Vec<_> = read
            .rows
            .iter()
            .map(|row| (row.story.title.as_str(), row.points, row.story.url.is_some()))
            .collect();
        assert_eq!(titles, [("A, \"quoted\" title", 386, true), ("Ask", 1, false)]);
        let lines: Vec<_> = read.refused.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 4, 6, 7, 8, 9]);
    }

    #[test]
    fn a_file_without_the_columns_is_an_error_that_names_one() {
        let error = format!("{:#}", read(Path::new("links.csv"), b"id,title\n1,x\n", None, NOW).unwrap_err());
        assert!(error.contains("no column url"), "{error}");
    }
}
