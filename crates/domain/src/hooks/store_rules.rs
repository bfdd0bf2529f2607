//! Rules of webhooks, and of what waits for them.

use crate::hooks::{Event, HookMessage};
use crate::keys::{self, families};
use crate::store_rules::forms::Form;
use crate::store_rules::references::{At, Noun, Place::Part, Reference, Remedy::Remove};
use crate::store_rules::{form, refers, rules};
use crate::values::hook::{Hook, HookResult};
use crate::values::ids::HookId;

rules! { pub(crate) RULES:
    "a webhook can be read" {
        HOOKS: form(Form::SecretField(|id, json| {
            id.parse::<HookId>().is_ok() && Hook::from_json(json).is_some()
        }), "webhooks");
    }
    "an event says what has happened" {
        HOOK_EVENTS: form(Form::MemberOrGone(|member| member.parse::<Event>().is_ok()), "events");
    }
    "a message says what has happened, and waits for a webhook that exists" {
        HOOK_OUTBOX: form(Form::MemberOrGone(|member| member.parse::<HookMessage>().is_ok()), "messages");
        HOOK_OUTBOX: refers(Reference(Part, "messages to the webhook", HOOK, Remove("delete the key")));
    }
    "a result can be read, and is of a webhook that exists" {
        HOOK_RESULTS: form(Form::MemberOrGone(|member| HookResult::from_json(member).is_some()), "results");
        HOOK_RESULTS: refers(Reference(Part, "results of the webhook", HOOK, Remove("delete the key")));
    }
}

const HOOK: Noun = Noun("webhooks", |_, id| Some(At::Field(keys::HOOKS.to_owned(), id.to_owned())));
