//! Claims: what must be true of other keys because of something that is stored, and how it is
//! mended if it is not.

use super::existing::Existing;
use super::source::{Source, SourcePart};
use super::subject::{Subject, SubjectItem};
use crate::items::Item as SiteItem;
use crate::keys::{self, families::Family};
use crate::values::ids::{NewsId, UserId};
use crate::values::removed_by::RemovedBy;
use crate::values::withheld::Withheld;
use std::fmt::Display;
use std::str::FromStr;
use tidings_keyspace::{Answer, Batch, Expiry, Hash, KeyspaceError, Read};

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
    /// A list has more members than it may have.
    pub(crate) fn too_long(key: String, count: u64, most: u64, mend: Mend) -> Self {
        Self { key, found: format!("{count} members"), expected: format!("at most {most}"), mend }
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

type Judge = Box<dyn Fn(&[Answer]) -> Vec<Fault> + Send + Sync>;

/// Reads, and what is wrong by their answers.
pub(crate) struct Claim {
    reads: Vec<Read>,
    /// How many reads the claim has.
    needs: usize,
    judge: Judge,
    /// The field of the subject that the claim is about, if it is one.
    field: Option<String>,
    /// Another key and the field or member of it that the claim is about.
    place: Option<(String, String)>,
    /// Whether the claim rests on the user or the story to whom that key belongs.
    is_owned: bool,
    /// The key that must be there.
    target: Option<String>,
    /// Other sources that the claim rests on, without reading them.
    besides: Vec<Source>,
}

impl Claim {
    /// The reads, once.
    pub(crate) fn take_reads(&mut self) -> Vec<Read> {
        std::mem::take(&mut self.reads)
    }

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
        &self,
        outcomes: &mut impl Iterator<Item = Result<Answer, KeyspaceError>>,
    ) -> Vec<Fault> {
        let mut answers = Vec::with_capacity(self.needs);
        // All of them are taken, so that the next claim has its own.
        let are_readable = outcomes.take(self.needs).fold(true, |are_readable, outcome| match outcome {
            Ok(answer) => {
                answers.push(answer);
                are_readable
            }
            Err(_) => false,
        });
        if are_readable { (self.judge)(&answers) } else { Vec::new() }
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
        let owner = self.place.as_ref().filter(|_| self.is_owned).and_then(|(key, _)| owner_of(key));
        let mut sources: Vec<Source> = self.reads.iter().map(Source::of).collect();
        sources.push(own);
        sources.extend(owner.map(Source::existence));
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
    /// Keys of which nothing has to be claimed.
    existing: Option<&'a Existing>,
}

const LOST_REMOVAL: Mend =
    Mend::Person("restore the field `removed` from a backup before a moderator puts the post back");
const LEFT_BEHIND: Mend = Mend::Person("delete the field `removed`, unless the post is to be removed again");

impl<'a> Claims<'a> {
    /// No claims yet, of a rule about a subject.
    pub(crate) const fn about(subject: &'a Subject, existing: Option<&'a Existing>) -> Self {
        Self { all: Vec::new(), subject, field: None, existing }
    }

    /// The next claim is about one field of the hash, and rests on nothing else of it.
    pub(crate) fn of(&mut self, field: impl Display) -> &mut Self {
        self.field = Some(field.to_string());
        self
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

    /// A claim: reads, and what is wrong by their answers.
    pub(crate) fn add(
        &mut self,
        reads: Vec<Read>,
        judge: impl Fn(&[Answer]) -> Option<Fault> + Send + Sync + 'static,
    ) {
        self.add_all(reads, move |answers| judge(answers).into_iter().collect());
    }

    /// The same, where several things may be wrong.
    pub(crate) fn add_all(
        &mut self,
        reads: Vec<Read>,
        judge: impl Fn(&[Answer]) -> Vec<Fault> + Send + Sync + 'static,
    ) {
        self.all.push(Claim {
            needs: reads.len(),
            reads,
            judge: Box::new(judge),
            field: self.field.take(),
            place: None,
            is_owned: false,
            target: None,
            besides: Vec::new(),
        });
    }

    /// A claim about the key itself: `judge` tells what is found instead of what is expected, and what is done
    /// about it.
    pub(crate) fn expects(
        &mut self,
        expected: impl Display + Send + Sync + 'static,
        reads: Vec<Read>,
        judge: impl Fn(&[Answer]) -> Option<(String, Mend)> + Send + Sync + 'static,
    ) {
        let of = self.subject.of.clone();
        self.add(reads, move |answers| {
            let (found, mend) = judge(answers)?;
            Some(Fault { key: of.key.clone(), found, expected: expected.to_string(), mend })
        });
    }

    /// A member must belong to its list, or it is removed. `stray` returns what is found instead; to the batch of
    /// the removal it adds checks, and whatever else goes.
    pub(crate) fn belongs(
        &mut self,
        expected: impl Display + Send + Sync + 'static,
        reads: Vec<Read>,
        stray: impl Fn(&[Answer], &mut Batch) -> Option<String> + Send + Sync + 'static,
    ) {
        let removal = self.subject.removal();
        self.expects(expected, reads, move |answers| {
            let mut batch = removal.clone();
            let found = stray(answers, &mut batch)?;
            Some((found, Mend::write(batch, "remove the member")))
        });
    }

    /// Something is wrong whatever else is stored.
    pub(crate) fn fault(&mut self, fault: Fault) {
        self.add(Vec::new(), move |_| Some(fault.clone()));
    }

    /// The key itself is wrong whatever else is stored.
    pub(crate) fn wrong(&mut self, found: impl Display, expected: impl Display, mend: Mend) {
        let (found, expected) = (found.to_string(), expected.to_string());
        self.fault(Fault { key: self.subject.key.clone(), found, expected, mend });
    }

    /// The value does not have its form.
    pub(crate) fn malformed(&mut self, found: impl Display, expected: impl Display) {
        self.wrong(found, expected, Mend::BY_HAND);
    }

    /// A post that moderators have removed or merged, and nothing else, names the line of the log that removed it. A post that
    /// was rejected was never shown, and names none.
    pub(crate) fn removal(
        &mut self,
        post: impl Display,
        (removed, state): (Option<&RemovedBy>, Option<&Withheld>),
        was_unseen: bool,
    ) {
        let is_removed = state.is_some_and(|state| state.is_removed() || state.is_merged());
        match removed {
            Some(RemovedBy { line, .. }) if is_removed => {
                let mend = Mend::Person("restore the line from a backup; lines of the log are never removed");
                self.refers(format!("{post} removed by the line {line}"), keys::moderation(*line), mend);
            }
            Some(_) => {
                self.wrong(format!("{post} with a removal, which is not removed"), "no removal", LEFT_BEHIND)
            }
            None if is_removed && !was_unseen => {
                self.wrong(
                    format!("{post} is removed, and names no line"),
                    "the line that removed it",
                    LOST_REMOVAL,
                );
            }
            None => {}
        }
    }

    /// The member cannot be read, and is removed.
    pub(crate) fn unreadable(&mut self, expected: &str) {
        if let Some((member, _)) = self.subject.member() {
            let mend = Mend::write(self.subject.removal(), "remove the member");
            self.wrong(format_args!("the member {member:?}"), expected, mend);
        }
    }

    /// The hash must have the id of the key.
    pub(crate) fn own_id(&mut self) {
        let (stored, id) = (self.subject.hash().and_then(|hash| hash.get("id")), self.subject.part());
        if stored != Some(id) {
            self.of("id")
                .malformed(format_args!("id {}", stored.unwrap_or("absent")), format_args!("id {id}"));
        }
    }

    /// The member as what it should be. If it is something else, that is wrong.
    pub(crate) fn member<T: FromStr>(&mut self, expected: &str) -> Option<T> {
        let (member, _) = self.subject.member()?;
        let parsed = member.parse().ok();
        if parsed.is_none() {
            self.malformed(format_args!("the member {member:?}"), expected);
        }
        parsed
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

    /// Each field of the hash must have its form. Its value may be a secret.
    pub(crate) fn each_field(&mut self, has_form: impl Fn(&str, &str) -> bool, expected: &str) {
        for (field, value) in self.subject.fields() {
            if !has_form(field, value) {
                self.malformed(format_args!("the field {field:?}"), expected);
            }
        }
    }

    /// A field counts something, which it must equal.
    pub(crate) fn counts(&mut self, field: &'static str, found: i64, expected: i64) {
        if let Some(fault) = counter_fault(&self.subject.key, field, found, expected) {
            self.fault(fault);
        }
    }

    /// Why something is withheld must be readable: whether it is listed follows from it.
    pub(crate) fn state(&mut self, stored: Option<&str>) {
        if let Some(stored) = stored.filter(|stored| stored.parse::<Withheld>().is_err()) {
            self.malformed(format_args!("withheld {stored:?}"), "withheld as docs/data-layout.md says");
        }
    }

    /// The key names something that must exist: `what`, at `target`.
    pub(crate) fn refers(&mut self, what: impl Display + Send + Sync + 'static, target: String, mend: Mend) {
        if self.existing.is_some_and(|existing| existing.has(&target)) {
            self.field = None;
            return;
        }
        let (of, named) = (self.subject.of.clone(), target.clone());
        self.add(vec![Read::Expiry(target.clone())], move |answers| {
            is_absent(answers, 0).then(|| Fault {
                key: of.key.clone(),
                found: format!("{what}, which does not exist"),
                expected: format!("a value at {named}"),
                mend: mend.clone(),
            })
        });
        if let Some(claim) = self.all.last_mut() {
            claim.target = Some(target);
        }
    }

    /// A sorted set must have a member, with this score if there is one. `guard` has the checks of
    /// the batch that adds it with the score, or with `otherwise`. If the list belongs to somebody or
    /// to a story, that must exist, or nothing is added.
    pub(crate) fn listed(
        &mut self,
        list: String,
        member: impl Display,
        (score, otherwise): (Option<f64>, f64),
        guard: &Batch,
    ) {
        let member = member.to_string();
        let mut batch = guard.clone();
        batch.sorted_add(&list, &member, score.unwrap_or(otherwise));
        let place = (list.clone(), member.clone());
        self.add(vec![Read::Scores(list.clone(), vec![member.clone()])], move |answers| {
            let stored = score_in(answers, 0);
            let is_right = stored.is_some_and(|stored| score.is_none_or(|score| is_same(stored, score)));
            let found = stored.map_or_else(
                || format!("no member {member}"),
                |stored| format!("the member {member} with the score {stored}"),
            );
            let expected = score.map_or_else(
                || format!("the member {member}"),
                |score| format!("the member {member} with the score {score}"),
            );
            let mend = Mend::write(batch.clone(), "add the member with its score");
            (!is_right).then(|| Fault { key: list.clone(), found, expected, mend })
        });
        self.place_at(place.0, place.1);
        if let Some(claim) = self.all.last_mut() {
            claim.is_owned = true;
        }
    }

    /// A sorted set must not have a member. `guard` has the checks of the batch that removes it.
    pub(crate) fn not_listed(&mut self, list: String, member: impl Display, why: &str, guard: &Batch) {
        let (member, why) = (member.to_string(), why.to_owned());
        let mut batch = guard.clone();
        batch.sorted_remove(&list, &member);
        let place = (list.clone(), member.clone());
        self.add(vec![score(&list, &member)], move |answers| {
            score_in(answers, 0)?;
            let mend = Mend::write(batch.clone(), "remove the member");
            let (found, expected) = (format!("the member {member}"), format!("no such member: {why}"));
            Some(Fault { key: list.clone(), found, expected, mend })
        });
        self.place_at(place.0, place.1);
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
    let mut batch = Batch::new();
    // An increment, so that no change in between is lost.
    batch.increment_field(key, field, expected - found);
    let mend = Mend::write(batch, format!("change the field {field} to {expected}"));
    (found != expected).then(|| Fault {
        key: key.to_owned(),
        found: format!("{field} {found}"),
        expected: format!("{field} {expected}"),
        mend,
    })
}

/// The fault of a score that is a number of something, if there is one. An absent member counts 0.
pub(crate) fn score_fault(key: &str, member: &str, found: Option<f64>, expected: f64) -> Option<Fault> {
    let stored = found.unwrap_or(0.0);
    let mut batch = Batch::new();
    batch.sorted_increment(key, member, expected - stored);
    let mend = Mend::write(batch, format!("change the score of {member} to {expected}"));
    (!is_same(stored, expected)).then(|| Fault {
        key: key.to_owned(),
        found: format!("the member {member} with the score {stored}"),
        expected: format!("the member {member} with the score {expected}"),
        mend,
    })
}

/// Whether two scores are the same, but for how fractions were written.
pub(crate) fn is_same(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs())
}

/// The first score in the answer at a position.
pub(crate) fn score_in(answers: &[Answer], position: usize) -> Option<f64> {
    match answers.get(position) {
        Some(Answer::Scores(scores)) => scores.first().copied().flatten(),
        _ => None,
    }
}

/// The count in the answer at a position.
pub(crate) fn count_in(answers: &[Answer], position: usize) -> i64 {
    match answers.get(position) {
        Some(Answer::Count(count)) => i64::try_from(*count).unwrap_or(i64::MAX),
        _ => 0,
    }
}

/// A field in the answer at a position.
pub(crate) fn field_in(answers: &[Answer], position: usize, field: usize) -> Option<&str> {
    match answers.get(position) {
        Some(Answer::Texts(texts)) => texts.get(field)?.as_deref(),
        _ => None,
    }
}

/// The hash in the answer at a position; `None` if it is empty.
pub(crate) fn hash_in(answers: &[Answer], position: usize) -> Option<&Hash> {
    match answers.get(position) {
        Some(Answer::Hash(hash)) if !hash.is_empty() => Some(hash),
        _ => None,
    }
}

/// The text in the answer at a position.
pub(crate) fn text_in(answers: &[Answer], position: usize) -> Option<&str> {
    match answers.get(position) {
        Some(Answer::Text(text)) => text.as_deref(),
        _ => None,
    }
}

/// Whether a key is absent, by the answer at a position.
pub(crate) fn is_absent(answers: &[Answer], position: usize) -> bool {
    matches!(answers.get(position), Some(Answer::Expiry(Expiry::Absent)))
}

/// The yes or no in the answer at a position.
pub(crate) fn bool_in(answers: &[Answer], position: usize) -> bool {
    matches!(answers.get(position), Some(Answer::Bool(true)))
}

/// A whole number in a field of a hash; `None` if it is absent or none.
pub(crate) fn number(hash: &Hash, field: &str) -> Option<i64> {
    hash.get(field)?.parse().ok()
}

/// The read of some fields of a hash.
pub(crate) fn fields<const N: usize>(key: String, fields: [&str; N]) -> Read {
    Read::HashFields(key, fields.map(str::to_owned).into())
}

/// The read of the score of a member.
pub(crate) fn score(key: impl Into<String>, member: impl Display) -> Read {
    Read::Scores(key.into(), vec![member.to_string()])
}
