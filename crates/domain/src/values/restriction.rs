//! Restrictions of a person by a moderator, and when they end.
//!
//! A restriction is one field of the hash of a user, `<until>:<moderation>:<reason>`. It ends by
//! itself when the clock has passed it, so nothing has to be done then.

use crate::values::text_forms::record_text;
use crate::values::{AsText, ModerationId, OrZero, Timestamp};

/// The kinds of restrictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RestrictionKind {
    /// Cannot log in.
    Ban,
    /// Reads and votes, and does nothing else that others see.
    Silence,
    /// Posts wait for approval.
    Hold,
    /// Votes do not count.
    Discount,
}

impl RestrictionKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ban, Self::Silence, Self::Hold, Self::Discount];

    /// The field of a user that has the restriction.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Ban => "banned",
            Self::Silence => "silenced",
            Self::Hold => "held",
            Self::Discount => "discounted",
        }
    }
}

/// A restriction of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restriction {
    /// When it ends; `None` for never.
    pub until: Option<Timestamp>,
    /// The line of the log that says who decided it.
    pub moderation: ModerationId,
    /// Why.
    pub reason: Box<str>,
}

impl Restriction {
    /// Whether it is in force at a time. It ends at the second of its end.
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// A stored text that is not a restriction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a restriction")]
pub struct NotARestriction;

record_text!(Restriction or NotARestriction: {until OrZero} ":" {moderation} ":" {reason AsText});

/// That the posts of young accounts wait for approval: `<hours>:<restriction>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YoungHold {
    /// The age below which an account is young, in hours.
    pub age: u64,
    /// When it ends, by which line, and why.
    pub restriction: Restriction,
}

impl YoungHold {
    /// Whether the posts of an account wait that was made at a time.
    pub fn covers(&self, made: Timestamp, now: Timestamp) -> bool {
        self.restriction.is_in_force(now) && now.seconds_since(made) < self.age.saturating_mul(3_600)
    }
}

record_text!(YoungHold or NotARestriction: {age} ":" {restriction});

/// The restrictions of a person, in force or ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restrictions(Option<Box<[(RestrictionKind, Restriction)]>>);

impl Restrictions {
    /// Reads them from the fields of a user.
    pub(crate) fn read(field: impl Fn(&'static str) -> Option<Restriction>) -> Self {
        let found: Vec<_> =
            RestrictionKind::ALL.into_iter().filter_map(|kind| Some((kind, field(kind.field())?))).collect();
        Self((!found.is_empty()).then(|| found.into_boxed_slice()))
    }

    /// The restriction of a kind that is in force at a time.
    pub fn in_force(&self, kind: RestrictionKind, now: Timestamp) -> Option<&Restriction> {
        self.stored(kind).filter(|restriction| restriction.is_in_force(now))
    }

    /// The restriction of a kind, in force or ended.
    pub fn stored(&self, kind: RestrictionKind) -> Option<&Restriction> {
        let mut all = self.0.iter().flat_map(|all| all.iter());
        all.find_map(|(other, restriction)| (*other == kind).then_some(restriction))
    }

    /// The approximate size in bytes, besides the value itself.
    pub(crate) fn size(&self) -> usize {
        let all = self.0.iter().flat_map(|all| all.iter());
        all.map(|(_, restriction)| size_of::<(RestrictionKind, Restriction)>() + restriction.reason.len())
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restriction_is_stored_and_read_back() {
        for stored in ["0:7:spam", "1800000000:12:a: b", "5:1:"] {
            assert_eq!(stored.parse::<Restriction>().unwrap().to_string(), stored);
        }
        for stored in ["", "0", "0:7", "x:7:spam", "0:0:spam", "0::spam", "-1:7:spam"] {
            assert_eq!(stored.parse::<Restriction>(), Err(NotARestriction), "{stored}");
        }
    }

    #[test]
    fn it_ends_at_the_second() {
        let timed: Restriction = "100:7:spam".parse().unwrap();
        assert!(timed.is_in_force(Timestamp(99)) && !timed.is_in_force(Timestamp(100)));
        let forever: Restriction = "0:7:spam".parse().unwrap();
        assert!(forever.is_in_force(Timestamp(u64::MAX)));
    }

    #[test]
    fn young_accounts_are_covered_until_they_are_old_enough_or_it_ends() {
        let hold: YoungHold = "24:100000:7:a: raid".parse().unwrap();
        assert_eq!(hold.to_string(), "24:100000:7:a: raid");
        let covers = |made, now| hold.covers(Timestamp(made), Timestamp(now));
        assert!(covers(1_000, 87_399) && !covers(1_000, 87_400));
        assert!(covers(99_999, 99_999) && !covers(99_999, 100_000));
        assert!("x:0:7:spam".parse::<YoungHold>().is_err() && "24".parse::<YoungHold>().is_err());
    }

    #[test]
    fn only_what_is_in_force_restricts() {
        let field = |name: &str| match name {
            "banned" => "100:7:spam".parse().ok(),
            "held" => "0:8:new".parse().ok(),
            _ => None,
        };
        let restrictions = Restrictions::read(field);
        let is = |kind, now| restrictions.in_force(kind, Timestamp(now)).is_some();
        assert!(is(RestrictionKind::Ban, 99) && !is(RestrictionKind::Ban, 100));
        assert!(is(RestrictionKind::Hold, 100) && !is(RestrictionKind::Silence, 1));
        assert!(restrictions.stored(RestrictionKind::Ban).is_some());
        assert_eq!(Restrictions::read(|_| None), Restrictions::default());
    }
}
