//! A story as it is stored, with its article. A change of the one changes both records; everything else follows.

use crate::articles::article::{self, Article, StoredArticle};
use crate::news::marking::add_upvoted;
use crate::records::{self, AsRead};
use crate::values::{NewsId, Timestamp, UserId};
use crate::{News, Site, keys};
use std::ops::Deref;
use tidings_keyspace::{Batch, CheckId, Fetch, read};

/// A story as it was read, with its article. One that waits has none, nor has one of an older site before
/// `tidings check articles --repair`.
#[derive(Debug)]
pub(crate) struct StoredStory {
    news: AsRead<News>,
    article: Option<AsRead<StoredArticle>>,
}

impl Deref for StoredStory {
    type Target = News;

    fn deref(&self) -> &News {
        &self.news
    }
}

impl StoredStory {
    /// The story with a number, if it exists.
    pub(crate) fn by_id(id: NewsId) -> impl Fetch<Value = Option<Self>> {
        (read::hash(keys::news(id)), read::hash(keys::article(id))).map(move |(hash, article)| {
            let news = News::from_hash(&hash)?;
            let stored = |found| AsRead::of_hash(StoredArticle::of(&news, found), &article);
            let article = Article::from_hash(id, &article).map(stored);
            Some(Self { article, news: AsRead::of_hash(news, &hash) })
        })
    }

    /// Whether lists have its article; `None` if it has none.
    pub(crate) fn has_listed_article(&self) -> Option<bool> {
        self.article.as_ref().map(|article| article.is_listed())
    }

    /// Adds to a batch that the story is changed. The batch fails if it has changed since it was read.
    pub(crate) fn change_with(
        &self,
        batch: &mut Batch,
        (site, now): (&Site, Timestamp),
        change: impl FnOnce(&mut News),
    ) {
        self.change(batch, site, now, self.news.changed(change));
    }

    /// Adds to a batch that the story becomes another. The batch fails if the story has changed since it was read.
    pub(crate) fn change(&self, batch: &mut Batch, site: &Site, now: Timestamp, mut after: News) {
        if !self.state().is_listed() && after.state().is_listed() {
            // Moderators can take votes out while it is away.
            self.check_votes(batch);
            after.rank_anew(now, &site.rules.ranking);
        }
        records::change(batch, &self.news, &after);
        match &self.article {
            // It must not miss an article that has just been made.
            None => _ = batch.sorted_member_absent(keys::ARTICLES_BY_SCORE, keys::article(self.id)),
            Some(article) if after.deleted || after.is_erased() => {
                article::delete(batch, article);
            }
            Some(article) => _ = records::change(batch, article, &article.after(site, &after)),
        }
    }
}

/// Adds a new story to a batch. Returns the check that its number is unused.
pub(crate) fn add(batch: &mut Batch, news: &News) -> Option<CheckId> {
    let unused = records::add(batch, [news]);
    // Comments count themselves.
    batch.increment_field(keys::news(news.id), "comments", 0);
    unused
}

/// Adds to a batch that readers see a story for the first time: these have voted it up, its author first, and it has an
/// article. Returns the check that the number of the article is unused.
pub(crate) fn publish(
    batch: &mut Batch,
    (site, now): (&Site, Timestamp),
    news: &News,
    voters: &[(UserId, Timestamp)],
) -> Option<CheckId> {
    for (voter, voted) in voters {
        batch.sorted_add(keys::news_up(news.id), voter.to_string(), voted.as_score());
        add_upvoted(batch, *voter, news.id, voted.as_score());
    }
    let votes = news.up.saturating_add(news.imported_votes.up.max(0));
    let article = StoredArticle::of(news, Article::of(&site.address, news, votes));
    article.add(batch, now, voters.iter().map(|(voter, _)| voter))
}
