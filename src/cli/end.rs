//! How the program ends: its last line, and its exit status.
//!
//! | status | |
//! | --- | --- |
//! | 0 | good, or told to stop |
//! | 1 | something differs, was refused or has failed |
//! | 2 | wrong use: the command line, a setting or a variable is wrong |
//! | 70 | a mistake of the program: a panic, or a worker that the server cannot do without |

use super::Cli;
use crate::control::FailedThere;
use crate::{WrongUse, logging};
use anyhow::Context;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;
use tidings_domain::supervision::FAILED;
use tidings_keyspace::OpenError;
use tidings_web::error::in_english;
use tokio::runtime::Runtime;

const GOOD: i32 = 0;
const REFUSED: i32 = 1;
const WRONG_USE: i32 = 2;

/// How long threads may go on with their work when all is done.
const LAST_WORK: Duration = Duration::from_millis(200);

/// Runs a command line, says why it has failed, and returns the exit status. Not generic, so that all of it is compiled
/// with this crate, while others still are.
pub fn run(command_line: Cli) -> i32 {
    status_after(command_line.run())
}

fn status_after(work: impl Future<Output = anyhow::Result<()>>) -> i32 {
    let runtime = match Runtime::new().context("cannot start the threads of the program") {
        Ok(runtime) => runtime,
        Err(error) => return say(of_outcome(Ok(Err(error)))),
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(work)));
    // Nobody waits for what other threads still do, and one may wait for what has panicked.
    runtime.shutdown_timeout(LAST_WORK);
    say(of_outcome(outcome))
}

/// Says why the program ends. Returns its exit status.
fn say((status, message): (i32, Option<String>)) -> i32 {
    if let Some(message) = message {
        logging::say_last(&message);
    }
    status
}

/// The exit status of a command that has ended so, and its message if it has failed.
pub fn of_outcome(outcome: thread::Result<anyhow::Result<()>>) -> (i32, Option<String>) {
    match outcome {
        Ok(Ok(())) => (GOOD, None),
        Ok(Err(error)) => (status_of(&error), Some(message_of(&error))),
        Err(_) => (FAILED, Some("a panic has ended the program: this is a bug".to_owned())),
    }
}

/// An error with its causes, except for causes that it has told itself.
fn message_of(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(in_english).filter(|cause| !cause.is_empty()) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// 2 if the command line, a setting or a variable is wrong, otherwise 1; that of the server if it has run the command.
fn status_of(error: &anyhow::Error) -> i32 {
    if let Some(FailedThere { status, .. }) = error.downcast_ref() {
        return *status;
    }
    let is_wrong_use = error.is::<WrongUse>()
        // The URL in the settings has the right form. This one is of the command line.
        || matches!(error.downcast_ref(), Some(OpenError::Url(_)));
    if is_wrong_use { WRONG_USE } else { REFUSED }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn the_status_says_whether_the_use_was_wrong_or_the_program_is() {
        let wrong_setting = || WrongUse::new("the setting server.listen cannot be used: taken");
        assert_eq!(status_after(async { Ok(()) }), 0);
        assert_eq!(status_after(async { Err(anyhow!("refused")) }), 1);
        assert_eq!(status_after(async { Err(wrong_setting().into()) }), 2);
        assert_eq!(
            status_after(async { Err(anyhow::Error::from(wrong_setting()).context("cannot start")) }),
            2
        );
        assert_eq!(status_after(async { Err(OpenError::Url("nonsense".to_owned()).into()) }), 2);
        assert_eq!(status_after(async { panic!("planted") }), 70);
    }

    #[test]
    fn the_program_does_not_wait_for_work_that_nobody_waits_for() {
        let (begun, begins) = std::sync::mpsc::channel();
        let (_end, ends) = std::sync::mpsc::channel::<()>();
        let status = status_after(async move {
            tokio::task::spawn_blocking(move || {
                begun.send(()).ok();
                // Until the test ends.
                ends.recv().ok();
            });
            tokio::task::spawn_blocking(move || begins.recv()).await??;
            Ok(())
        });
        assert_eq!(status, GOOD);
    }

    #[test]
    fn no_cause_is_told_twice() {
        let absent = || std::fs::read("/no/such").context("cannot read /no/such");
        assert_eq!(
            message_of(&absent().unwrap_err()),
            "cannot read /no/such: No such file or directory (os error 2)"
        );
        let told = absent().unwrap_err();
        let said = format!("no: {told:#}");
        let told = told.context(said);
        assert_eq!(message_of(&told), "no: cannot read /no/such: No such file or directory (os error 2)");
    }
}
