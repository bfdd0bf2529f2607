//! Taking a person's votes out of counts, scores and ranks, and putting them back.
//!
//! A background job goes through all stories by number, some in each step, and makes the votes
//! agree with the field `discounted` of the user: it takes them out while that is in force, and
//! puts them back otherwise. Each decision starts the job again from the first story, so one that
//! comes before the job is done turns it round. `news.discounted:<id>` says which votes are out.
//! While the restriction is in force the person cannot vote.
//!
//! A story that is deleted or withheld changes its counts and score, and gets its rank when it
//! comes back. A post keeps the vote of its author. Karma is not moved. The votes on
//! sites follow as with a ban, see [`super::bans`].

use crate::articles::article::{ArticleVote, article_state};
use crate::jobs::{self, Job, JobKind, Step, StepOutcome};
use crate::news::discounted::{CommentVote, DiscountedVotes, StoryVote};
use crate::news::item::{Direction, vote_of};
use crate::news::ranks::count_vote;
use crate::values::{
    DISCOUNT_CHUNK, DISCOUNT_WRITES, Moment, NewsId, Restriction, RestrictionKind, Timestamp, UserId,
};
use crate::{Comment, Decision, News, Result, Site, fields, keys};
use tidings_keyspace::{Batch, Fetch, Hash, read};

/// The jobs `discount:<user id>`.
pub(crate) const KIND: JobKind = JobKind { name: "discount", step: |current| Box::pin(step(current)) };

/// The field of a job with the number of the story that comes next.
const NEXT: &str = "next_story";

/// Adds to a batch that the votes of a user follow the decision about them. Returns the job to
/// start once the batch is applied.
pub(super) fn follow(batch: &mut Batch, user: UserId, now: Moment) -> Job {
    let job = Job::new(KIND.name, user);
    jobs::add(batch, &job, now, user);
    jobs::add_fields(batch, &job, [(NEXT, "1".to_owned())]);
    job
}

/// One step: some stories. If the account changes meanwhile, that has added the job anew, and this
/// step does not count. Rounds: 3.
async fn step(current: &Step<'_>) -> Result<Decision<StepOutcome>> {
    let (Some(user), Some(next)) = (current.subject::<UserId>(), current.field::<u64>(NEXT)) else {
        return Ok(current.skip());
    };
    let (site, field) = (current.site, RestrictionKind::Discount.field());
    let chunk: Vec<NewsId> = (next..next.saturating_add(DISCOUNT_CHUNK)).map(NewsId).collect();
    let records = chunk.iter().map(|id| read::field(keys::news_discounted(*id), user.to_string()));
    let reads = (
        read::field(keys::user(user), field),
        fields::counter(keys::NEWS_COUNT),
        records.collect::<Vec<_>>(),
    );
    let (discount, last, records) = site.store.fetch(reads).await?;
    let discount: Option<Restriction> = fields::read(discount.as_deref(), || keys::user(user), field);
    let is_out = discount.is_some_and(|discount| discount.is_in_force(current.now.timestamp()));
    let records = chunk.iter().copied().zip(records);
    let of_interest = |(id, record): &(NewsId, Option<String>)| id.0 <= last && (is_out || record.is_some());
    let records = records.filter(of_interest);
    let story = |record| Story::of(site, current.now.timestamp(), record, user);
    let stories = site.store.fetch(records.map(story).collect::<Vec<_>>().large()).await?;
    let mut batch = current.batch();
    let mut after = next.saturating_add(DISCOUNT_CHUNK);
    for story in stories.into_iter().flatten() {
        if batch.writes().len() > DISCOUNT_WRITES {
            after = story.news.id.0;
            break;
        }
        story.follow(&mut batch, is_out);
    }
    if after > last {
        return Ok(current.finish(batch));
    }
    Ok(current.advance(batch, &[(NEXT, after.to_string())]))
}

/// A story with the votes of a user on it and its comments.
struct Story<'a> {
    site: &'a Site,
    now: Timestamp,
    user: UserId,
    news: News,
    vote: Option<(Direction, f64)>,
    article: ArticleVote,
    thread: Hash,
    /// The record of the votes that are out already, as stored.
    record: Option<String>,
}

