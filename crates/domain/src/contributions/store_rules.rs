//! The rules of the lists of posts: each member is the entry of a post.

use crate::comments::store_rules as comments;
use crate::keys::{self, families};
use crate::news::by_votes;
use crate::store_rules::entries::is_entry;
use crate::store_rules::{Claims, Subject, claims, rules};
use crate::values::Thing;
use crate::{News, Tweet};
use tidings_keyspace::Hash;

rules! { pub(crate) RULES:
    "the list of stories by rank has only stories that are shown" => NEWS_TOP: claims(story);
    "the list of stories by time has only stories that are shown" => NEWS_CRON: claims(story);
    "the lists of stories by votes have only stories that are shown" => NEWS_BY_VOTES: claims(story_by_votes);
    "the list of the stories of a site has only stories that link there" => HOST_NEWS: claims(story);
    "the list of a user's stories has only stories of that user that were shown" => USER_POSTED: claims(story);
    "the list of a user's stories that others do not see has only those" => USER_GONE_STORIES: claims(story);
    "the list of a user's comments has only comments of that user" => USER_COMMENTS: claims(comment);
    "the list of a user's comments that others do not see has only those" => USER_GONE_COMMENTS: claims(comment);
    "the list of a user's unseen posts has only posts of that user that wait, were rejected or were removed" =>
        USER_UNSEEN: claims(unseen);
}

rules! {
    /// The rules of timelines that are never made anew.
    pub(crate) TIMELINES:
    "a user's own timeline has only shown tweets of that user" => USER_USER_TIMELINE: claims(tweet);
    "the timeline of everyone has only tweets that are shown" => GLOBAL_TIMELINE: claims(tweet);
}

fn story(subject: &Subject, claims: &mut Claims) {
    is_post(subject, claims, "stories that belong there", subject.member_id().map(Thing::Story));
}

fn story_by_votes(subject: &Subject, claims: &mut Claims) {
    let story = subject.member().and_then(|(member, _)| by_votes::news_of(member));
    is_post(subject, claims, "stories that belong there", story.map(Thing::Story));
}

fn comment(subject: &Subject, claims: &mut Claims) {
    is_post(subject, claims, "comments of the user", subject.member_id().map(Thing::Comment));
}

fn tweet(subject: &Subject, claims: &mut Claims) {
    is_post(subject, claims, "tweets that are shown", subject.member_id().map(Thing::Tweet));
}

fn unseen(subject: &Subject, claims: &mut Claims) {
    let expected = "posts of the user that wait, were rejected or were removed";
    is_post(subject, claims, expected, subject.member_id());
}

/// Claims that a member is an entry of this post; otherwise it is removed.
fn is_post(subject: &Subject, claims: &mut Claims, expected: &'static str, post: Option<Thing>) {
    match post {
        Some(Thing::Story(id)) => is_entry(subject, claims, expected, (keys::news(id), News::from_hash)),
        Some(Thing::Tweet(id)) => {
            let tweet = move |hash: &Hash| Tweet::from_hash(id, hash);
            is_entry(subject, claims, expected, (keys::tweet(id), tweet));
        }
        Some(Thing::Comment(address)) => comments::is_entry(subject, claims, expected, address),
        _ => claims.unreadable(expected),
    }
}
