//! Webhooks: the events of the site, and the messages that wait for each hook.
//!
//! Keys: `hooks:all` (the hooks), `hooks:count`, `hooks:events` (what has happened and is not noted for hooks yet),
//! `hooks:outbox:<hook id>` (messages that wait) and `hooks:results:<hook id>` (what became of the last ones).
//!
//! An action adds its event in its own batch, so none is lost. Once a second, a server makes messages of the events for
//! the hooks that want them, in one batch that takes the events away: of several servers, one does. A message holds no
//! text. Its content is read when it is sent, so nothing is sent that is no longer public.
//!
//! A message leaves the outbox after the hook has taken it. So it is sent at least once, and again with the same id if
//! a server is killed between the two. A message that is not taken is tried again, and dropped after a day
//! ([`crate::queue`]). The hook rests for half a minute after a failure, so that a server that is down is not asked for
//! each message.

pub(crate) mod store_rules;

use crate::queue::{Fate, Lane, Lease, ORDER_STEP, SendingTurn};
use crate::values::{
    CommentAddress, HOOK_EVENTS_AT_ONCE, HOOK_MESSAGES_AT_ONCE, HOOK_RESULTS, Hook, HookId, HookKind,
    HookResult, MAX_HOOK_EVENTS, MAX_HOOK_MESSAGES, Malformed, ModerationId, Moment, NewsId, Thing,
    Timestamp, UserId, read_text, record_text, shown,
};
use crate::{Result, Site, fields, keys};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, Hash, Order, Store, read};

/// How long a hook rests after a failure.
pub const REST: Duration = Duration::from_secs(30);

/// Something that has happened, without what it says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// A story was published.
    Story(NewsId),
    /// A comment was published.
    Comment(CommentAddress),
    /// Something was flagged.
    Flag(Thing),
    /// An account was created.
    Signup(UserId),
    /// Something has begun to wait for a moderator.
    Queue(Thing),
    /// A line of the moderation log.
    Decision(ModerationId),
    /// An administrator tries a hook.
    Test,
}

/// The name of [`Event::Test`].
const TEST: &str = "test";

impl Event {
    /// The kind that hooks choose; `None` for a test, which each gets.
    pub const fn kind(&self) -> Option<HookKind> {
        match self {
            Self::Story(_) => Some(HookKind::Story),
            Self::Comment(_) => Some(HookKind::Comment),
            Self::Flag(_) => Some(HookKind::Flag),
            Self::Signup(_) => Some(HookKind::Signup),
            Self::Queue(_) => Some(HookKind::Queue),
            Self::Decision(_) => Some(HookKind::Decision),
            Self::Test => None,
        }
    }

    /// The name of its kind.
    pub fn name(&self) -> &'static str {
        self.kind().map_or(TEST, HookKind::name)
    }
}

shown!(Event: |event| {
    let name = event.name();
    match event {
        Event::Story(id) => format!("{name}:{id}"),
        Event::Comment(address) => format!("{name}:{address}"),
        Event::Flag(thing) | Event::Queue(thing) => format!("{name}:{}", thing.key()),
        Event::Signup(id) => format!("{name}:{id}"),
        Event::Decision(id) => format!("{name}:{id}"),
        Event::Test => name.to_owned(),
    }
});

read_text!(Event or Malformed: |text| {
    if text == TEST {
        return Some(Self::Test);
    }
    let (kind, about) = text.split_once(':')?;
    Some(match kind.parse().ok()? {
        HookKind::Story => Self::Story(about.parse().ok()?),
        HookKind::Comment => Self::Comment(about.parse().ok()?),
        HookKind::Flag => Self::Flag(about.parse().ok()?),
        HookKind::Signup => Self::Signup(about.parse().ok()?),
        HookKind::Queue => Self::Queue(about.parse().ok()?),
        HookKind::Decision => Self::Decision(about.parse().ok()?),
    })
});

/// Adds an event to the batch of its cause.
pub(crate) fn write(batch: &mut Batch, event: &Event) {
    batch.sorted_append(keys::HOOK_EVENTS, event.to_string());
    // Where no hook takes them away, and while no server runs.
    batch.sorted_trim(keys::HOOK_EVENTS, MAX_HOOK_EVENTS);
}

/// A message that waits for a hook. Written as its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookMessage {
    /// When it was noted.
    pub since: Timestamp,
    /// The event that it reports.
    pub event: Event,
}

record_text!(HookMessage or Malformed: {since} ":" {event});

/// The hooks of a hash, by their numbers; those that cannot be read are left out.
pub(crate) fn of_hash(Hash(stored): &Hash) -> BTreeMap<HookId, Hook> {
    let readable =
        fields::members(stored, keys::HOOKS, |(id, json)| Some((id.parse().ok()?, Hook::from_json(json)?)));
    readable.into_iter().collect()
}

