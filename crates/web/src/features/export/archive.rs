//! The zip archive with its two files, while it is being written.

use super::page::Page;
use crate::limits::{EXPORT_BYTES, EXPORT_PLAIN_BYTES, EXPORT_TEXT_BYTES};
use crate::markup::dates::moment;
use crate::settings::SiteSettings;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::io::{self, Cursor, Write};
use std::sync::Arc;
use tidings_domain::exports::{AccountRecord, ExportPart, Record, Section};
use tidings_domain::values::Timestamp;
use zip::result::ZipResult;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// The version of the form of `data.json`.
const FORMAT: u64 = 1;

/// The level of compression, from 1 to 9. A higher one takes much longer and saves little.
const LEVEL: i64 = 4;

/// How much an archive may take.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Bytes of the compressed files.
    compressed: usize,
    /// Bytes of them before stories, comments and tweets are left out.
    texts: usize,
    /// Bytes before compression.
    plain: usize,
}

const BOUNDS: Bounds =
    Bounds { compressed: EXPORT_BYTES, texts: EXPORT_TEXT_BYTES, plain: EXPORT_PLAIN_BYTES };

/// An archive that is being written.
pub(super) struct Archive {
    bounds: Bounds,
    data: File,
    page: File,
    markup: Page,
    /// The section that is being written, and whether it has records.
    section: Option<(Section, bool)>,
    /// How many entries of each section are left out, in their order.
    left_out: Vec<(Section, u64)>,
}

impl Archive {
    /// Starts the two files of an account.
    pub(super) fn begin(account: &AccountRecord, site: &SiteSettings, now: Timestamp) -> ZipResult<Self> {
        let (mut data, mut page) = (File::begin("data.json", now)?, File::begin("index.html", now)?);
        let markup = Page::new(site.clone());
        let about = json!({
            "format": FORMAT,
            "site": {"name": site.name, "url": site.url.as_str()},
            "exported": now,
            "account": account,
        });
        let mut about = about.to_string();
        // The sections follow.
        about.pop();
        data.write(&about)?;
        page.write(&markup.beginning(account, now))?;
        let (section, left_out) = (None, Vec::new());
        Ok(Self { bounds: BOUNDS, data, page, markup, section, left_out })
    }

    /// Takes the bytes of the archive that were written since the last call.
    pub(super) fn take_written(&self) -> Vec<u8> {
        self.data.compressed.take()
    }

    /// Adds a part. Records that do not fit are counted.
    pub(super) fn add(&mut self, part: ExportPart) -> ZipResult<()> {
        let ExportPart { section, records, mut left_out } = part;
        if self.section.is_none_or(|(current, _)| current != section) {
            self.end_section()?;
            self.data.write(&format!(",\n\"{}\":[", section.name()))?;
            self.page.write(&Page::section_beginning(section))?;
            self.section = Some((section, false));
        }
        for record in records {
            if self.is_full(section) {
                left_out += 1;
            } else {
                self.write_record(&record)?;
            }
        }
        if left_out > 0 {
            match self.left_out.last_mut().filter(|(last, _)| *last == section) {
                Some((_, count)) => *count += left_out,
                None => self.left_out.push((section, left_out)),
            }
        }
        Ok(())
    }

    /// Ends both files and puts them into one archive. Returns what is left of it.
    pub(super) fn finish(mut self) -> ZipResult<Vec<u8>> {
        self.end_section()?;
        let left_out: serde_json::Map<String, Value> =
            self.left_out.iter().map(|(section, count)| (section.name().to_owned(), json!(count))).collect();
        self.data.write(&format!(",\n\"left_out\":{}}}\n", Value::Object(left_out)))?;
        self.page.write(Page::END)?;
        self.page.zip.finish()?;
        let page = ZipArchive::new(Cursor::new(self.page.compressed.take()))?;
        let mut archive = self.data.zip;
        archive.merge_archive(page)?;
        archive.finish()?;
        Ok(self.data.compressed.take())
    }

    fn end_section(&mut self) -> ZipResult<()> {
        let Some((section, has_records)) = self.section.take() else {
            return Ok(());
        };
        let left_out =
            self.left_out.last().filter(|(last, _)| *last == section).map_or(0, |(_, count)| *count);
        self.data.write("]")?;
        self.page.write(&Page::section_end(has_records, left_out))
    }

    fn write_record(&mut self, record: &Record) -> ZipResult<()> {
        let json = serde_json::to_string(record).map_err(io::Error::other)?;
        if let Some((_, has_records)) = &mut self.section {
            self.data.write(if *has_records { ",\n" } else { "\n" })?;
            *has_records = true;
        }
        self.data.write(&json)?;
        self.page.write(&self.markup.record(record))
    }

    /// Whether nothing more of a section fits.
    fn is_full(&self, section: Section) -> bool {
        let is_text = matches!(section, Section::Stories | Section::Comments | Section::Tweets);
        let most = if is_text { self.bounds.texts } else { self.bounds.compressed };
        let compressed = self.data.compressed() + self.page.compressed();
        compressed >= most || self.data.plain + self.page.plain >= self.bounds.plain
    }
}

/// A file that is being compressed.
struct File {
    zip: ZipWriter<StreamWriter<Outgoing>>,
    plain: usize,
    compressed: Outgoing,
}

