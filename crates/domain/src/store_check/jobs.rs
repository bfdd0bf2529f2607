//! Rules of background jobs and of mails that wait.

use super::claims::{Claims, Fault, Mend, field_in, fields, score_in};
use super::subject::Subject;
use super::{Check, Rule};
use crate::accounts::outbox::Waiting;
use crate::keys::{self, families};
use tidings_keyspace::{Batch, Read};

pub(super) static RULES: &[Rule] = &[
    Rule {
        of: &families::TIMELINE_JOBS,
        sentence: "a job in the queue has its progress",
        check: Check::Claims(queued),
    },
    Rule {
        of: &families::TIMELINE_JOB,
        sentence: "a job that has progress is in the queue",
        check: Check::Claims(progress),
    },
    Rule {
        of: &families::MAIL_OUTBOX,
        sentence: "a mail that waits says to whom and about what it is",
        check: Check::Claims(mail),
    },
    Rule {
        of: &families::MAIL_WRITTEN,
        sentence: "what was written waits to be sent",
        check: Check::Claims(written),
    },
];

fn queued(subject: &Subject, claims: &mut Claims) {
    let Some((name, _)) = subject.member() else { return };
    let (key, name) = (subject.key.clone(), name.to_owned());
    let job = keys::timeline_job(&name);
    let mut batch = Batch::new();
    batch.key_absent(&job);
    batch.sorted_remove(&key, &name);
    claims.add(vec![fields(job, ["step"])], move |answers| {
        let mend = Mend::write(batch.clone(), "remove the job from the queue");
        field_in(answers, 0, 0).is_none().then(|| Fault {
            key: key.clone(),
            found: format!("the job {name}, which has no progress"),
            expected: "jobs with progress".to_owned(),
            mend,
        })
    });
}

fn progress(subject: &Subject, claims: &mut Claims) {
    let Some(hash) = subject.hash() else { return };
    let Some(step) = hash.get("step") else {
        return claims.malformed(&subject.key, "no field step", "a field step");
    };
    let mut guard = Batch::new();
    guard.field_equals(&subject.key, "step", step);
    let now = subject.now.as_score();
    claims.listed(keys::TIMELINE_JOBS.to_owned(), subject.part(), (None, now), &guard);
}

fn mail(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    if member.parse::<Waiting>().is_ok() {
        let mut guard = Batch::new();
        guard.sorted_member_present(&subject.key, member);
        return claims.listed(keys::MAIL_WRITTEN.to_owned(), member, (None, subject.now.as_score()), &guard);
    }
    let mut batch = Batch::new();
    batch.sorted_remove(&subject.key, member);
    claims.wrong(Fault {
        key: subject.key.clone(),
        found: format!("the member {member:?}"),
        expected: "mails".to_owned(),
        mend: Mend::write(batch, "remove the member"),
    });
}

fn written(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    let (key, member) = (subject.key.clone(), member.to_owned());
    let mut batch = Batch::new();
    batch.sorted_member_absent(keys::MAIL_OUTBOX, &member);
    batch.sorted_remove(&key, &member);
    claims.add(vec![Read::Scores(keys::MAIL_OUTBOX.to_owned(), vec![member.clone()])], move |answers| {
        let mend = Mend::write(batch.clone(), "remove the member");
        score_in(answers, 0).is_none().then(|| Fault {
            key: key.clone(),
            found: format!("the mail {member}, which does not wait"),
            expected: "mails that wait".to_owned(),
            mend,
        })
    });
}