/// The result of a look.
#[derive(Debug, Default)]
pub struct HookLook {
    /// The hooks.
    pub hooks: BTreeMap<HookId, Hook>,
    /// The oldest events that are not noted.
    events: Vec<String>,
    /// The hooks as they are stored.
    stored: Hash,
}

impl HookLook {
    /// Whether there are events that hooks may want.
    pub fn has_events(&self) -> bool {
        !self.hooks.is_empty() && !self.events.is_empty()
    }
}

/// Looks for hooks and for events. Rounds: 1.
pub async fn look(store: &Store) -> Result<HookLook> {
    let events = read::sorted_range(keys::HOOK_EVENTS, Order::Ascending, 0, HOOK_EVENTS_AT_ONCE);
    let (stored, events) = store.fetch((read::hash(keys::HOOKS), events)).await?;
    let events = events.into_iter().map(|(event, _)| event).collect();
    Ok(HookLook { hooks: of_hash(&stored), events, stored })
}

/// Makes messages of events, for the hooks that want them. Does nothing if another server has done so. Rounds: 2.
pub async fn note(site: &Site, now: Timestamp, look: &HookLook) -> Result<()> {
    let counts: Vec<_> = look.hooks.keys().map(|id| read::sorted_count(keys::hook_outbox(*id))).collect();
    let counts = look.hooks.keys().zip(site.store.fetch(counts).await?);
    let full = counts.filter(|(_, count)| *count >= MAX_HOOK_MESSAGES).map(|(id, _)| *id);
    let full: BTreeSet<HookId> = full.collect();
    let mut batch = Batch::new();
    let mut score = now.as_score();
    for member in &look.events {
        score += ORDER_STEP;
        batch.sorted_member_present(keys::HOOK_EVENTS, member);
        batch.sorted_remove(keys::HOOK_EVENTS, member);
        let Ok(event) = member.parse::<Event>() else { continue };
        let message = HookMessage { since: now, event };
        let wants = |hook: &Hook| message.event.kind().is_some_and(|kind| hook.kinds.contains(&kind));
        for (id, _) in look.hooks.iter().filter(|(_, hook)| wants(hook)) {
            if full.contains(id) {
                tracing::warn!(hook = %id, "a webhook is not told of an event, because too much waits for it");
                continue;
            }
            // Not for a hook that was changed or removed meanwhile.
            let field = id.to_string();
            batch.field_unchanged(keys::HOOKS, &field, look.stored.get(&field));
            Lane::of_hook(*id).write(&mut batch, &message.to_string(), score);
        }
    }
    site.apply(batch).await.map(drop)
}

/// The name of the lane of a hook in leases.
fn lane_name(hook: HookId) -> String {
    format!("hook:{hook}")
}

/// Adds to a batch that a hook does not rest, because it may work now.
pub(crate) fn write_no_rest(batch: &mut Batch, hook: HookId) {
    Lease::write_end(batch, &lane_name(hook));
}

/// Adds a message to a batch that tries a hook.
pub(crate) fn write_test(batch: &mut Batch, now: Timestamp, hook: HookId) {
    let message = HookMessage { since: now, event: Event::Test };
    Lane::of_hook(hook).write(batch, &message.to_string(), now.as_score());
    write_no_rest(batch, hook);
}

/// Adds to a batch that a hook is gone, with all that waits for it.
pub(crate) fn write_removal(batch: &mut Batch, hook: HookId) {
    batch.delete_field(keys::HOOKS, hook.to_string());
    write_no_rest(batch, hook);
    batch.delete(keys::hook_outbox(hook));
    batch.delete(keys::hook_results(hook));
}

/// The hooks for which messages are due, each with the messages. Rounds: 1.
pub async fn due(store: &Store, now: Timestamp, look: &HookLook) -> Result<Vec<Due>> {
    let read = |id: &HookId| {
        let hook = *id;
        let messages = Lane::of_hook(hook).due(now, HOOK_MESSAGES_AT_ONCE);
        (Lease::of(&lane_name(hook)), messages).map(move |(lane, messages)| (hook, lane, messages))
    };
    let found = store.fetch(look.hooks.keys().map(read).collect::<Vec<_>>()).await?;
    let due = found.into_iter().map(|(hook, lane, messages)| {
        let mut messages =
            fields::members(messages, &keys::hook_outbox(hook), |(message, _)| message.parse().ok());
        messages.truncate(usize::try_from(HOOK_MESSAGES_AT_ONCE).unwrap_or(usize::MAX));
        Due { hook, messages, lane }
    });
    Ok(due.filter(|due| !due.messages.is_empty()).collect())
}

