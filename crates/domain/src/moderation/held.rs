//! Posts that wait for a moderator: approving and rejecting them, and taking a rejection back.

use super::case::{Case, Effect};
use crate::accounts::users::User;
use crate::comments::held::{CommentPublication, HeldComment, demand_held};
use crate::error::{Error, Refusal};
use crate::keys;
use crate::news::item::News;
use crate::review;
use crate::submissions::held::{self as stories, Publication};
use crate::timelines::held as tweets;
use crate::values::ids::{CommentAddress, NewsId, TweetId, UserId};
use crate::values::moderation::Thing;
use crate::values::withheld::{WITHHELD, Withheld};
use tidings_keyspace::Query;

/// Refuses a moderator who must not decide about somebody's post. An account that is gone
/// protects nothing. Rounds: 1.
async fn demand_power_over(case: &Case<'_>, author: UserId) -> Result<(), Error> {
    let mut query = Query::new();
    let author = query.hash(keys::user(author));
    match User::from_hash(&case.site.store.query(query).await?.take(author)) {
        Some(author) => Ok(case.demand_power_over(&author)?),
        None => Ok(()),
    }
}

/// Publishes a story.
pub(super) async fn approve_story(case: &Case<'_>, id: NewsId) -> Result<Effect, Error> {
    let (news, author) = stories::read_held(case.site, id).await?;
    author.iter().try_for_each(|author| case.demand_power_over(author))?;
    let mut effect = decided(case, news.user_id, "Your story was approved", &news.title);
    let publication = Publication::read(case.site, case.now, (news, author.as_ref())).await?;
    publication.write(&mut effect.batch, case.site, case.now);
    effect.then.push(Box::new(|site| publication.begin(site)));
    Ok(effect)
}

/// Publishes a comment.
pub(super) async fn approve_comment(case: &Case<'_>, address: CommentAddress) -> Result<Effect, Error> {
    let held = demand_held(HeldComment::find(case.site, address).await?)?;
    let author = held.comment.user_id;
    demand_power_over(case, author).await?;
    let mut effect = decided(case, author, "Your comment was approved", &held.comment.body);
    let publication = CommentPublication::read(case.site, case.now, case.moderator, held).await?;
    publication.write(&mut effect.batch, case.now);
    effect.then.push(Box::new(|site| publication.begin(site)));
    Ok(effect)
}

/// Publishes a tweet.
pub(super) async fn approve_tweet(case: &Case<'_>, id: TweetId) -> Result<Effect, Error> {
    let tweet = tweets::read_held(case.site, id).await?;
    demand_power_over(case, tweet.user_id).await?;
    let mut effect = decided(case, tweet.user_id, "Your tweet was approved", &tweet.text);
    let new = tweets::read_publication(case.site, case.now, &tweet).await?;
    tweets::guard(&mut effect.batch, &tweet);
    new.write(&mut effect.batch, case.site, &tweet.text);
    effect.then.push(Box::new(move |site| new.draft.begin(site)));
    Ok(effect)
}

/// Rejects a story: it is as if it were removed.
pub(super) async fn reject_story(case: &Case<'_>, id: NewsId) -> Result<Effect, Error> {
    let (news, author) = stories::read_held(case.site, id).await?;
    author.iter().try_for_each(|author| case.demand_power_over(author))?;
    let mut effect = decided(case, news.user_id, "Your story was rejected", &news.title);
    effect.before = news.withheld.as_ref().map(ToString::to_string);
    news.write_state(&mut effect.batch, Some(&removed(case)));
    Ok(effect)
}

/// Rejects a comment.
pub(super) async fn reject_comment(case: &Case<'_>, address: CommentAddress) -> Result<Effect, Error> {
    let held = demand_held(HeldComment::find(case.site, address).await?)?;
    demand_power_over(case, held.comment.user_id).await?;
    let mut effect = decided(case, held.comment.user_id, "Your comment was rejected", &held.comment.body);
    effect.before = held.comment.withheld.as_ref().map(ToString::to_string);
    held.write_state(&mut effect.batch, removed(case));
    Ok(effect)
}

/// Rejects a tweet.
pub(super) async fn reject_tweet(case: &Case<'_>, id: TweetId) -> Result<Effect, Error> {
    let tweet = tweets::read_held(case.site, id).await?;
    demand_power_over(case, tweet.user_id).await?;
    let mut effect = decided(case, tweet.user_id, "Your tweet was rejected", &tweet.text);
    effect.before = tweet.withheld.as_ref().map(ToString::to_string);
    set_tweet_state(&mut effect, id, tweet.withheld.as_ref(), &removed(case));
    Ok(effect)
}

/// Lets a rejected post wait again: the undo of a rejection.
pub(super) async fn reopen(case: &Case<'_>) -> Result<Effect, Error> {
    let line = case.undoes.ok_or(Refusal::CannotBeUndone)?;
    let state: Option<Withheld> = line.before.as_deref().and_then(|before| before.parse().ok());
    let state = state.ok_or(Refusal::CannotBeUndone)?;
    let rejected = Withheld::removed(&line.reason);
    let mut effect = Effect { concerns: line.concerns, ..Effect::default() };
    if let Some(author) = line.concerns {
        demand_power_over(case, author).await?;
    }
    match case.thing {
        Thing::Story(id) => {
            let news = case.site.store.fetch(News::by_id(*id)).await?;
            let news = news.filter(|news| !news.deleted && news.withheld.as_ref() == Some(&rejected));
            news.ok_or(Refusal::CannotBeUndone)?.write_state(&mut effect.batch, Some(&state));
        }
        Thing::Tweet(id) => set_tweet_state(&mut effect, *id, Some(&rejected), &state),
        Thing::Comment(address) => {
            let rejected = HeldComment::find_in(case.site, *address, &rejected).await?;
            demand_held(rejected)?.write_state(&mut effect.batch, state);
        }
        _ => return Err(case.does_not_apply().into()),
    }
    review::enqueue(&mut effect.batch, case.thing, case.now.timestamp());
    Ok(effect)
}

/// The state of a post that was rejected.
fn removed(case: &Case<'_>) -> Withheld {
    Withheld::removed(case.reason.as_str())
}

/// Changes the state of a tweet, if it is still the same.
fn set_tweet_state(effect: &mut Effect, id: TweetId, before: Option<&Withheld>, after: &Withheld) {
    let key = keys::tweet(id);
    effect.batch.field_unchanged(&key, WITHHELD, before.map(ToString::to_string));
    effect.batch.set_field(key, WITHHELD, after.to_string());
}

/// The effect of a decision, with the message to the author.
fn decided(case: &Case<'_>, author: UserId, what: &str, text: &str) -> Effect {
    const EXCERPT: usize = 80;
    let mut excerpt: String = text.chars().take(EXCERPT).collect();
    if excerpt.len() < text.len() {
        excerpt.push('…');
    }
    let reason = if case.reason.is_empty() { String::new() } else { format!(" {}", case.reason) };
    let message = format!("{what}: \"{excerpt}\".{reason}");
    let mut effect = Effect { concerns: Some(author), message: Some(message), ..Effect::default() };
    review::settle(&mut effect.batch, case.thing);
    effect
}
