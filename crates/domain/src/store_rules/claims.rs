//! Claims: what must be true of other keys because of something that is stored, and how it is
//! mended if it is not.

use super::existing::Existing;
use super::references::Location;
use super::source::{Source, SourcePart};
use super::subject::{Subject, SubjectItem};
use crate::items::Item as SiteItem;
use crate::keys;
use crate::keys::families::Family;
use crate::values::{NewsId, PostState, RemovedBy, UserId};
use std::fmt::Display;
use std::str::FromStr;
use tidings_keyspace::{Answer, Answers, Batch, Fetch, Hash, KeyspaceError, Query, Read, read};

/// The remedy for a fault.
#[derive(Debug, Clone)]
pub(crate) enum Mend {
    /// This batch mends it; in words.
    Write(Box<Batch>, String),
    /// A story or a comment gets the next item number.
    Number(SiteItem),
    /// A story or a comment with the number of an older one gets the next item number.
    NumberAnew(SiteItem),
    /// The article of a story is made anew.
    Article(NewsId),
    /// The home timeline of a user is made anew.
    Home(UserId),
    /// The oldest sessions of a user, beyond those that are allowed, are ended.
    Sessions(UserId),
    /// The oldest entries of the inbox of a user, beyond those that are allowed, leave it.
    Inbox(UserId),
    /// A person has to decide; what they can do.
    Person(&'static str),
}

impl Mend {
    /// The advice about a value without its form.
    pub(crate) const BY_HAND: Self = Self::Person("correct the value by hand, or restore it from a backup");

    /// A batch that mends something.
    pub(crate) fn write(batch: Batch, words: impl Into<String>) -> Self {
        Self::Write(Box::new(batch), words.into())
    }

    /// The remedy, in words.
    pub(crate) fn in_words(&self) -> &str {
        match self {
            Self::Write(_, words) => words,
            Self::Number(_) => "give it the next number",
            Self::NumberAnew(_) => "give the newest of them the next numbers",
            Self::Article(_) => "make the article anew from the story",
            Self::Home(_) => "make the home timeline anew",
            Self::Sessions(_) => "end the oldest sessions",
            Self::Inbox(_) => "remove the oldest entries",
            Self::Person(advice) => advice,
        }
    }
}

/// Something that is not as it should be.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) key: String,
    pub(crate) found: String,
    pub(crate) expected: String,
    pub(crate) mend: Mend,
}

impl Fault {
    /// A fault at a key: what is found instead of what is expected, and the remedy.
    pub(crate) fn new(
        key: impl Into<String>,
        found: impl Display,
        expected: impl Display,
        mend: Mend,
    ) -> Self {
        Self { key: key.into(), found: found.to_string(), expected: expected.to_string(), mend }
    }

    /// A list lacks a member.
    pub(crate) fn lacks(key: impl Into<String>, member: impl Display, mend: Mend) -> Self {
        Self::new(key, format_args!("no member {member}"), format_args!("the member {member}"), mend)
    }
}

/// A fault, and what the judgement rests on.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) fault: Fault,
    /// The field or member of the key that is not as it should be; `None` is all of it.
    pub(crate) part: Option<String>,
    /// Another key that is missing.
    pub(crate) missing: Option<String>,
    pub(crate) sources: Vec<Source>,
}

impl Found {
    /// A fault of a whole key.
    pub(crate) const fn of(fault: Fault, sources: Vec<Source>) -> Self {
        Self { fault, part: None, missing: None, sources }
    }

    /// The difference in words: the key, the value found and the expected value.
    pub(crate) fn difference(&self) -> (String, String, String) {
        let Fault { key, found, expected, .. } = &self.fault;
        (key.clone(), found.clone(), expected.clone())
    }
}

type Judge = Box<dyn FnOnce(&mut Answers) -> Vec<Fault> + Send>;

/// Reads, and what is wrong by their answers.
pub(crate) struct Claim {
    reads: Vec<Read>,
    /// `None` once it has judged.
    judge: Option<Judge>,
    /// The field of the subject that the claim is about, if it is one.
    field: Option<String>,
    /// Another key and the field or member of it that the claim is about.
    place: Option<(String, String)>,
    /// The key that must be there.
    target: Option<String>,
    /// Other sources that the claim rests on, without reading them.
    besides: Vec<Source>,
}

