//! Votes on news and on comments: one per user, up or down, never both. A vote can be taken
//! back for a while; then everything that it did is undone.

use crate::accounts::{RecentVote, VoteEffect, VotedOn, people};
use crate::articles::article::{ArticleVote, article_state};
use crate::comments::comment::StoredComment;
use crate::news::discounted::VoterStanding;
use crate::news::item::{Direction, vote_of};
use crate::news::marking::{add_upvoted, remove_upvoted};
use crate::news::ranks::{self, count_vote};
use crate::values::{
    CommentAddress, MAX_VOTES_ASKED, Moment, NewsId, RatedAction, Timestamp, UserId, VotePrice, VoteState,
};
use crate::{Actor, Comment, CountedAction, Decision, News, Refusal, Result, Role, Site, User, keys};
use tidings_keyspace::{Batch, Committed, Fetch, read};

/// Votes on an item. A vote up also saves the item, gives the author karma, and counts for the article
/// within its first week. The rules set the price of a vote; a vote on one's own item is free. Rounds: 3,
/// and 2 more after a concurrent vote.
///
/// # Errors
/// [`Refusal::NoSuchNews`], those of [`PostState::demand_open`](crate::values::withheld::PostState::demand_open), [`Refusal::VotedAlready`],
/// [`Refusal::VotesDiscounted`], [`Refusal::NotEnoughKarma`], [`Refusal::TooManyRequests`], or the store's.
pub async fn vote_news(
    site: &Site,
    now: Timestamp,
    voter: Actor<'_>,
    id: NewsId,
    direction: Direction,
) -> Result<()> {
    voter.spend(site, Moment::from_timestamp(now), RatedAction::Vote).await?;
    let (request, account, voter) = (voter.user.request.as_ref(), voter.user, voter.id);
    let is_up = direction == Direction::Up;
    let home = keys::news(id);
    let voted = site.act_counting(&home, || async {
        // A vote down does not touch the article.
        let article = is_up.then(|| article_state(id, voter));
        let reads = (User::by_id(voter), VotedItem::of(site, now, id, account), article);
        let (user, state, article) = site.store.fetch(reads).await?;
        let user = user.ok_or(Refusal::NoSuchUser)?;
        let VotedItem { news, my_vote, recent, standing } = state?;
        let article = article.map(|article| ArticleVote::new(article, now, &news, voter));
        match my_vote {
            Some((cast, _)) if cast == direction => {
                let refusal = Refusal::VotedAlready(Some(state_of(&news, Some(cast))));
                return Decision::done_already(request, None, refusal);
            }
            Some((cast, _)) => return Err(Refusal::VotedAlready(Some(state_of(&news, Some(cast)))).into()),
            None => {}
        }
        standing.refuse_second_vote()?;
        let prices = site.rules.karma.story_vote(is_up);
        let price = Price::of(site, (&user, account), news.user_id, prices).await?;
        let record = VoteEffect {
            cost: price.cost,
            transfer: price.transfer,
            article: article.as_ref().map(ArticleVote::effect).unwrap_or_default(),
            ..VoteEffect::free(now)
        };
        let mut batch = vote_batch(now, &news, voter, direction);
        standing.check(&mut batch);
        price.write(&mut batch, [voter, news.user_id]);
        let counters = count_vote(&mut batch, &news, (direction, 1), (now, &site.rules.ranking));
        if is_up {
            add_upvoted(&mut batch, voter, id, now.as_score());
        }
        article.iter().for_each(|article| article.write(&mut batch));
        recent.add(site, &mut batch, &record).await?;
        Decision::commit(batch, Some(counters)).once(request, &())
    });
    if let (Some(expected), committed) = voted.await? {
        site.count(CountedAction::Vote);
        refresh_rank(site, now, id, (expected, &committed)).await;
    }
    Ok(())
}

/// The votes on at most [`MAX_VOTES_ASKED`] stories and comments as a voter sees them, without those that the voter
/// cannot vote on. Rounds: 1.
pub async fn states(
    site: &Site,
    now: Timestamp,
    voter: &User,
    asked: &[VotedOn],
) -> Result<Vec<(VotedOn, VoteState)>> {
    let asked = asked.iter().copied().take(MAX_VOTES_ASKED);
    let (mut stories, mut comments) = (Vec::new(), Vec::new());
    for thing in asked {
        match thing {
            VotedOn::News(id) => stories.push(VotedItem::of(site, now, id, voter).or_absent()),
            VotedOn::Comment(address) => comments.push(read_comment(site, now, address, voter).or_absent()),
        }
    }
    let (stories, comments) = site.store.fetch((stories, comments)).await?;
    let stories = stories.into_iter().flatten().map(|item| {
        let my_vote = item.my_vote.map(|(vote, _)| vote);
        (VotedOn::News(item.news.id), state_of(&item.news, my_vote))
    });
    let comments = comments.into_iter().flatten().map(|(stored, ..)| {
        let address = stored.comment.address();
        (VotedOn::Comment(address), stored.comment.votes_for(voter.id))
    });
    Ok(stories.chain(comments).collect())
}

