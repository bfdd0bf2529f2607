//! Checking everything that is stored: that each key has its form, that lists have what they
//! should and nothing else, that counters equal what they count, and that no id leads nowhere.
//!
//! The rules are beside the code that writes the keys, in the `store_rules` of each wing; `caps`,
//! `forms` and `of_users` are tables of rules that are alike for many families. So an engineer who
//! adds a key adds a line to [`keys::families`](crate::keys::families) and a rule. Of every key the
//! type and the expiry are checked; `WITHOUT_RULES` names the families of which nothing else is, and
//! why, and a test finds those that are in neither.
//!
//! A `Walk` goes over the names of all keys, some hundred at a time, reads their values, large
//! lists a part at a time, and asks for what the rules demand in rounds of some thousand reads. A
//! difference is looked at again: the key and everything that it is compared with in one round, until
//! it is the same twice. So a site in use has no passing differences. The memory that it needs is
//! that of some such steps and of the largest single value, however large the store is, and of the
//! differences that are kept for the report, of what is called wrong, and of what was found to exist,
//! which are bounded.
//!
//! A repair changes only what follows from something else: lists, counters and indexes. People's
//! actions are never deleted; where their records contradict each other, or a wrong value follows from
//! nothing else, the report says what a person can do. Such a value is `Wrong`, and nothing
//! that rests on it is mended. So the first walks only look, until no more is called wrong.

mod caps;
mod counters;
mod file;
mod forms;
mod mending;
mod pages;
mod report;
mod walk;
mod wrong;

use crate::draws::raise_article_count;
use crate::store_rules::Rule;
use crate::timelines::check::HomeCheck;
use crate::values::Moment;
use crate::{
    Error, Result, Site, accounts, articles, background, comments, contributions, hooks, imports, jobs,
    migrations, moderation, news, numbered, sites, timelines,
};
pub use report::{Difference, Outcome, StoreReport, Totals};
use std::sync::LazyLock;
use tidings_keyspace::FileState;
use walk::Walk;
use wrong::Wrong;

/// How often the check walks over the store until no more is called wrong: what follows from
/// something wrong may have been looked at before that.
const MOST_LOOKING_WALKS: usize = 8;
/// How often a repair walks over the store: what one repair mends may be what another needs.
const MOST_MENDING_WALKS: usize = 5;
/// The rules of all families.
static RULES: LazyLock<Vec<&[Rule]>> = LazyLock::new(|| {
    vec![
        accounts::store_rules::RULES,
        accounts::store_rules::inbox::RULES,
        accounts::store_rules::of_users::RULES,
        &accounts::store_rules::of_users::OWNED,
        accounts::store_rules::second_factors::RULES,
        articles::store_rules::RULES,
        &caps::RULES,
        comments::store_rules::RULES,
        contributions::store_rules::RULES,
        contributions::store_rules::TIMELINES,
        forms::RULES,
        hooks::store_rules::RULES,
        imports::store_rules::RULES,
        jobs::store_rules::RULES,
        moderation::store_rules::RULES,
        news::store_rules::RULES,
        numbered::store_rules::RULES,
        sites::store_rules::RULES,
        timelines::store_rules::RULES,
    ]
});

/// The part of a store that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All keys, and the file of an embedded store.
    Whole,
    /// All keys.
    Keys,
    /// Articles and topics.
    Articles,
    /// Timelines and follows. Home timelines on servers of their own are looked at only here.
    Timelines,
}

impl Part {
    /// The rules about it. Home timelines on servers of their own are only looked at by themselves.
    fn rules(self, site: &Site) -> impl Iterator<Item = &'static Rule> {
        let (homes, posted) = (timelines::store_rules::HOMES, contributions::store_rules::TIMELINES);
        let tables = match self {
            Self::Articles => vec![articles::store_rules::RULES],
            Self::Timelines => vec![timelines::store_rules::RULES, homes, posted],
            Self::Whole | Self::Keys if site.home_server().is_none() => [RULES.as_slice(), &[homes]].concat(),
            Self::Whole | Self::Keys => RULES.clone(),
        };
        tables.into_iter().flatten()
    }

    /// Whether all keys are looked at.
    fn is_all(self) -> bool {
        matches!(self, Self::Whole | Self::Keys)
    }
}

/// The progress of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It walks over all keys, for the first time or again; this is the purpose.
    Walk(&'static str),
    /// So many bytes of so many are read of the file of the store.
    File(u64, u64),
    /// So many more keys are done.
    Keys(u64),
}

