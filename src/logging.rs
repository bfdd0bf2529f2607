//! The log: lines of text or of JSON on standard error, each with the id of its request.

use crate::WrongUse;
use crate::config::{LOG_VARIABLE, LogFormat};
use serde_json::{Map, Value, json};
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::str::FromStr;
use std::sync::OnceLock;
use tidings_web::server::request_id;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{Format, Json, JsonFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// The field with the id of the request that a line is about.
const REQUEST_ID: &str = "request_id";
/// The parts that log: the crates of the program, and what others write for them.
const PARTS: [&str; 6] =
    ["tidings", "tidings_web", "tidings_domain", "tidings_keyspace", "tidings_supervision", "rustls"];
/// The level of parts that `TIDINGS_LOG` does not name.
pub const DEFAULT_LEVEL: LevelFilter = LevelFilter::INFO;
/// A crate that logs malformed passkeys, which strangers can send, as errors. The site counts them as failed logins.
const LOGS_STRANGERS: &str = "webauthn_rs_core";

/// How the last line of the program looks, once that is known.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Logs to standard error from now on, by default from a level up. `TIDINGS_LOG` sets
/// another level, for example `TIDINGS_LOG=debug`.
///
/// # Errors
/// When `TIDINGS_LOG` is wrong.
pub fn start(format: LogFormat, level: LevelFilter) -> Result<(), WrongUse> {
    set_format(format);
    let filter = std::env::var_os(LOG_VARIABLE).unwrap_or_default();
    let filter = filter_of(&filter.to_string_lossy(), level)?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        // When nobody reads standard error any more, saying so there would panic.
        .log_internal_errors(false)
        .with_ansi(format == LogFormat::Text && io::stderr().is_terminal());
    let log = tracing_subscriber::registry().with(filter);
    match format {
        LogFormat::Text => log.with(lines.event_format(TextLine(Format::default()))).init(),
        LogFormat::Json => {
            log.with(lines.fmt_fields(JsonFields::new()).event_format(JsonLine(json()))).init();
        }
    }
    Ok(())
}

/// Says how the last line of the program must look. The first call counts.
pub fn set_format(format: LogFormat) {
    // It was known before.
    FORMAT.set(format).ok();
}

/// Says on standard error why the program ends, whatever `TIDINGS_LOG` says.
pub fn say_last(message: &str) {
    let line = match FORMAT.get() {
        Some(LogFormat::Json) => last_line(message).to_string(),
        Some(LogFormat::Text) | None => format!("tidings: {message}"),
    };
    // Perhaps nobody reads it any more.
    writeln!(io::stderr(), "{line}").ok();
}

/// A line with the members of all others.
fn last_line(message: &str) -> Value {
    let mut time = String::new();
    // Writing to a string does not fail.
    SystemTime.format_time(&mut Writer::new(&mut time)).ok();
    json!({"timestamp": time, "level": "ERROR", "message": message, "target": "tidings"})
}

/// The filter for a value of `TIDINGS_LOG`: levels, each for a part or for all others.
fn filter_of(text: &str, level: LevelFilter) -> Result<Targets, WrongUse> {
    let mut filter = Targets::new().with_default(level).with_target(LOGS_STRANGERS, LevelFilter::OFF);
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let wrong = || {
            WrongUse::new(format!(
                "{LOG_VARIABLE} has {part:?}, expected off, error, warn, info, debug or trace, or a part of the \
                 program ({}) with one of these, as in {LOG_VARIABLE}=debug or \
                 {LOG_VARIABLE}=info,tidings_keyspace=debug",
                PARTS.join(", ")
            ))
        };
        filter = match part.split_once('=') {
            None => filter.with_default(level_of(part).ok_or_else(wrong)?),
            Some((target, level)) => {
                let (target, level) = (target.trim(), level_of(level.trim()));
                filter.with_target(target, level.filter(|_| is_target(target)).ok_or_else(wrong)?)
            }
        };
    }
    Ok(filter)
}