/// The votes on a story as a voter with this vote sees them.
const fn state_of(news: &News, vote: Option<Direction>) -> VoteState {
    let [up, down] = news.votes();
    let is_up = match vote {
        Some(vote) => Some(matches!(vote, Direction::Up)),
        None => None,
    };
    VoteState { is_up, up, down }
}

/// Takes the voter's own vote on an item back. Everything that it did is undone: the counters,
/// karma of voter and author as they were moved then, the vote on the article, and the saved
/// item, unless it was saved without the vote. The author's karma may then be below zero.
/// Rounds: 2, and 2 more after a concurrent vote.
///
/// # Errors
/// [`Refusal::NoSuchNews`], those of [`PostState::demand_open`](crate::values::withheld::PostState::demand_open), [`Refusal::NoVoteToTakeBack`],
/// [`Refusal::OwnFirstVote`], [`Refusal::TooLateToTakeBack`], [`Refusal::VotesAreFinal`],
/// [`Refusal::TooManyRequests`], or the store's.
pub async fn take_back_news_vote(site: &Site, now: Timestamp, voter: Actor<'_>, id: NewsId) -> Result<()> {
    voter.spend(site, Moment::from_timestamp(now), RatedAction::Vote).await?;
    let (request, account, voter) = (voter.user.request.as_ref(), voter.user, voter.id);
    let home = keys::news(id);
    let taken_back = site.act_counting(&home, || async {
        let saved = read::score(keys::user_saved(voter), id.to_string());
        let reads = (VotedItem::of(site, now, id, account), article_state(id, voter), saved);
        let (state, article, saved) = site.store.fetch(reads).await?;
        let VotedItem { news, my_vote, recent, standing } = state?;
        let article = ArticleVote::new(article, now, &news, voter);
        let is_first = |time: f64| voter == news.user_id && is_same_time(time, news.ctime);
        let Some((direction, time)) = my_vote else {
            let refusal = Refusal::NoVoteToTakeBack(state_of(&news, None));
            return Decision::done_already(request, None, refusal);
        };
        let record = recent.record().filter(|record| is_same_time(time, Timestamp(record.time)));
        let record = record.ok_or_else(|| why_final(site, is_first(time)))?;
        let mut batch = taken_back_batch(&news, voter, direction);
        standing.check(&mut batch);
        recent.remove(&mut batch);
        let counters = count_vote(&mut batch, &news, (direction, -1), (now, &site.rules.ranking));
        write_karma(&mut batch, [voter, news.user_id], [record.cost, -record.transfer]);
        if direction == Direction::Up {
            write_taken_back(&mut batch, (id, voter), saved);
            article.write_taken_back(&mut batch, record.article);
        }
        Decision::commit(batch, Some(counters)).once(request, &())
    });
    if let (Some(expected), committed) = taken_back.await? {
        refresh_rank(site, now, id, (expected, &committed)).await;
    }
    Ok(())
}

/// Stores the rank again if other votes were applied between a read and its commit. If that
/// fails, readers do it later: the vote is done, and must not be answered as if it were not.
async fn refresh_rank(
    site: &Site,
    now: Timestamp,
    id: NewsId,
    (expected, committed): ([i64; 2], &Committed),
) {
    let key = keys::news(id);
    if ["up", "down"].map(|field| committed.field(&key, field)) != expected.map(Some)
        && let Err(error) = ranks::refresh_rank(site, now, id).await
    {
        tracing::debug!(%error, id = id.0, "the rank of a story is not stored again");
    }
}

/// Why a vote cannot be taken back that is not among the recent ones.
fn why_final(site: &Site, is_first_own: bool) -> Refusal {
    match site.rules.karma.take_back_seconds {
        0 => Refusal::VotesAreFinal,
        _ if is_first_own => Refusal::OwnFirstVote,
        window_seconds => Refusal::TooLateToTakeBack { window_seconds },
    }
}

fn is_same_time(score: f64, time: Timestamp) -> bool {
    score.total_cmp(&time.as_score()).is_eq()
}