impl Claim {
    /// The key that must be there, if the claim is about that.
    pub(crate) fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    pub(crate) fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// The faults by the next outcomes, which are those of the reads of this claim. A value that
    /// cannot be read is reported for its own key, and says nothing here.
    pub(crate) fn judge_next(
        &mut self,
        outcomes: &mut impl Iterator<Item = Result<Answer, KeyspaceError>>,
    ) -> Vec<Fault> {
        // All of them are taken, so that the next claim has its own.
        let answers: Vec<_> = outcomes.take(self.reads.len()).collect();
        match (self.judge.take(), answers.into_iter().collect()) {
            (Some(judge), Ok(answers)) => judge(&mut Answers::new(answers)),
            _ => Vec::new(),
        }
    }

    /// A fault of this claim about a subject, and what the judgement rests on.
    pub(crate) fn found(&self, subject: &Subject, fault: Fault) -> Found {
        let own = Source { key: subject.key.clone(), part: self.own_part(subject) };
        let own_place = match &own.part {
            SourcePart::Some(parts) => parts.first().map(|part| (&own.key, part)),
            SourcePart::Existence | SourcePart::All => None,
        };
        let place = self.place.as_ref().map(|(key, part)| (key, part)).or(own_place);
        let part = place.filter(|(key, _)| **key == fault.key).map(|(_, part)| part.clone());
        let mut sources = vec![own];
        sources.extend(self.reads.iter().map(Source::of));
        sources.extend(self.besides.iter().cloned());
        Found { fault, part, missing: self.target.clone(), sources }
    }

    /// The part of the subject that the claim rests on.
    fn own_part(&self, subject: &Subject) -> SourcePart {
        match (&self.field, &subject.item) {
            (Some(field), _) => SourcePart::Some(vec![field.clone()]),
            (None, SubjectItem::Whole) => SourcePart::Existence,
            (None, SubjectItem::Text(_) | SubjectItem::Hash(_)) => SourcePart::All,
            (None, SubjectItem::Member(member) | SubjectItem::Scored(member, _)) => {
                SourcePart::Some(vec![member.clone()])
            }
        }
    }
}

/// The claims of a rule about something.
pub(crate) struct Claims<'a> {
    pub(crate) all: Vec<Claim>,
    subject: &'a Subject,
    /// The field that the next claim is about, if it is not about the whole hash.
    field: Option<String>,
    /// The checks of what claims about lists rest on, if it is not what the claim is about.
    guard: Option<Batch>,
    /// Keys of which nothing has to be claimed.
    existing: Option<&'a Existing>,
}

/// The advice about a line of the moderation log that is gone.
pub(crate) const LOST_LINE: &str = "restore the line from a backup; lines of the log are never removed";
const LOST_REMOVAL: Mend =
    Mend::Person("restore the field `removed` from a backup before a moderator puts the post back");
const LEFT_BEHIND: Mend = Mend::Person("delete the field `removed`, unless the post is to be removed again");

impl<'a> Claims<'a> {
    /// No claims yet, of a rule about a subject.
    pub(crate) const fn about(subject: &'a Subject, existing: Option<&'a Existing>) -> Self {
        Self { all: Vec::new(), subject, field: None, guard: None, existing }
    }

    /// The next claim is about one field of the hash, and rests on nothing else of it.
    pub(crate) fn of(&mut self, field: impl Display) -> &mut Self {
        self.field = Some(field.to_string());
        self
    }

    /// The next claims about lists rest on something that has these checks.
    pub(crate) fn rest_on(&mut self, guard: Batch) {
        self.guard = Some(guard);
    }

    /// The last claim also rests on something that it does not read.
    pub(crate) fn besides(&mut self, source: Source) {
        if let Some(claim) = self.all.last_mut() {
            claim.besides.push(source);
        }
    }

    /// The last claim is about a member or a field of another key.
    pub(crate) fn place_at(&mut self, key: String, part: impl ToString) {
        if let Some(claim) = self.all.last_mut() {
            claim.place = Some((key, part.to_string()));
        }
    }

    /// A claim: reads, and what is wrong by what they answer.
    pub(crate) fn add<F: Fetch<Asked: 'static> + 'static, R: IntoIterator<Item = Fault>>(
        &mut self,
        reads: F,
        judge: impl FnOnce(F::Value) -> R + Send + 'static,
    ) {
        let mut query = Query::new();
        let asked = query.ask(reads);
        self.all.push(Claim {
            reads: query.reads().to_vec(),
            judge: Some(Box::new(move |answers| judge(answers.of(asked)).into_iter().collect())),
            field: self.field.take(),
            place: None,
            target: None,
            besides: Vec::new(),
        });
    }