impl<'a> Story<'a> {
    /// A story with what is out of it already.
    fn of(
        site: &'a Site,
        now: Timestamp,
        (id, record): (NewsId, Option<String>),
        user: UserId,
    ) -> impl Fetch<Value = Option<Self>> {
        (News::by_id(id), vote_of(id, user), article_state(id, user), read::hash(keys::thread(id))).map(
            move |(news, vote, article, thread)| {
                let news = news?;
                let article = ArticleVote::new(article, now, &news, user);
                Some(Self { site, now, user, news, vote, article, thread, record })
            },
        )
    }

    /// Adds to a batch that the votes on the story and its comments are out, or back.
    fn follow(&self, batch: &mut Batch, is_out: bool) {
        let before = DiscountedVotes::read(self.news.id, self.user, self.record.as_deref());
        let after = if is_out {
            self.take_out(batch, before.clone())
        } else {
            self.put_back(batch, &before);
            DiscountedVotes::default()
        };
        if before != after {
            after.write(batch, (self.news.id, self.user), self.record.as_deref());
        }
    }

    /// Takes the votes out. Returns which are out then.
    fn take_out(&self, batch: &mut Batch, mut out: DiscountedVotes) -> DiscountedVotes {
        if let Some((vote, time)) = self.vote
            && self.news.user_id != self.user
        {
            let article = vote == Direction::Up && self.article.is_in_list();
            let (voters, member) = (self.news.voters_key(vote), self.user.to_string());
            batch.sorted_member_present(&voters, &member);
            batch.sorted_remove(voters, member);
            self.count(batch, vote, -1);
            if article {
                self.move_article(batch, -1);
            }
            out.story = Some(StoryVote { vote, time, article });
        }
        for (field, json) in &self.thread.0 {
            let Some(stored) = Comment::of_stored(self.news.id, field.clone(), json.clone()) else {
                continue;
            };
            let Some(vote) = stored.vote_of(self.user).filter(|_| stored.user_id != self.user) else {
                continue;
            };
            let place = stored.voters(vote).iter().position(|voter| *voter == self.user.0);
            let comment = stored.changed(|comment| comment.take_back_vote(self.user));
            stored.rewrite(batch, &comment);
            out.comments.insert(comment.id.0, CommentVote { vote, place: place.unwrap_or(0) });
        }
        out
    }

    /// Puts votes back.
    fn put_back(&self, batch: &mut Batch, out: &DiscountedVotes) {
        if let (Some(StoryVote { vote, time, article }), None) = (out.story, self.vote) {
            let member = self.user.to_string();
            batch.sorted_member_absent(keys::news_up(self.news.id), &member);
            batch.sorted_member_absent(keys::news_down(self.news.id), &member);
            batch.sorted_add(self.news.voters_key(vote), member, time);
            self.count(batch, vote, 1);
            if article && !self.article.is_in_list() {
                self.move_article(batch, 1);
            }
        }
        for (id, CommentVote { vote, place }) in &out.comments {
            let Some(json) = self.thread.get(&id.to_string()) else { continue };
            let stored = Comment::of_stored(self.news.id, id.to_string(), json.to_owned());
            let Some(stored) = stored.filter(|comment| comment.vote_of(self.user).is_none()) else {
                continue;
            };
            let comment = stored.changed(|comment| comment.put_vote_back(self.user, *vote, *place));
            stored.rewrite(batch, &comment);
        }
    }

    /// Changes the votes of one direction, and what follows from them.
    fn count(&self, batch: &mut Batch, vote: Direction, by: i64) {
        self.news.check_votes(batch);
        self.news.check_state(batch);
        count_vote(batch, &self.news, (vote, by), (self.now, &self.site.rules.ranking));
    }

    fn move_article(&self, batch: &mut Batch, by: i8) {
        if self.article.exists() {
            self.article.write_moved(batch, (self.now, self.news.ctime), by);
        }
    }
}
