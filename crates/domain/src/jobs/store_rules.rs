//! Rules of background jobs.

use crate::keys::{self, families};
use crate::store_rules::{
    Claims, Form, Location, NameIn, Noun, RemoveAs, Subject, claims, form, refers, rules,
};

rules! { pub(crate) RULES:
    "a job in the queue has its progress" =>
        TIMELINE_JOBS: refers(NameIn::Member, "the job {}, which has no progress", PROGRESS,
            RemoveAs("remove the job from the queue"));
    "a job that has progress is in the queue" =>
        TIMELINE_JOB: form(Form::Has(&["step"], |_| true), "the step of a job");
        TIMELINE_JOB: claims(progress);
}

const PROGRESS: Noun =
    Noun("jobs", |_, job| Some(Location::Field(keys::timeline_job(job), "step".to_owned())));

fn progress(subject: &Subject, claims: &mut Claims) {
    if subject.field("step").is_some() {
        claims.of("step").listed(keys::TIMELINE_JOBS, subject.part(), subject.site.now.as_score());
    }
}
