//! Moderation: what moderators and administrators do to stories, comments, tweets and people,
//! each action with a person, a reason, a line in the public log, and a way back.
//!
//! [`moderate`] and [`undo`] are the only ways to act, also for an administrator who calls what authors
//! call ([`moderate_as_administrator`]). An action is one batch: what it does (its
//! `Effect`) and its line in the log. So there is no action without a line, and no line without
//! its action. The lines are numbered without gaps, which shows that none is missing.
//!
//! Keys: `moderation:log`, `moderation:count`, `moderation:<id>`, `moderation:<id>:posts`,
//! `appeal:<id>`, `bans:ending`, `user:<id>:notes`, `messages:count` and `limit:messages:<user id>`. The effects write the keys
//! of what they change with functions of the wings that own them.
//!
//! Files with effects are below `effect.rs` and never call [`moderate`]; those that make requests, such as `rules.rs`,
//! are above it.
//!
//! An action notes the facts that it changes in its line (`changes.rs`). An undo puts them back where they are as
//! the action left them, and says by which line they have changed otherwise.
//!
//! To add an action: its declaration (`values/actions/declared.rs`), and an arm in `effect_of` (`effect.rs`).

mod act;
pub mod announcing;
mod answers;
pub mod appeals;
mod applications;
pub(crate) mod bans;
mod batches;
mod case;
mod changes;
mod comment_edits;
pub mod directory;
pub(crate) mod discounts;
mod effect;
pub mod erasing;
pub mod figures;
pub mod group_roles;
mod held;
mod keep;
pub mod log;
pub mod menu;
mod merging;
pub mod messages;
pub mod networks;
pub mod notes;
mod origin_changes;
pub mod origins;
pub mod overview;
mod people;
mod phases;
mod profiles;
pub mod queue;
pub mod reminder;
mod removals;
pub(crate) mod remove_all;
pub mod retention;
mod row;
mod rule_changes;
pub mod rules;
pub mod saved_reasons;
mod site_changes;
pub(crate) mod store_rules;
mod story_edits;
mod threads;
pub(crate) mod traces;

pub use act::{moderate, moderate_as_administrator, undo};
pub use case::{ModerationRequest, SeenRow};

use self::case::{Case, Effect, demand_power};
use self::changes::{ChangedFact, FactPart};
use self::effect::effect_of;
use self::log::Line;
use self::people::{StoredPerson, read_person, told};
use self::phases::{PHASE, Phase};
use self::threads::read_story;
