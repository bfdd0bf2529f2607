//! Rules of webhooks, and of what waits for them.

use crate::hooks::{Event, HookMessage};
use crate::keys::{self, families};
use crate::store_rules::Rule;
use crate::store_rules::claims::{Claims, field_in, fields};
use crate::store_rules::subject::Subject;
use crate::values::hook::{Hook, HookResult};
use crate::values::ids::HookId;

pub(crate) static RULES: &[Rule] = &[
    Rule::claims(&families::HOOKS, "a webhook can be read", hook),
    Rule::claims(&families::HOOK_EVENTS, "an event says what has happened", event),
    Rule::claims(
        &families::HOOK_OUTBOX,
        "a message says what has happened, and waits for a webhook that exists",
        message,
    ),
    Rule::claims(&families::HOOK_RESULTS, "a result can be read, and is of a webhook that exists", result),
];

fn hook(subject: &Subject, claims: &mut Claims) {
    for (id, json) in subject.fields() {
        if id.parse::<HookId>().is_err() || Hook::from_json(json).is_none() {
            // Its value has a secret.
            claims.of(id).malformed(format_args!("the field {id:?}, which cannot be read"), "webhooks");
        }
    }
}

fn event(subject: &Subject, claims: &mut Claims) {
    if subject.member_id::<Event>().is_none() {
        claims.unreadable("events");
    }
}

fn message(subject: &Subject, claims: &mut Claims) {
    let is_message = |member: &str| member.parse::<HookMessage>().is_ok();
    of_hook(subject, claims, is_message, "messages to a webhook that exists");
}

fn result(subject: &Subject, claims: &mut Claims) {
    let is_result = |member: &str| HookResult::from_json(member).is_some();
    of_hook(subject, claims, is_result, "results of a webhook that exists");
}

/// A member must be readable, and its key be of a hook that exists.
fn of_hook(subject: &Subject, claims: &mut Claims, is_readable: fn(&str) -> bool, expected: &'static str) {
    let Some((member, _)) = subject.member() else { return };
    let Some(id) = subject.id::<HookId>().filter(|_| is_readable(member)) else {
        return claims.unreadable(expected);
    };
    let found = format!("the member {member:?}");
    let reads = vec![fields(keys::HOOKS.to_owned(), [&id.to_string()])];
    claims
        .belongs(expected, reads, move |answers, _| field_in(answers, 0, 0).is_none().then(|| found.clone()));
}
