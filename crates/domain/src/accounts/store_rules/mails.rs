//! Rules of mails that wait.

use crate::accounts::outbox::WaitingMail;
use crate::keys::{self, families};
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, score, score_in};
use crate::store_rules::subject::Subject;
use tidings_keyspace::Batch;

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(&families::MAIL_OUTBOX, "a mail that waits says to whom and about what it is", mail),
    Rule::claims(&families::MAIL_WRITTEN, "what was written waits to be sent", written),
];

fn mail(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    if member.parse::<WaitingMail>().is_err() {
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
