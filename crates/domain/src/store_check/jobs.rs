//! Rules of background jobs and of mails that wait.

use super::Rule;
use super::claims::{Claims, Mend, field_in, fields, score, score_in};
use super::subject::Subject;
use crate::accounts::outbox::Waiting;
use crate::keys::{self, families};
use tidings_keyspace::Batch;

pub(super) static RULES: &[Rule] = &[
    Rule::claims(&families::TIMELINE_JOBS, "a job in the queue has its progress", queued),
    Rule::claims(&families::TIMELINE_JOB, "a job that has progress is in the queue", progress),
    Rule::claims(&families::MAIL_OUTBOX, "a mail that waits says to whom and about what it is", mail),
    Rule::claims(&families::MAIL_WRITTEN, "what was written waits to be sent", written),
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

fn mail(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    if member.parse::<Waiting>().is_err() {
        return claims.unreadable("mails");
    }
    let mut guard = Batch::new();
    guard.sorted_member_present(&subject.key, member);
    claims.listed(keys::MAIL_WRITTEN.to_owned(), member, (None, subject.now.as_score()), &guard);
}

fn written(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    let member = member.to_owned();
    claims.belongs("mails that wait", vec![score(keys::MAIL_OUTBOX, &member)], move |answers, batch| {
        batch.sorted_member_absent(keys::MAIL_OUTBOX, &member);
        score_in(answers, 0).is_none().then(|| format!("the mail {member}, which does not wait"))
    });
}
