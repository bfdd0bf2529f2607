//! `tidings check store`: looks for inconsistencies in the stored data.

use crate::cli::Here;
use crate::cli::terminal::{complain, print, progress_bar};
use anyhow::bail;
use clap::Args;
use indicatif::ProgressBar;
use std::fmt::Write;
use std::time::{Duration, Instant};
use tidings_domain::Site;
use tidings_domain::store_check::{self, Difference, Part, Progress, StoreReport, Totals};
use tidings_domain::values::Moment;
use tidings_domain::values::text::printable;
use tidings_domain::values::words::{counted, grouped};
use tidings_keyspace::EngineClock;

/// How often a line says how far the check is, where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// The options of `tidings check store`.
#[derive(Debug, Args)]
pub struct CheckStore {
    /// Repair lists, counters and indexes that differ from the records.
    #[arg(long)]
    repair: bool,
    /// Print JSON, for programs.
    #[arg(long)]
    json: bool,
}

impl CheckStore {
    /// Checks the whole store and prints what differs.
    ///
    /// # Errors
    /// When the store fails, or something differs and is not mended.
    pub(super) async fn run(self, here: &Here) -> anyhow::Result<()> {
        tell(&check_site(&here.site().await?, Part::Whole, self.repair).await?, self.json)
    }
}

/// The options of a check of a part of the store.
#[derive(Debug, Args)]
pub struct CheckPart {
    /// Repair what differs.
    #[arg(long)]
    repair: bool,
}

impl CheckPart {
    /// Checks the part and prints how much differs.
    ///
    /// # Errors
    /// When the store fails, or something differs and is not mended.
    pub(super) async fn run(self, here: &Here, part: Part) -> anyhow::Result<()> {
        let report = check_site(&here.site().await?, part, self.repair).await?;
        print(&totals_in_words(part, &report))?;
        demand_mended(report.totals)
    }
}

/// Prints a report.
///
/// # Errors
/// When something differs and is not mended.
pub(super) fn tell(report: &StoreReport, json: bool) -> anyhow::Result<()> {
    if json {
        say!("{}", serde_json::to_string(report)?);
    } else {
        print(&text_of(report))?;
    }
    demand_mended(report.totals)
}

fn demand_mended(totals: Totals) -> anyhow::Result<()> {
    match failure(totals) {
        Some(message) => bail!(message),
        None => Ok(()),
    }
}

/// Checks a part of the store of a site, and shows how far it is.
///
/// # Errors
/// When the store fails.
pub(super) async fn check_site(site: &Site, part: Part, repair: bool) -> anyhow::Result<StoreReport> {
    let keys = site.store.count_keys().await?;
    let bar = progress_bar(keys, "checking keys");
    let now = Moment::now(&EngineClock::System);
    let mut told = Instant::now();
    let show = |progress| {
        show(&bar, keys, progress);
        // Where no terminal shows the bar.
        if bar.is_hidden() && told.elapsed() >= BETWEEN_LINES {
            told = Instant::now();
            let (done, all) = (bar.position(), bar.length().unwrap_or(keys));
            complain(&format!("{}: {} of {}", bar.message(), grouped(done), grouped(all)));
        }
    };
    Ok(store_check::check(site, part, now, repair, show).await?)
}

/// Shows how far the check is.
fn show(bar: &ProgressBar, keys: u64, progress: Progress) {
    match progress {
        Progress::File(read, all) => {
            bar.set_message("checking the file");
            bar.set_length(all);
            bar.set_position(read);
        }
        Progress::Walk(purpose) => {
            bar.reset();
            bar.set_length(keys);
            bar.set_message(purpose);
        }
        Progress::Keys(keys) => bar.inc(keys),
    }
}

fn differences(count: u64) -> String {
    counted(count, "difference", "differences")
}

