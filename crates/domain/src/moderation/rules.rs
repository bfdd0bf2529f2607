//! The rules for posts: adding and lifting them, and what a rule would have caught.

use super::{ModerationRequest, moderate};
use crate::accounts::People;
use crate::contributions::excerpt;
use crate::post_rules::{self, CheckedPost, PostRules};
use crate::values::{
    DRY_RUN_DAYS, DRY_RUN_MATCHES, DRY_RUN_POSTS, Deed, ModerationId, Moment, NewsId, Pattern, PostRule,
    Reason, RuleEffect, RuleId, Thing, Timestamp, TweetId, UserId,
};
use crate::{Comment, Error, News, Result, Site, Tweet, User, draws, fields, keys};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_keyspace::{Fetch, Order, read};
use tidings_text::stored_text::StoredText;

/// Posts that are read in one round.
const CHUNK: u64 = 200;
/// Stories whose threads are read in one round.
const THREADS: usize = 20;

/// A rule to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRule {
    /// The pattern that it looks for.
    pub pattern: Pattern,
    /// Its effect.
    pub effect: RuleEffect,
    /// Why. Authors of refused posts read it.
    pub reason: Reason,
}

/// Adds a rule. Returns its number, and that of the line in the log.
///
/// # Errors
/// [`crate::Refusal::ModeratorsOnly`], [`crate::Refusal::TooManyRules`], those of [`moderate`], or the store's.
pub async fn add_rule(
    site: &Site,
    now: Moment,
    moderator: &User,
    rule: &NewRule,
) -> Result<(RuleId, ModerationId)> {
    moderator.demand_may_moderate(now)?;
    let id: RuleId = draws::next_id(site, keys::RULES_COUNT).await?;
    let deed = Deed::Rule(rule.pattern.clone(), rule.effect);
    let request = ModerationRequest::new(deed, Thing::Rule(id), rule.reason.clone());
    Ok((id, moderate(site, now, moderator, &request).await?))
}

/// All rules, by number, for moderators.
///
/// # Errors
/// [`crate::Refusal::ModeratorsOnly`], or the store's. Rounds: 1; none once they are cached.
pub async fn rules(site: &Site, now: Moment, viewer: &User) -> Result<Vec<PostRule>> {
    viewer.demand_may_moderate(now)?;
    Ok(post_rules::of_site(site, now.timestamp()).await?.all().to_vec())
}

/// The posts that a rule would have caught.
#[derive(Debug, Clone, PartialEq)]
pub struct DryRun {
    /// How many posts.
    pub count: u64,
    /// The first of them.
    pub matches: Vec<RuleMatch>,
    /// Whether all posts were looked at in the time that there was.
    pub finished: bool,
}

/// A post that a rule would have caught.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleMatch {
    /// The post.
    pub thing: Thing,
    /// The title of a story, or the beginning of a text.
    pub words: String,
    /// Its author; `None` after a deactivation.
    pub author: Option<String>,
}

/// Finds the posts that a rule would have caught: among the stories of the last 30 days, the comments on
/// them, and the tweets of that time, of each at most 20,000, the newest first. Posts by moderators and
/// deleted posts count too, if their text is still there. Rounds: at most 100 for
/// stories, 1,000 for comments and 100 for tweets, none of them after `patience`, and 1 for names.
///
/// # Errors
/// [`crate::Refusal::ModeratorsOnly`], or the store's.
pub async fn dry_run(
    site: &Site,
    now: Moment,
    viewer: &User,
    (rule, patience): (&NewRule, Duration),
) -> Result<DryRun> {
    viewer.demand_may_moderate(now)?;
    let rule = PostRule {
        id: RuleId(1),
        pattern: rule.pattern.clone(),
        effect: rule.effect,
        reason: rule.reason.clone(),
    };
    let since = Timestamp(now.timestamp().0.saturating_sub(DRY_RUN_DAYS * 86_400));
    let rules = tokio::task::spawn_blocking(|| PostRules::new(vec![rule])).await;
    let rules = rules.map_err(|error| Error::Internal(error.to_string()))?;
    let mut run = Run {
        site,
        rules: Arc::new(rules),
        since,
        deadline: Instant::now() + patience,
        count: 0,
        first: Vec::new(),
    };
    let finished = run.stories().await? && run.tweets().await?;
    let Run { count, first, .. } = run;
    let people = site.store.fetch(People::of(first.iter().map(|candidate| candidate.author))).await?;
    let matched = |MatchedPost { thing, texts: [words, _], author, .. }: MatchedPost| {
        let author = people.get(author).map(|names| names.username.clone());
        RuleMatch { thing, words: excerpt(&words), author }
    };
    Ok(DryRun { count, matches: first.into_iter().map(matched).collect(), finished })
}

/// A dry run that is going on.
struct Run<'a> {
    site: &'a Site,
    rules: Arc<PostRules>,
    since: Timestamp,
    deadline: Instant,
    /// How many were caught, and the first of them.
    count: u64,
    first: Vec<MatchedPost>,
}

