//! Checks of the checksums in a store file, while the store is in use.

use crate::KeyspaceError;
use tokio::sync::mpsc;

/// The result of a check of the store file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// There is no file to check: the store is in memory or on a Redis server.
    NoFile,
    /// Every checksum matches.
    Sound,
    /// The file does not hold what was written to it; this is what the engine says.
    Damaged(String),
    /// The file could not be checked now, for this reason, which continues a sentence.
    Unchecked(String),
}

/// A message of a check: its progress while it runs, and at last its result.
#[derive(Debug)]
pub(crate) enum FileCheckStep {
    /// So many of about so many bytes are read.
    Progress(u64, u64),
    /// The check is over.
    Over(FileState),
}

/// The messages that wait to be taken. Progress for which there is no place is dropped.
const MAX_WAITING_STEPS: usize = 4;

/// A check that runs elsewhere. Dropping it ends the check.
pub(crate) struct FileCheck {
    steps: mpsc::Receiver<Result<FileCheckStep, KeyspaceError>>,
}

impl FileCheck {
    /// A check, and where its steps are sent.
    pub(crate) fn new() -> (mpsc::Sender<Result<FileCheckStep, KeyspaceError>>, Self) {
        let (sender, steps) = mpsc::channel(MAX_WAITING_STEPS);
        (sender, Self { steps })
    }

    /// A check that is over.
    pub(crate) fn over(state: FileState) -> Self {
        let (sender, check) = Self::new();
        // There is a place in a new channel.
        let _ = sender.try_send(Ok(FileCheckStep::Over(state)));
        check
    }

    /// The next step.
    pub(crate) async fn next(&mut self) -> Result<FileCheckStep, KeyspaceError> {
        self.steps.recv().await.unwrap_or_else(|| {
            Err(KeyspaceError::Unavailable("the check of the store file has ended early".to_owned()))
        })
    }
}
