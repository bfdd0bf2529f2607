//! Jobs that are stopped for a time, and go on from where they were.

use super::{Job, STEP, first_step, remove};
use crate::keys;
use crate::queue::Lane;
use crate::values::clock::Moment;
use tidings_keyspace::{Batch, Fetch, Hash, read};

/// A job that is stopped for a time.
pub(crate) struct Paused {
    job: Job,
    hash: Hash,
}

impl Paused {
    /// A job that is to be stopped for a time, if there is one.
    pub(crate) fn of(job: Job) -> impl Fetch<Value = Option<Self>> {
        read::hash(keys::timeline_job(&job.0)).map(|hash| (!hash.is_empty()).then_some(Self { job, hash }))
    }

    /// How far it is, as text for [`resume`]: a line for each field.
    pub(crate) fn progress(&self) -> String {
        let fields = self.hash.0.iter().filter(|(field, _)| field != STEP);
        fields.map(|(field, value)| format!("{field} {value}")).collect::<Vec<_>>().join("\n")
    }

    /// Adds to a batch that the job stops. The batch is rejected if it has advanced meanwhile.
    pub(crate) fn write(&self, batch: &mut Batch) {
        batch.field_unchanged(keys::timeline_job(&self.job.0), STEP, self.hash.get(STEP));
        remove(batch, &self.job);
    }
}

/// Adds to a batch that a stopped job goes on from where it was.
pub(crate) fn resume(batch: &mut Batch, job: &Job, progress: &str, now: Moment) {
    let key = keys::timeline_job(&job.0);
    batch.set_field(&key, STEP, first_step(now).to_string());
    batch.set_fields(&key, progress.lines().filter_map(|line| line.split_once(' ')));
    Lane::JOBS.write(batch, &job.0, now.as_score());
}