    /// A claim about the key itself: `judge` tells what is found instead of what is expected, and what is done
    /// about it.
    pub(crate) fn expects<F: Fetch<Asked: 'static> + 'static>(
        &mut self,
        expected: impl Display,
        reads: F,
        judge: impl FnOnce(F::Value) -> Option<(String, Mend)> + Send + 'static,
    ) {
        let (of, expected) = (self.subject.of.clone(), expected.to_string());
        self.add(reads, move |answers| {
            let (found, mend) = judge(answers)?;
            Some(Fault { key: of.key.clone(), found, expected, mend })
        });
    }

    /// A member must belong to its list, or it is removed. `stray` returns what is found instead; to the batch of
    /// the removal it adds checks, and whatever else goes.
    pub(crate) fn belongs<F: Fetch<Asked: 'static> + 'static>(
        &mut self,
        expected: impl Display,
        reads: F,
        stray: impl FnOnce(F::Value, &mut Batch) -> Option<String> + Send + 'static,
    ) {
        let mut batch = self.subject.removal();
        self.expects(expected, reads, move |answers| {
            let found = stray(answers, &mut batch)?;
            Some((found, Mend::write(batch, "remove the member")))
        });
    }

    /// Something is wrong whatever else is stored.
    pub(crate) fn fault(&mut self, fault: Fault) {
        self.add(read::known(()), move |()| [fault]);
    }

    /// The key itself is wrong whatever else is stored.
    pub(crate) fn wrong(&mut self, found: impl Display, expected: impl Display, mend: Mend) {
        self.fault(Fault::new(&self.subject.key, found, expected, mend));
    }

    /// The value does not have its form.
    pub(crate) fn malformed(&mut self, found: impl Display, expected: impl Display) {
        self.wrong(found, expected, Mend::BY_HAND);
    }

    /// A post that moderators have removed or merged, and nothing else, names the line of the log that removed it. A post that
    /// was rejected was never shown, and names none.
    pub(crate) fn removal(&mut self, post: impl Display, removed: Option<&RemovedBy>, state: PostState<'_>) {
        let is_removed = state.withheld.is_some_and(|state| state.is_removed() || state.is_merged());
        let (found, expected, mend) = match removed {
            Some(RemovedBy { line, .. }) if is_removed => {
                let what = format!("{post} removed by the line {line}");
                return self.refers(what, keys::moderation(*line), Mend::Person(LOST_LINE));
            }
            Some(_) => ("with a removal, which is not removed", "no removal", LEFT_BEHIND),
            None if is_removed && !state.unseen => {
                ("is removed, and names no line", "the line that removed it", LOST_REMOVAL)
            }
            None => return,
        };
        self.wrong(format_args!("{post} {found}"), expected, mend);
    }

    /// The member cannot be read, and is removed.
    pub(crate) fn unreadable(&mut self, expected: &str) {
        if let Some((member, _)) = self.subject.member() {
            let mend = Mend::write(self.subject.removal(), "remove the member");
            self.wrong(format_args!("the member {member:?}"), expected, mend);
        }
    }

