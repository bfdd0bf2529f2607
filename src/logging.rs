//! The log: lines of text or of JSON on standard error, each with the id of its request.

use crate::config::LogFormat;
use std::fmt;
use std::io::{self, IsTerminal};
use tidings_web::request_id;
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{Format, Json, JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The field with the id of the request that a line is about.
const REQUEST_ID: &str = "request_id";

/// Logs to standard error from now on, by default from the level `info` up. `TIDINGS_LOG` sets
/// another level, for example `TIDINGS_LOG=debug`.
pub fn start(format: LogFormat) {
    let filter = EnvFilter::builder().with_env_var("TIDINGS_LOG").try_from_env();
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        // When nobody reads standard error any more, saying so there would panic.
        .log_internal_errors(false)
        .with_ansi(format == LogFormat::Text && io::stderr().is_terminal());
    match format {
        LogFormat::Text => log.event_format(TextLine(Format::default())).init(),
        LogFormat::Json => log.fmt_fields(JsonFields::new()).event_format(JsonLine(json())).init(),
    }
}

fn json() -> Format<Json> {
    Format::default().json().flatten_event(true).with_current_span(false)
}

/// A line of text, with the id of the request at its end.
struct TextLine(Format);

/// A line of JSON, with the id of the request as its last member.
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
        // The id has only characters that stand for themselves.
        match (request_id::current(), line.trim_end().strip_suffix('}')) {
            (Some(id), Some(open)) => writeln!(writer, "{open},\"{REQUEST_ID}\":\"{id}\"}}"),
            _ => writer.write_str(&line),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::{Arc, Mutex};
    use tidings_web::request_id::RequestId;

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

    #[test]
    fn a_line_of_json_is_one_object() {
        let (lines, id) = logged(|lines| {
            let writer = move || lines.clone();
            let log = tracing_subscriber::fmt().with_ansi(false).with_writer(writer);
            Box::new(log.fmt_fields(JsonFields::new()).event_format(JsonLine(json())).finish())
        });
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
}