/// An item that can be voted on, and the voter's own votes.
struct VotedItem {
    news: News,
    /// The vote on the item, and when it was cast.
    my_vote: Option<(Direction, f64)>,
    recent: RecentVote,
    standing: VoterStanding,
}

impl VotedItem {
    fn of(
        site: &Site,
        now: Timestamp,
        id: NewsId,
        voter: &User,
    ) -> impl Fetch<Value = Result<Self, Refusal>> {
        let window = site.rules.karma.take_back_seconds;
        let recent = RecentVote::by(voter.id, VotedOn::News(id), now, window);
        let reads = (News::by_id(id), vote_of(id, voter.id), recent, VoterStanding::of(id, voter.id, now));
        reads.map(|(news, my_vote, recent, standing)| {
            let news = news.ok_or(Refusal::NoSuchNews)?;
            news.state().demand_open(voter)?;
            Ok(Self { news, my_vote, recent, standing: standing? })
        })
    }
}

/// The karma that a vote of one person needs, costs and gives.
struct Price {
    /// Karma that the voter must have; `None` if there is no minimum.
    needed: Option<i64>,
    cost: i64,
    transfer: i64,
}

impl Price {
    /// The price for a voter, as stored now and as known from the session. Votes on what one has written
    /// oneself are free. Moderators and administrators need no karma, and pay what they have. An author who has left gets
    /// nothing. Rounds: none, and 1 if the author gets any.
    async fn of(
        site: &Site,
        (voter, account): (&User, &User),
        author: UserId,
        VotePrice { needed, cost, transfer }: VotePrice,
    ) -> Result<Self> {
        if voter.id == author {
            return Ok(Self { needed: None, cost: 0, transfer: 0 });
        }
        let (needed, cost) = if voter.flags.karma_source {
            // Only a karma source may go below zero.
            (0, cost)
        } else if account.role() >= Role::Moderator {
            let paid = cost.min(voter.karma.max(0));
            (paid, paid)
        } else {
            (needed, cost)
        };
        let needed = (needed > 0).then_some(needed);
        if let Some(needed) = needed.filter(|needed| voter.karma < *needed) {
            return Err(Refusal::of_vote(needed, &site.rules.karma).into());
        }
        let pays_author = transfer != 0 && people::exists(site, author).await?;
        Ok(Self { needed, cost, transfer: if pays_author { transfer } else { 0 } })
    }

    /// Moves the karma, if the voter still has enough.
    fn write(&self, batch: &mut Batch, [voter, author]: [UserId; 2]) {
        if let Some(needed) = self.needed {
            batch.field_at_least(keys::user(voter), "karma", needed);
        }
        write_karma(batch, [voter, author], [-self.cost, self.transfer]);
    }
}

/// The batch of a vote with its checks.
fn vote_batch(now: Timestamp, news: &News, voter: UserId, direction: Direction) -> Batch {
    let member = voter.to_string();
    let mut batch = Batch::new();
    batch.sorted_member_absent(keys::news_up(news.id), &member);
    batch.sorted_member_absent(keys::news_down(news.id), &member);
    news.check_state(&mut batch);
    let voters = news.voters_key(direction);
    batch.sorted_add(voters, &member, now.as_score());
    batch
}

/// The batch that takes a vote back, with its checks.
fn taken_back_batch(news: &News, voter: UserId, direction: Direction) -> Batch {
    let (voters, member) = (news.voters_key(direction), voter.to_string());
    let mut batch = Batch::new();
    batch.sorted_member_present(&voters, &member);
    news.check_state(&mut batch);
    batch.sorted_remove(voters, member);
    batch
}

/// Changes the karma of the voter and of the author.
fn write_karma(batch: &mut Batch, people: [UserId; 2], karma: [i64; 2]) {
    for (user, by) in people.into_iter().zip(karma) {
        if by != 0 {
            batch.increment_field(keys::user(user), "karma", by);
        }
    }
}

/// Takes an item off the list of those that the voter voted up or saved, unless it was saved.
fn write_taken_back(batch: &mut Batch, (id, voter): (NewsId, UserId), saved_at: Option<f64>) {
    let (saved, member) = (keys::user_saved(voter), id.to_string());
    match saved_at {
        Some(time) => {
            batch.sorted_member_present(saved, &member);
            add_upvoted(batch, voter, id, time);
        }
        None => {
            batch.sorted_member_absent(saved, &member);
            remove_upvoted(batch, voter, id);
        }
    }
}

