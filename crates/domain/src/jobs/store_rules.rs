//! Rules of background jobs.

use crate::keys::{self, families};
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, Mend, field_in, fields};
use crate::store_rules::subject::Subject;
use tidings_keyspace::Batch;

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(&families::TIMELINE_JOBS, "a job in the queue has its progress", queued),
    Rule::claims(&families::TIMELINE_JOB, "a job that has progress is in the queue", progress),
];

fn queued(subject: &Subject, claims: &mut Claims) {
    let Some((name, _)) = subject.member() else { return };
    let (name, job) = (name.to_owned(), keys::timeline_job(name));
    let mut batch = subject.removal();
    batch.key_absent(&job);
    let mend = Mend::write(batch, "remove the job from the queue");
    claims.expects("jobs with progress", vec![fields(job, ["step"])], move |answers| {
        let found = || (format!("the job {name}, which has no progress"), mend.clone());
        field_in(answers, 0, 0).is_none().then(found)
    });
}

fn progress(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let Some(step) = hash.get("step") else {
        return claims.malformed("no field step", "a field step");
    };
    let mut guard = Batch::new();
    guard.field_equals(&subject.key, "step", step);
    let now = subject.now.as_score();
    claims.listed(keys::TIMELINE_JOBS.to_owned(), subject.part(), (None, now), &guard);
}