/// The message about the differences that are left; `None` if there are none.
fn failure(totals: Totals) -> Option<String> {
    let parts: Vec<String> = [
        (totals.mendable, "will be mended with --repair"),
        (totals.changed, "changed meanwhile: run the command again"),
        (totals.person, "for a person: see docs/troubleshooting.md, Checks"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{} {what}", grouped(count)))
    .collect();
    (totals.left() > 0).then(|| format!("{} left: {}", differences(totals.left()), parts.join(", ")))
}

/// The last line of the report: how many differences there are, and what becomes of them.
fn totals_in_words(part: Part, report: &StoreReport) -> String {
    let totals = report.totals;
    let name = match part {
        Part::Whole | Part::Keys => "store",
        Part::Articles => "articles",
        Part::Timelines => "timelines",
    };
    let mut text = format!("{name}: {} checked, ", counted(report.keys, "key", "keys"));
    if totals.all() == 0 {
        return text + "no differences\n";
    }
    let person = if totals.person == 1 { "needs a person" } else { "need a person" };
    let parts = [
        (totals.mendable > 0 || totals.mended == 0, totals.mendable, "will be mended with --repair"),
        (totals.mended > 0, totals.mended, "mended"),
        (totals.changed > 0, totals.changed, "changed meanwhile"),
        (true, totals.person, person),
    ];
    let parts = parts.into_iter().filter(|(is_shown, ..)| *is_shown);
    let parts: Vec<String> = parts.map(|(_, count, what)| format!("{} {what}", grouped(count))).collect();
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}, of which {}", differences(totals.all()), parts.join(", "));
    text
}

/// The report for people.
fn text_of(report: &StoreReport) -> String {
    let mut text = String::new();
    for difference in &report.differences {
        let Difference { key, found, expected, rule, .. } = difference;
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{}: {rule}\n  found:    {}\n  expected: {}\n  {}",
            printable(key.clone()),
            printable(found.clone()),
            printable(expected.clone()),
            printable(difference.repair()),
        );
    }
    if report.further() > 0 {
        let _ = writeln!(text, "{} more.", differences(report.further()));
    }
    if report.strangers > 0 {
        let named = report.named_strangers.iter().map(|key| printable(key.clone()));
        let _ = writeln!(
            text,
            "Note: {} not of this site, such as {}.",
            counted(report.strangers, "key is", "keys are"),
            named.collect::<Vec<_>>().join(", "),
        );
    }
    if let Some(reason) = &report.unchecked_file {
        let _ = writeln!(text, "Note: the file of the store was not checked: {}.", printable(reason.clone()));
    }
    if report.unsettled > 0 {
        let _ = writeln!(
            text,
            "Note: {} changed too often to be judged. Run the command again.",
            counted(report.unsettled, "thing", "things"),
        );
    }
    text + &totals_in_words(Part::Whole, report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_domain::store_check::Outcome;

    fn report(outcomes: &[Outcome]) -> StoreReport {
        let mut report = StoreReport { keys: 1_200, ..StoreReport::default() };
        for outcome in outcomes {
            report.differences.push(Difference {
                key: "news:1".to_owned(),
                found: "up 2".to_owned(),
                expected: "up 1\u{1b}[2J".to_owned(),
                advice: "change the field up to 1".to_owned(),
                rule: "the counters of a story are the numbers of its voters",
                outcome: *outcome,
            });
            let totals = &mut report.totals;
            *match outcome {
                Outcome::Mendable => &mut totals.mendable,
                Outcome::Mended => &mut totals.mended,
                Outcome::Person => &mut totals.person,
                Outcome::Changed => &mut totals.changed,
            } += 1;
        }
        report
    }

    #[test]
    fn the_report_says_what_differs_and_what_is_not_ours() {
        let mut report = StoreReport { strangers: 2, ..report(&[Outcome::Mended]) };
        report.named_strangers.push("other".to_owned());
        let text = text_of(&report);
        for line in [
            "news:1: the counters of a story are the numbers of its voters",
            "  found:    up 2",
            "  expected: up 1[2J",
            "  mended: change the field up to 1",
            "Note: 2 keys are not of this site, such as other.",
            "store: 1,200 keys checked, 1 difference, of which 1 mended, 0 need a person",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line:?} in\n{text}");
        }
        assert_eq!(failure(report.totals), None);
    }

    #[test]
    fn the_totals_add_up_and_say_what_is_left() {
        use Outcome::{Changed, Mendable, Mended, Person};
        for (outcomes, total, left) in [
            (&[][..], "no differences", None),
            (
                &[Mendable, Person, Mendable],
                "3 differences, of which 2 will be mended with --repair, 1 needs a person",
                Some(
                    "3 differences left: 2 will be mended with --repair, 1 for a person: see docs/troubleshooting.md, Checks",
                ),
            ),
            (
                &[Person, Person],
                "2 differences, of which 0 will be mended with --repair, 2 need a person",
                Some("2 differences left: 2 for a person: see docs/troubleshooting.md, Checks"),
            ),
            (
                &[Mended, Changed, Person],
                "3 differences, of which 1 mended, 1 changed meanwhile, 1 needs a person",
                Some(
                    "2 differences left: 1 changed meanwhile: run the command again, 1 for a person: see docs/troubleshooting.md, Checks",
                ),
            ),
        ] {
            let report = report(outcomes);
            assert_eq!(
                totals_in_words(Part::Whole, &report),
                format!("store: 1,200 keys checked, {total}\n")
            );
            assert_eq!(failure(report.totals).as_deref(), left);
        }
    }
}
