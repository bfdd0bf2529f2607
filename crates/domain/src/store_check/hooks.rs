//! Rules of webhooks, and of what waits for them.

use super::claims::{Claims, Fault, Mend, field_in, fields};
use super::subject::Subject;
use super::{Check, Rule};
use crate::hooks::{Event, Message};
use crate::keys::{self, families};
use crate::values::hook::{Hook, HookResult};
use crate::values::ids::HookId;
use tidings_keyspace::Batch;

pub(super) static RULES: &[Rule] = &[
    Rule { of: &families::HOOKS, sentence: "a webhook can be read", check: Check::Claims(hook) },
    Rule {
        of: &families::HOOK_EVENTS,
        sentence: "an event says what has happened",
        check: Check::Claims(event),
    },
    Rule {
        of: &families::HOOK_OUTBOX,
        sentence: "a message says what has happened, and waits for a webhook that exists",
        check: Check::Claims(message),
    },
    Rule {
        of: &families::HOOK_RESULTS,
        sentence: "a result can be read, and is of a webhook that exists",
        check: Check::Claims(result),
    },
];

fn hook(subject: &Subject, claims: &mut Claims) {
    for (id, json) in subject.hash().into_iter().flat_map(|hash| &hash.0) {
        if id.parse::<HookId>().is_err() || Hook::from_json(json).is_none() {
            // Its value has a secret.
            claims.of(id).malformed(
                &subject.key,
                format!("the field {id:?}, which cannot be read"),
                "webhooks",
            );
        }
    }
}

fn event(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    if member.parse::<Event>().is_err() {
        claims.wrong(wrong(subject, member, "events"));
    }
}

fn message(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    of_hook(subject, claims, member, member.parse::<Message>().is_ok(), "messages to a webhook that exists");
}

fn result(subject: &Subject, claims: &mut Claims) {
    let Some((member, _)) = subject.member() else { return };
    of_hook(
        subject,
        claims,
        member,
        HookResult::from_json(member).is_some(),
        "results of a webhook that exists",
    );
}

/// A member must be readable, and its key be of a hook that exists.
fn of_hook(subject: &Subject, claims: &mut Claims, member: &str, is_readable: bool, expected: &'static str) {
    let fault = wrong(subject, member, expected);
    let Some(id) = subject.id::<HookId>().filter(|_| is_readable) else { return claims.wrong(fault) };
    let id = id.to_string();
    claims.add(vec![fields(keys::HOOKS.to_owned(), [&id])], move |answers| {
        field_in(answers, 0, 0).is_none().then(|| fault.clone())
    });
}

fn wrong(subject: &Subject, member: &str, expected: &str) -> Fault {
    let mut batch = Batch::new();
    batch.sorted_remove(&subject.key, member);
    Fault {
        key: subject.key.clone(),
        found: format!("the member {member:?}"),
        expected: expected.to_owned(),
        mend: Mend::write(batch, "remove the member"),
    }
}