impl File {
    fn begin(name: &str, now: Timestamp) -> ZipResult<Self> {
        let compressed = Outgoing::default();
        let mut zip = ZipWriter::new_stream(compressed.clone());
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(LEVEL))
            .last_modified_time(modified(now))
            .unix_permissions(0o600);
        zip.start_file(name, options)?;
        Ok(Self { zip, plain: 0, compressed })
    }

    fn write(&mut self, text: &str) -> ZipResult<()> {
        self.plain += text.len();
        Ok(self.zip.write_all(text.as_bytes())?)
    }

    fn compressed(&self) -> usize {
        self.compressed.0.lock().total
    }
}

/// The time of a file in an archive, which has no time zone: that of UTC.
fn modified(now: Timestamp) -> DateTime {
    let time = moment(now).to_zoned(jiff::tz::TimeZone::UTC);
    let part = |number: i8| u8::try_from(number).unwrap_or(0);
    let year = u16::try_from(time.year()).unwrap_or(0);
    let [month, day] = [time.month(), time.day()].map(part);
    let [hour, minute, second] = [time.hour(), time.minute(), time.second()].map(part);
    DateTime::from_date_and_time(year, month, day, hour, minute, second).unwrap_or_default()
}

/// A buffer that is emptied from outside, and says how much was written.
#[derive(Debug, Clone, Default)]
struct Outgoing(Arc<Mutex<Written>>);

#[derive(Debug, Default)]
struct Written {
    /// The bytes written since the last `take`.
    buffer: Vec<u8>,
    /// How many bytes were written in all.
    total: usize,
}

impl Outgoing {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().buffer)
    }
}

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = self.0.lock();
        written.buffer.extend_from_slice(bytes);
        written.total += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::settings;
    use std::io::Read;
    use tidings_domain::exports::{TopicRecord, TweetRecord};
    use tidings_domain::values::{TweetId, UserId};

    const NOW: Timestamp = Timestamp(1_800_000_000);

    fn account() -> AccountRecord {
        AccountRecord {
            id: UserId(1),
            username: "alice".to_owned(),
            about: "</section><script>alert(1)</script>".to_owned(),
            ..AccountRecord::default()
        }
    }

    fn tweet(id: u64, text: &str) -> Record {
        let text = text.to_owned();
        Record::Tweet(TweetRecord { id: TweetId(id), time: NOW, text, news_id: None, withheld: None })
    }

    fn part(section: Section, records: Vec<Record>) -> ExportPart {
        ExportPart { section, records, left_out: 0 }
    }

    /// The files of an archive with these parts: the data and the page.
    fn files(bounds: Bounds, parts: Vec<ExportPart>) -> (Value, String, usize) {
        let mut archive = Archive::begin(&account(), &settings().site, NOW).unwrap();
        archive.bounds = bounds;
        let mut bytes = Vec::new();
        for part in parts {
            archive.add(part).unwrap();
            bytes.extend(archive.take_written());
        }
        bytes.extend(archive.finish().unwrap());
        let size = bytes.len();
        let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
        assert_eq!(zip.len(), 2);
        let mut text = |name: &str| {
            let mut text = String::new();
            zip.by_name(name).unwrap().read_to_string(&mut text).unwrap();
            text
        };
        (serde_json::from_str(&text("data.json")).unwrap(), text("index.html"), size)
    }

    #[test]
    fn the_parts_of_a_section_are_one_list_and_an_empty_section_an_empty_one() {
        let parts = vec![
            part(Section::Stories, Vec::new()),
            part(Section::Tweets, vec![tweet(2, "two")]),
            part(Section::Tweets, vec![tweet(1, "one")]),
        ];
        let (data, page, _) = files(BOUNDS, parts);
        assert_eq!(data["stories"], json!([]));
        let ids: Vec<&Value> = data["tweets"].as_array().unwrap().iter().map(|tweet| &tweet["id"]).collect();
        assert_eq!(ids, [&json!(2), &json!(1)]);
        assert_eq!((&data["account"]["username"], &data["exported"]), (&json!("alice"), &json!(NOW)));
        assert_eq!(data["left_out"], json!({}));
        assert!(page.contains("one") && page.ends_with("</html>\n"), "{page}");
        assert!(!page.contains("<script"), "{page}");
    }

    #[test]
    fn an_archive_has_a_cap_and_says_what_it_leaves_out() {
        // The output of a random generator can hardly be compressed.
        let mut state = 7_u64;
        let mut noise = || -> String {
            (0..1_000)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
                })
                .collect()
        };
        let tweets = (0..400).map(|id| tweet(id + 1, &noise())).collect();
        let topic = TopicRecord { topic: "rust".to_owned(), since: NOW };
        let bounds = Bounds { compressed: 240_000, texts: 160_000, plain: 10_000_000 };
        let parts =
            vec![part(Section::Tweets, tweets), part(Section::FollowedTopics, vec![Record::Topic(topic)])];
        let (data, page, size) = files(bounds, parts);
        let kept = data["tweets"].as_array().unwrap().len();
        assert!((20..390).contains(&kept), "{kept}");
        assert_eq!(data["left_out"]["tweets"], json!(400 - kept));
        assert!(page.contains("left out"), "{page}");
        // The buffers of the two compressors are written when the files end.
        assert!((160_000..400_000).contains(&size), "{size}");
        assert_eq!(data["topics_followed"][0]["topic"], "rust", "there is room for the rest");

        let plain = Bounds { plain: 5_000, ..BOUNDS };
        let tweets = (0..400).map(|id| tweet(id + 1, "again and again")).collect();
        let (data, ..) = files(plain, vec![part(Section::Tweets, tweets)]);
        assert!(data["left_out"]["tweets"].as_u64().unwrap() > 350, "{}", data["left_out"]);
    }
}
