//! Votes on news and on comments: one per user, up or down, never both.

use crate::accounts::actor::Actor;
use crate::accounts::users::{self, User};
use crate::action::Decision;
use crate::articles::article;
use crate::comments::comment::{self, Comment};
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::item::{Direction, News, VoteRead};
use crate::news::ranks::{self, write_rank};
use crate::site::Site;
use crate::values::clock::{Moment, Timestamp};
use crate::values::ids::{CommentAddress, NewsId};
use crate::values::ranking;
use crate::values::rates::RatedAction;
use tidings_keyspace::{Batch, Query};

/// Votes on an item. A vote up also saves the item, costs the voter karma, gives some to the
/// author and counts for the article within its first week. A vote down costs more. A vote
/// on one's own item is free. Rounds: 3, and 2 more after a concurrent vote.
///
/// # Errors
/// [`Refusal::NoSuchNews`], [`Refusal::NewsDeleted`], [`Refusal::VotedAlready`],
/// [`Refusal::NotEnoughKarma`], [`Refusal::TooManyRequests`], or the store's.
pub async fn vote_news(
    site: &Site,
    now: Timestamp,
    voter: Actor<'_>,
    id: NewsId,
    direction: Direction,
) -> Result<(), Error> {
    voter.spend(site, Moment::from_timestamp(now), RatedAction::Vote).await?;
    let voter = voter.id;
    let home = keys::news(id);
    let voted = site.act_counting(&home, || async {
        let mut query = Query::new();
        let news = query.hash(keys::news(id));
        let my_vote = VoteRead::ask(&mut query, id, voter);
        let user = query.hash(keys::user(voter));
        // A vote down does not touch the article.
        let article =
            (direction == Direction::Up).then(|| article::ArticleVoteRead::ask(&mut query, id, voter));
        let mut answers = site.store.query(query).await?;
        let news = News::from_hash(&answers.take(news)).ok_or(Refusal::NoSuchNews)?;
        let my_vote = my_vote.take(&mut answers);
        let user = User::from_hash(&answers.take(user)).ok_or(Refusal::NoSuchUser)?;
        let article = article.map(|article| article.take(&mut answers, now, &news, voter));
        if news.deleted {
            return Err(Refusal::NewsDeleted.into());
        }
        if my_vote.is_some() {
            return Err(Refusal::VotedAlready.into());
        }
        let price = price(site, &news, &user, direction)?;
        let author_exists = price.transfer != 0 && users::exists(site, news.user_id).await?;
        let mut batch = vote_batch(site, now, &news, &user, direction, &price, author_exists);
        if let Some(article) = article {
            article.write(&mut batch);
        }
        Ok(Decision::commit(batch, counters_after(&news, direction)))
    });
    let (expected, counters) = voted.await?;
    if counters.get(..2) != Some(&expected) {
        // Other votes were applied between our read and our commit.
        ranks::refresh_rank(site, now, id).await?;
    }
    Ok(())
}

/// The karma that a vote needs, costs and gives.
struct Price {
    /// Karma that the voter must have; `None` if there is no minimum.
    needed: Option<i64>,
    cost: i64,
    transfer: i64,
}

fn price(site: &Site, news: &News, voter: &User, direction: Direction) -> Result<Price, Refusal> {
    let rules = &site.rules.karma;
    if voter.id == news.user_id {
        return Ok(Price { needed: None, cost: 0, transfer: 0 });
    }
    let (minimum, cost, transfer) = match direction {
        Direction::Up => (rules.upvote_minimum, rules.upvote_cost, rules.upvote_transfer),
        Direction::Down => (rules.downvote_minimum, rules.downvote_cost, 0),
    };
    // Only a karma source may go below zero.
    let needed = minimum.max(cost);
    if voter.flags.karma_source {
        return Ok(Price { needed: None, cost, transfer });
    }
    if voter.karma < needed {
        let (visit_increment, visit_seconds) = (rules.visit_increment, rules.visit_seconds);
        return Err(Refusal::NotEnoughKarma { needed, visit_increment, visit_seconds });
    }
    Ok(Price { needed: Some(needed), cost, transfer })
}

/// The votes up and down on an item after one more.
const fn counters_after(news: &News, direction: Direction) -> [i64; 2] {
    match direction {
        Direction::Up => [news.up + 1, news.down],
        Direction::Down => [news.up, news.down + 1],
    }
}

fn vote_batch(
    site: &Site,
    now: Timestamp,
    news: &News,
    voter: &User,
    direction: Direction,
    price: &Price,
    author_exists: bool,
) -> Batch {
    let (key, voter_key, member) = (keys::news(news.id), keys::user(voter.id), voter.id.to_string());
    let mut batch = Batch::new();
    batch.sorted_member_absent(keys::news_up(news.id), &member);
    batch.sorted_member_absent(keys::news_down(news.id), &member);
    batch.key_present(&key);
    batch.field_absent(&key, "del");
    if let Some(needed) = price.needed {
        batch.field_at_least(&voter_key, "karma", needed);
    }
    let [up, down] = counters_after(news, direction);
    // Both, so that the commit returns the new values of both.
    batch.increment_field(&key, "up", up - news.up);
    batch.increment_field(&key, "down", down - news.down);
    match direction {
        Direction::Up => {
            batch.sorted_add(keys::news_up(news.id), &member, now.as_score());
            batch.sorted_add(keys::user_saved(voter.id), news.id.to_string(), now.as_score());
        }
        Direction::Down => batch.sorted_add(keys::news_down(news.id), &member, now.as_score()),
    }
    if price.cost != 0 {
        batch.increment_field(voter_key, "karma", -price.cost);
    }
    if author_exists {
        batch.increment_field(keys::user(news.user_id), "karma", price.transfer);
    }
    let score = ranking::score(up, down, &site.rules.ranking);
    let rank = ranking::rank(score, news.ctime, now, &site.rules.ranking);
    write_rank(&mut batch, (news.id, news.ctime), score, rank);
    batch
}

/// Votes on a comment.
///
/// # Errors
/// [`Refusal::NoSuchComment`], [`Refusal::CommentDeleted`],
/// [`Refusal::NewsDeleted`], [`Refusal::VotedAlready`], [`Refusal::TooManyRequests`], or the
/// store's.
pub async fn vote_comment(
    site: &Site,
    now: Timestamp,
    voter: Actor<'_>,
    address: CommentAddress,
    direction: Direction,
) -> Result<(), Error> {
    voter.spend(site, Moment::from_timestamp(now), RatedAction::Vote).await?;
    let thread = keys::thread(address.news);
    site.act(&format!("{thread}/{}", address.comment), || async {
        let stored = comment::read_stored(site, address).await?;
        if stored.news_deleted {
            return Err(Refusal::NewsDeleted.into());
        }
        let mut comment: Comment = stored.comment;
        if comment.deleted {
            return Err(Refusal::CommentDeleted.into());
        }
        comment.vote(voter.id, direction)?;
        let batch = comment::replacement(address, &stored.json, &comment);
        Ok(Decision::commit(batch, ()))
    })
    .await
}