/// A post that is matched.
struct MatchedPost {
    thing: Thing,
    texts: [String; 2],
    url: Option<String>,
    author: UserId,
}

impl Run<'_> {
    fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Matches posts on a thread of its own: many texts take too long for one that serves others.
    async fn matched(&mut self, posts: Vec<MatchedPost>) -> Result<()> {
        let rules = self.rules.clone();
        let matching = tokio::task::spawn_blocking(move || {
            let is_matched = |MatchedPost { thing, texts: [first, second], url, .. }: &MatchedPost| {
                let texts = match thing {
                    Thing::Story(_) => [StoredText::Line(first), StoredText::Formatted(second)],
                    Thing::Tweet(_) => [StoredText::Post(first), StoredText::Line(second)],
                    _ => [StoredText::Formatted(first), StoredText::Line(second)],
                };
                rules.first_match(CheckedPost { texts, url: url.as_deref() }).is_some()
            };
            posts.into_iter().filter(is_matched).collect::<Vec<_>>()
        });
        let matched = matching.await.map_err(|error| Error::Internal(error.to_string()))?;
        self.count += matched.len() as u64;
        let room = DRY_RUN_MATCHES - self.first.len();
        self.first.extend(matched.into_iter().take(room));
        Ok(())
    }

    /// The members of a sorted set since the beginning, from a position on.
    async fn chunk<T: std::str::FromStr>(&self, key: &str, start: u64) -> Result<Vec<T>> {
        let members = self.site.store.fetch(read::sorted_range(key, Order::Descending, start, CHUNK)).await?;
        let recent: Vec<(String, f64)> =
            members.into_iter().filter(|(_, time)| *time >= self.since.as_score()).collect();
        Ok(fields::members(recent, key, |(member, _)| member.parse().ok()))
    }

    /// Looks at stories and the comments on them. Returns whether it was in time.
    async fn stories(&mut self) -> Result<bool> {
        let mut comments = 0;
        for start in (0..DRY_RUN_POSTS).step_by(usize::try_from(CHUNK).unwrap_or(1)) {
            if self.is_late() {
                return Ok(false);
            }
            let ids: Vec<NewsId> = self.chunk(keys::NEWS_CRON, start).await?;
            if ids.is_empty() {
                return Ok(true);
            }
            let stories = ids.iter().copied().map(News::by_id).collect::<Vec<_>>();
            let stories = self.site.store.fetch(stories.or_absent()).await?.into_iter().flatten();
            let candidate = |news: News| {
                let text = news.text().unwrap_or_default().to_owned();
                let url = news.link().is_some().then(|| news.url.clone());
                MatchedPost {
                    thing: Thing::Story(news.id),
                    author: news.user_id,
                    texts: [news.title, text],
                    url,
                }
            };
            let candidates = stories.map(candidate).collect();
            self.matched(candidates).await?;
            for some in ids.chunks(THREADS) {
                if comments >= DRY_RUN_POSTS {
                    break;
                }
                if self.is_late() {
                    return Ok(false);
                }
                comments += self.comments(some).await?;
            }
        }
        Ok(true)
    }

    /// Looks at the comments on some stories. Returns how many there are.
    async fn comments(&mut self, stories: &[NewsId]) -> Result<u64> {
        let threads = stories.iter().copied().map(Comment::of_story).collect::<Vec<_>>();
        let comments = self.site.store.fetch(threads).await?.into_iter().flatten();
        let candidate = |comment: Comment| {
            let (thing, author) = (Thing::Comment(comment.address()), comment.user_id);
            MatchedPost { thing, texts: [comment.body, String::new()], url: None, author }
        };
        let candidates: Vec<MatchedPost> = comments.map(candidate).collect();
        let count = candidates.len() as u64;
        self.matched(candidates).await?;
        Ok(count)
    }

    /// Looks at tweets. Returns whether it was in time.
    async fn tweets(&mut self) -> Result<bool> {
        for start in (0..DRY_RUN_POSTS).step_by(usize::try_from(CHUNK).unwrap_or(1)) {
            if self.is_late() {
                return Ok(false);
            }
            let ids: Vec<TweetId> = self.chunk(keys::GLOBAL_TIMELINE, start).await?;
            if ids.is_empty() {
                return Ok(true);
            }
            let tweets: Vec<_> = ids.iter().map(|id| Tweet::by_id(*id)).collect();
            let tweets = self.site.store.fetch(tweets.or_absent()).await?.into_iter().flatten();
            // The title of an announced story has been looked at already.
            let own = tweets.filter(|tweet| tweet.news_id.is_none());
            let candidate = |tweet: Tweet| {
                let (thing, author) = (Thing::Tweet(tweet.id), tweet.user_id);
                MatchedPost { thing, texts: [tweet.text, String::new()], url: None, author }
            };
            let candidates = own.map(candidate).collect();
            self.matched(candidates).await?;
        }
        Ok(true)
    }
}