/// Votes on a comment. Rounds: 2, and 1 more if it gives the author karma.
///
/// # Errors
/// [`Refusal::NoSuchComment`], [`Refusal::Closed`], [`Refusal::VotedAlready`], [`Refusal::NotEnoughKarma`],
/// [`Refusal::TooManyRequests`], or the store's.
pub async fn vote_comment(
    site: &Site,
    now: Timestamp,
    voter: Actor<'_>,
    address: CommentAddress,
    direction: Direction,
) -> Result<()> {
    voter.spend(site, Moment::from_timestamp(now), RatedAction::Vote).await?;
    let (request, account, voter) = (voter.user.request.as_ref(), voter.user, voter.id);
    let home = comment_home(address);
    let is_new = site.act(&home, || async {
        let reads = (User::by_id(voter), read_comment(site, now, address, account));
        let (user, read) = site.store.fetch(reads).await?;
        let (user, (stored, recent, standing)) = (user.ok_or(Refusal::NoSuchUser)?, read?);
        if stored.comment.vote_of(voter) == Some(direction) {
            let refusal = Refusal::VotedAlready(Some(stored.comment.votes_for(voter)));
            return Decision::done_already(request, false, refusal);
        }
        let mut comment = Comment::clone(&stored.comment);
        comment.vote(voter, direction)?;
        standing.refuse_second_vote_on(address.comment)?;
        let author = stored.comment.user_id;
        let prices = site.rules.karma.comment_vote(direction == Direction::Up);
        let price = Price::of(site, (&user, account), author, prices).await?;
        let Price { cost, transfer, .. } = price;
        let mut batch = Batch::new();
        stored.comment.rewrite(&mut batch, &comment);
        standing.check(&mut batch);
        price.write(&mut batch, [voter, author]);
        recent.add(site, &mut batch, &VoteEffect { cost, transfer, ..VoteEffect::free(now) }).await?;
        Decision::commit(batch, true).once(request, &address)
    });
    if is_new.await? {
        site.count(CountedAction::CommentVote);
    }
    Ok(())
}

/// Takes the voter's own vote on a comment back, and the karma that it moved then. Rounds: 2.
///
/// # Errors
/// [`Refusal::NoSuchComment`], [`Refusal::Closed`],
/// [`Refusal::NoVoteToTakeBack`], [`Refusal::OwnFirstVote`], [`Refusal::TooLateToTakeBack`],
/// [`Refusal::VotesAreFinal`], [`Refusal::TooManyRequests`], or the store's.
pub async fn take_back_comment_vote(
    site: &Site,
    now: Timestamp,
    voter: Actor<'_>,
    address: CommentAddress,
) -> Result<()> {
    voter.spend(site, Moment::from_timestamp(now), RatedAction::Vote).await?;
    let (request, account, voter) = (voter.user.request.as_ref(), voter.user, voter.id);
    site.act(&comment_home(address), || async {
        let read = site.store.fetch(read_comment(site, now, address, account)).await?;
        let (stored, recent, standing) = read?;
        if stored.comment.vote_of(voter).is_none() {
            let refusal = Refusal::NoVoteToTakeBack(stored.comment.votes_for(voter));
            return Decision::done_already(request, (), refusal);
        }
        let record = recent.record().ok_or_else(|| why_final(site, voter == stored.comment.user_id))?;
        let comment = stored.comment.changed(|comment| comment.take_back_vote(voter));
        let mut batch = Batch::new();
        stored.comment.rewrite(&mut batch, &comment);
        standing.check(&mut batch);
        recent.remove(&mut batch);
        write_karma(&mut batch, [voter, stored.comment.user_id], [record.cost, -record.transfer]);
        Decision::commit(batch, ()).once(request, &address)
    })
    .await
}

fn comment_home(address: CommentAddress) -> String {
    format!("{}/{}", keys::thread(address.news), address.comment)
}

/// A comment that can be voted on, and the recent vote of the voter on it.
fn read_comment(
    site: &Site,
    now: Timestamp,
    address: CommentAddress,
    voter: &User,
) -> impl Fetch<Value = Result<(StoredComment, RecentVote, VoterStanding), Refusal>> {
    let window = site.rules.karma.take_back_seconds;
    let recent = RecentVote::by(voter.id, VotedOn::Comment(address), now, window);
    let reads = (StoredComment::at(address), recent, VoterStanding::of(address.news, voter.id, now));
    reads.map(|(stored, recent, standing)| {
        let stored = stored?;
        stored.news.state().demand_open(voter)?;
        let standing = standing?;
        stored.comment.state().demand_open(voter)?;
        Ok((stored, recent, standing))
    })
}
