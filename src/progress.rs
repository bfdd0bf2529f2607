//! Progress on the terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar on standard error; hidden if that is not a terminal.
pub fn progress_bar(total: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(total).with_message(what);
    // The template is a constant that parses.
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}") {
        bar.set_style(style);
    }
    bar
}