/// The messages that are due for a hook.
#[derive(Debug)]
pub struct Due {
    /// The hook.
    pub hook: HookId,
    /// The messages, the oldest first.
    pub messages: Vec<HookMessage>,
    lane: Lease,
}

impl Due {
    /// Takes the hook for this server. `None` if it rests, another one has it, or it was removed. Rounds: 1.
    pub async fn begin(&self, site: &Site, now: Timestamp) -> Result<Option<SendingTurn>> {
        let Some(first) = self.messages.first() else { return Ok(None) };
        let mut batch = Batch::new();
        batch.sorted_member_present(keys::hook_outbox(self.hook), first.to_string());
        self.lane.take(site, Moment::from_timestamp(now), batch).await
    }
}

/// Ends an attempt: the message is gone or waits on, and the hook has one more result, if there is something to say.
/// Does nothing if the hook was removed meanwhile. Rounds: 1.
pub async fn finish(
    site: &Site,
    now: Timestamp,
    hook: HookId,
    (message, fate): (&HookMessage, Fate),
    result: Option<&HookResult>,
) -> Result<()> {
    let results = keys::hook_results(hook);
    let mut batch = Batch::new();
    batch.sorted_member_present(keys::hook_outbox(hook), message.to_string());
    Lane::of_hook(hook).write_fate(&mut batch, now, &message.to_string(), fate);
    if let Some(result) = result {
        // In the order in which they came.
        batch.sorted_append(&results, result.to_json());
        batch.sorted_trim(results, HOOK_RESULTS);
    }
    site.apply(batch).await.map(drop)
}

/// Whether something waits for a moderator. Rounds: 1.
pub async fn is_queued(site: &Site, thing: &Thing) -> Result<bool> {
    let scores = site.store.fetch(read::scores(keys::REVIEW_QUEUE, [thing.key()])).await?;
    Ok(scores.into_iter().any(|score| score.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{HookAddress, HookFormat, HookSecret, LAST_WAIT_SECONDS};

    #[test]
    fn an_event_and_a_message_are_their_names() {
        let names = "story:7 comment:7-3 flag:story:7 flag:user:alice signup:2 queue:appeal:3 \
            queue:application:bob decision:12 test";
        for name in names.split(' ') {
            assert_eq!(name.parse::<Event>().unwrap().to_string(), name);
            let message = format!("1800000000:{name}");
            assert_eq!(message.parse::<HookMessage>().unwrap().to_string(), message);
        }
        for bad in ["", "story", "story:0", "comment:7", "flag:7", "queue:rule:x", "test:1", "other:1"] {
            assert_eq!(bad.parse::<Event>(), Err(Malformed), "{bad}");
        }
        assert_eq!("x:story:7".parse::<HookMessage>(), Err(Malformed));
    }

    #[tokio::test]
    async fn messages_from_before_the_clock_was_set_back_are_due() {
        let store = Store::in_memory().await.unwrap();
        let (now, hook) = (Timestamp(1_800_000_000), HookId(1));
        let mut batch = Batch::new();
        for (message, ahead) in [("story:1", 0), ("story:2", LAST_WAIT_SECONDS), ("story:3", 86_400)] {
            let message = format!("1800000000:{message}");
            assert!(message.parse::<HookMessage>().is_ok());
            batch.sorted_add(keys::hook_outbox(hook), message, Timestamp(now.0 + ahead).as_score());
        }
        store.commit(batch).await.unwrap();
        let receiver = Hook {
            address: HookAddress::parse("https://example.com/").unwrap(),
            secret: HookSecret::parse("").unwrap(),
            kinds: vec![HookKind::Story],
            format: HookFormat::Full,
        };
        let look = HookLook { hooks: [(hook, receiver)].into(), ..HookLook::default() };
        let [due] = <[Due; 1]>::try_from(due(&store, now, &look).await.unwrap()).unwrap();
        let found: Vec<String> = due.messages.iter().map(|message| message.event.to_string()).collect();
        assert_eq!(found, ["story:1", "story:3"]);
    }

    #[tokio::test]
    async fn events_that_nobody_takes_do_not_pile_up() {
        let store = Store::in_memory().await.unwrap();
        for id in 1..=MAX_HOOK_EVENTS + 5 {
            let mut batch = Batch::new();
            write(&mut batch, &Event::Story(NewsId(id)));
            store.commit(batch).await.unwrap();
        }
        assert_eq!(store.fetch(read::sorted_count(keys::HOOK_EVENTS)).await.unwrap(), MAX_HOOK_EVENTS);
        let look = look(&store).await.unwrap();
        assert_eq!(look.events[0], "story:6");
        assert!(!look.has_events());
    }
}