/// A level by its name; not by its number, which nobody could read.
fn level_of(name: &str) -> Option<LevelFilter> {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphabetic()) && !name.is_empty();
    LevelFilter::from_str(name).ok().filter(|_| is_name)
}

/// Whether this can be the name of a part, such as `tidings_keyspace::redb`: one of [`PARTS`], or
/// something in it.
fn is_target(text: &str) -> bool {
    let may_have = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
    PARTS.contains(&text.split("::").next().unwrap_or_default()) && text.bytes().all(may_have)
}

/// Spans are left to [`JsonLine`]: one that has a field called `name` would have that member twice.
fn json() -> Format<Json> {
    Format::default().json().flatten_event(true).with_current_span(false).with_span_list(false)
}

/// A line of text, with the id of the request at its end.
struct TextLine(Format);

/// A line of JSON: one flat object without the same member twice, with the fields of the spans that
/// it is in, and the id of the request as its last member.
struct JsonLine(Format<Json>);

impl<S, N> FormatEvent<S, N> for TextLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(id) = request_id::current() else {
            return self.0.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        writeln!(writer, "{} {REQUEST_ID}={id}", line.trim_end())
    }
}

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        // Reading it leaves one of each member.
        let Ok(mut members) = serde_json::from_str::<Map<String, Value>>(&line) else {
            return writer.write_str(&line);
        };
        // The members of the line itself take precedence, and then those of the innermost span.
        let spans = context.event_scope().into_iter().flatten();
        for span in spans {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>().map(|fields| fields.fields.as_str());
            let fields: Map<String, Value> =
                serde_json::from_str(fields.unwrap_or_default()).unwrap_or_default();
            for (name, value) in fields {
                members.entry(name).or_insert(value);
            }
        }
        if let Some(id) = request_id::current() {
            members.insert(REQUEST_ID.to_owned(), id.to_string().into());
        }
        writeln!(writer, "{}", Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};
    use tidings_web::server::request_id::RequestId;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines of two events, the second within a request.
    fn logged(subscriber: impl FnOnce(Lines) -> Box<dyn Subscriber + Send + Sync>) -> (Vec<String>, String) {
        let (lines, id) = (Lines::default(), RequestId::new());
        tracing::subscriber::with_default(subscriber(lines.clone()), || {
            tracing::info!(count = 3, text = "a \"quoted\"\nword", "first");
            id.clone().sync_scope(|| tracing::warn!(target: "audit", who = "alice", "second"));
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        (text.lines().map(str::to_owned).collect(), id.to_string())
    }

    #[test]
    fn a_line_of_text_ends_with_the_id_of_its_request() {
        let (lines, id) = logged(|lines| {
            let writer = move || lines.clone();
            let log = tracing_subscriber::fmt().with_ansi(false).with_writer(writer);
            Box::new(log.event_format(TextLine(Format::default().with_ansi(false))).finish())
        });
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains(" INFO ") && !lines[0].contains(REQUEST_ID), "{lines:?}");
        assert!(lines[1].contains(" WARN audit: second who=\"alice\""), "{lines:?}");
        assert!(lines[1].ends_with(&format!(" request_id={id}")), "{lines:?}");
    }

    /// A log of objects.
    fn log_of_json(lines: Lines) -> Box<dyn Subscriber + Send + Sync> {
        let log = tracing_subscriber::fmt().with_writer(move || lines.clone());
        Box::new(log.fmt_fields(JsonFields::new()).event_format(JsonLine(json())).finish())
    }

    #[test]
    fn a_line_of_json_is_one_object() {
        let (lines, id) = logged(log_of_json);
        let [first, second]: [serde_json::Value; 2] =
            [0, 1].map(|line: usize| serde_json::from_str(&lines[line]).unwrap());
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(first["message"], "first");
        assert_eq!((&first["level"], &first["count"]), (&"INFO".into(), &3.into()));
        assert_eq!(first["text"], "a \"quoted\"\nword");
        assert_eq!(first.get(REQUEST_ID), None);
        assert_eq!((&second["target"], &second["who"]), (&"audit".into(), &"alice".into()));
        assert_eq!(second[REQUEST_ID], id);
        assert!(second["timestamp"].is_string(), "{second}");
    }

    #[test]
    fn the_fields_of_spans_are_members_and_none_is_there_twice() {
        let lines = Lines::default();
        tracing::subscriber::with_default(log_of_json(lines.clone()), || {
            let _outer = tracing::info_span!("background", worker = "jobs", name = "x").entered();
            let _inner = tracing::info_span!("background", worker = "job").entered();
            tracing::info!("one");
            tracing::info!(worker = "another", "two");
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        for (line, worker) in text.lines().zip(["job", "another"]) {
            let read: Value = serde_json::from_str(line).unwrap();
            assert_eq!((&read["worker"], &read["name"]), (&worker.into(), &"x".into()), "{line}");
            assert_eq!(line.matches("\"worker\":").count(), 1, "{line}");
        }
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn the_last_line_has_the_members_of_the_others() {
        let (lines, _) = logged(log_of_json);
        let first: Map<String, Value> = serde_json::from_str(&lines[0]).unwrap();
        let last = last_line("cannot \"start\"");
        for (name, value) in last.as_object().unwrap() {
            assert!(first.contains_key(name), "{name}");
            assert!(value.is_string(), "{name}");
        }
        let form = |time: &Value| time.as_str().unwrap().replace(|c: char| c.is_ascii_digit(), "0");
        assert_eq!(form(&last["timestamp"]), form(&first["timestamp"]));
        assert_eq!(last["message"], "cannot \"start\"");
    }

    #[test]
    fn a_filter_is_levels_for_parts_and_for_the_rest() {
        use tracing::Level;
        for (text, target, shown, hidden) in [
            ("", "tidings", Some(Level::INFO), Some(Level::DEBUG)),
            (" , ", "tidings", Some(Level::INFO), Some(Level::DEBUG)),
            ("debug", "tidings_web::features::timelines::live", Some(Level::DEBUG), Some(Level::TRACE)),
            ("WARN", "audit", Some(Level::WARN), Some(Level::INFO)),
            ("info,tidings_keyspace=debug", "tidings_keyspace::redb", Some(Level::DEBUG), Some(Level::TRACE)),
            ("warn, tidings_keyspace::redb = trace", "tidings_keyspace::redb", Some(Level::TRACE), None),
            // A filter that names one part leaves the others at the default level.
            ("tidings_keyspace=debug", "tidings_web", Some(Level::INFO), Some(Level::DEBUG)),
            ("off", "tidings", None, Some(Level::ERROR)),
        ] {
            let filter = filter_of(text, DEFAULT_LEVEL).unwrap();
            assert!(shown.is_none_or(|level| filter.would_enable(target, &level)), "{text:?}");
            assert!(!hidden.is_some_and(|level| filter.would_enable(target, &level)), "{text:?}");
        }
    }

    #[test]
    fn a_wrong_filter_is_named_with_what_is_right() {
        for (text, part) in [
            ("verbose", "verbose"),
            ("info,x=nope", "x=nope"),
            ("info,=debug", "=debug"),
            ("tidings=", "tidings="),
            ("3", "3"),
            ("info;debug", "info;debug"),
            ("tidings[jobs]=debug", "tidings[jobs]=debug"),
            ("tidings_foo=debug", "tidings_foo=debug"),
            ("warn,tidings_key=debug", "tidings_key=debug"),
        ] {
            let message = filter_of(text, DEFAULT_LEVEL).unwrap_err().to_string();
            assert!(message.starts_with(&format!("TIDINGS_LOG has \"{part}\", expected ")), "{message}");
            assert!(message.contains("TIDINGS_LOG=info,tidings_keyspace=debug"), "{message}");
        }
    }
}