/// Checks a part of what is stored, and with `repair` mends what follows from something else.
pub async fn check(
    site: &Site,
    part: Part,
    now: Moment,
    repair: bool,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<StoreReport> {
    if repair && part != Part::Articles {
        // Work that a job has still to do is no difference.
        background::finish_waiting(site, now).await?;
    }
    let file = match part {
        Part::Whole => site.store.check_file(|read, all| progress(Progress::File(read, all))).await?,
        Part::Keys | Part::Articles | Part::Timelines => FileState::NoFile,
    };
    let mut wrong = Wrong::default();
    let mut report = StoreReport::default();
    let mut purpose = "checking keys";
    for _ in 0..MOST_LOOKING_WALKS {
        let known = wrong.count();
        progress(Progress::Walk(purpose));
        let walk = Walk::new(site, part, now, false, &mut wrong);
        report = walk.run(&mut |keys| progress(Progress::Keys(keys))).await?;
        if wrong.count() == known || report.totals.mendable == 0 {
            break;
        }
        purpose = "looking for what follows";
    }
    if repair && report.totals.mendable > 0 {
        for _ in 0..MOST_MENDING_WALKS {
            progress(Progress::Walk("mending"));
            let walk = Walk::new(site, part, now, true, &mut wrong);
            let mended = walk.run(&mut |keys| progress(Progress::Keys(keys))).await?;
            let is_done = mended.totals.mended == 0;
            report = report.followed_by(mended);
            if is_done {
                break;
            }
        }
    }
    file::add_state(&mut report, file);
    if repair && part != Part::Timelines {
        // The articles that were made have the numbers of stories.
        raise_article_count(site).await?;
    }
    if repair && (part == Part::Timelines || part == Part::Whole && site.home_server().is_none()) {
        HomeCheck::begin(site, now).await?.deliver_pulled().await?;
    }
    Ok(report)
}

/// Makes what a store of Lamer News or of a first version lacks: lists of sites, articles, numbers, entries of
/// names. These follow from what is there, so they are made as a repair makes them, in small batches beside a
/// site in use. Nothing is done to a store that has had it. After an interruption it starts over.
pub async fn complete(
    site: &Site,
    now: Moment,
    progress: impl FnMut(Progress) + Send,
) -> Result<Option<StoreReport>> {
    if !migrations::is_incomplete(&site.store).await? {
        return Ok(None);
    }
    let report = check(site, Part::Keys, now, true, progress).await?;
    migrations::note_complete(&site.store).await?;
    Ok(Some(report))
}

/// `None` if a value could not be read: that is reported for its own key.
fn readable<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(Error::Store(error)) if error.unreadable_key().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::families::{self, Family};
    use std::collections::BTreeSet;

    /// Where the counters that draw ids are checked.
    const COUNTERS: &str = "counters.rs compares it with the ids that a walk has seen";
    /// Why nothing more is checked of lists that are made anew.
    const MADE_ANEW: &str = "it is made anew from other lists when it has expired";

    /// The families without a rule, of which only the type and the expiry are checked, and why; besides
    /// limits, which expire.
    static WITHOUT_RULES: &[(&Family, &str)] = &[
        (&families::ARTICLE_COUNT, COUNTERS),
        (&families::CHANGES, "readers of it look at what is stored, whatever its order"),
        (&families::ITEMS_COUNT, COUNTERS),
        (&families::MESSAGES_COUNT, COUNTERS),
        (&families::MODERATION_COUNT, COUNTERS),
        (&families::NEWS_COUNT, COUNTERS),
        (&families::RULES_COUNT, COUNTERS),
        (&families::HOOKS_COUNT, COUNTERS),
        (&families::TWEET_IDS, COUNTERS),
        (&families::USERS_COUNT, COUNTERS),
        (&families::BUILT, MADE_ANEW),
        (&families::PAST, MADE_ANEW),
        (&families::SCORE_OF, MADE_ANEW),
        (&families::TIME_OF, MADE_ANEW),
        (&families::SITE_LOGO, "it is a file; that it is there is checked with site"),
        (&families::UNFINISHED, "no command uses a store that has it but the one that finishes it"),
    ];

    #[test]
    fn each_key_has_a_rule_or_a_reason_why_not() {
        let ruled: BTreeSet<&str> = RULES.iter().copied().flatten().map(|rule| rule.of.name).collect();
        let excused: BTreeSet<&str> = WITHOUT_RULES.iter().map(|(family, _)| family.name).collect();
        assert_eq!(excused.len(), WITHOUT_RULES.len(), "a family is there twice");
        for family in families::ALL {
            let (is_ruled, is_excused) = (ruled.contains(family.name), excused.contains(family.name));
            assert!(is_ruled || is_excused || family.is_limit(), "{}", family.name);
            assert!(!is_ruled || !is_excused, "{}", family.name);
        }
    }
}