    /// The text of a string as what it should be. If it is something else, that is wrong.
    pub(crate) fn text<T: FromStr>(&mut self, expected: &str) -> Option<T> {
        let text = self.subject.text()?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.malformed(format_args!("{text:?}"), expected);
        }
        parsed
    }

    /// A field counts something, which it must equal.
    pub(crate) fn counts(&mut self, field: &'static str, found: i64, expected: i64) {
        if let Some(fault) = counter_fault(&self.subject.key, field, found, expected) {
            self.fault(fault);
        }
    }

    /// The key names something that must exist: `what`, at `at`.
    pub(crate) fn refers(&mut self, what: impl Display, at: impl Into<Location>, mend: Mend) {
        self.is_there(format!("{what}, which does not exist"), at.into(), mend);
    }

    /// Something must be at a place, or else this is found.
    pub(crate) fn is_there(&mut self, found: String, at: Location, mend: Mend) {
        let target = if let Location::Key(key) = &at { Some(key.clone()) } else { None };
        if target.as_ref().is_some_and(|key| self.existing.is_some_and(|existing| existing.has(key))) {
            self.field = None;
            return;
        }
        self.expects(at.in_words(), at.is_there(), move |is_there| (!is_there).then_some((found, mend)));
        if let Some(claim) = self.all.last_mut() {
            claim.target = target;
        }
    }

    /// A batch that fails if what the next claim rests on has changed.
    fn unchanged(&self) -> Batch {
        if let Some(guard) = &self.guard {
            return guard.clone();
        }
        let (mut batch, Subject { of, item }) = (Batch::new(), self.subject);
        match (&self.field, item) {
            (Some(field), _) => batch.field_unchanged(&of.key, field, self.subject.field(field)),
            (None, SubjectItem::Scored(member, _)) => batch.sorted_member_present(&of.key, member),
            (None, SubjectItem::Text(text)) => batch.string_equals(&of.key, text),
            (None, _) => batch.key_present(&of.key),
        };
        batch
    }

    /// A sorted set must have a member, with whatever score. It is added with this one, unless what the claim rests on has
    /// changed. If the list belongs to somebody or to a story, that must exist, or nothing is added.
    pub(crate) fn listed(&mut self, list: impl Into<String>, member: impl Display, score: f64) {
        self.entry(list.into(), member.to_string(), None, score);
    }

    /// The same, where the member must have the score.
    pub(crate) fn scored(&mut self, list: impl Into<String>, member: impl Display, score: f64) {
        self.entry(list.into(), member.to_string(), Some(score), score);
    }

    fn entry(&mut self, list: String, member: String, score: Option<f64>, otherwise: f64) {
        let (mut batch, place) = (self.unchanged(), (list.clone(), member.clone()));
        batch.sorted_add(&list, &member, otherwise);
        let owner = owner_of(&list);
        self.add(read::score(&list, &member), move |stored| {
            let with = |score| format!("the member {member} with the score {score}");
            let is_right = stored.is_some_and(|stored| score.is_none_or(|score| is_same(stored, score)));
            let found = stored.map_or_else(|| format!("no member {member}"), with);
            let expected = score.map_or_else(|| format!("the member {member}"), with);
            let mend = Mend::write(batch, "add the member with its score");
            (!is_right).then_some(Fault { key: list, found, expected, mend })
        });
        self.place_at(place.0, place.1);
        owner.into_iter().for_each(|owner| self.besides(Source::existence(owner)));
    }
}

/// The key of the user or of the story that a key belongs to.
fn owner_of(key: &str) -> Option<String> {
    let (family, parts) = Family::of(key)?;
    let (_, kind) = family.name.split_once('<')?;
    let id = parts.first()?;
    if kind.starts_with("user id>") {
        id.parse().ok().map(keys::user)
    } else if kind.starts_with("news id>") {
        id.parse().ok().map(keys::news)
    } else {
        None
    }
}

/// The fault of a counter in a field of a hash, if there is one.
pub(crate) fn counter_fault(key: &str, field: &str, found: i64, expected: i64) -> Option<Fault> {
    // An increment, so that no change in between is lost.
    let batch = Batch::of(|batch| batch.increment_field(key, field, expected - found));
    let mend = Mend::write(batch, format!("change the field {field} to {expected}"));
    (found != expected)
        .then(|| Fault::new(key, format_args!("{field} {found}"), format_args!("{field} {expected}"), mend))
}

/// The fault of a score that is a number of something, if there is one. An absent member counts 0.
pub(crate) fn score_fault(key: &str, member: &str, found: Option<f64>, expected: f64) -> Option<Fault> {
    let stored = found.unwrap_or(0.0);
    let batch = Batch::of(|batch| batch.sorted_increment(key, member, expected - stored));
    let mend = Mend::write(batch, format!("change the score of {member} to {expected}"));
    let with = |score| format!("the member {member} with the score {score}");
    (!is_same(stored, expected)).then(|| Fault::new(key, with(stored), with(expected), mend))
}

/// Whether two scores are the same, but for how fractions were written.
pub(crate) fn is_same(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs())
}

/// A whole number in a field of a hash; `None` if it is absent or none.
pub(crate) fn number(hash: &Hash, field: &str) -> Option<i64> {
    hash.get(field)?.parse().ok()
}

/// A number as a counter has it.
pub(crate) fn whole(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
