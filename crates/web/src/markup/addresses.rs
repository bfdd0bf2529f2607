//! Addresses of pages.

use crate::route::LoginReason;
use maud::{Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tidings_domain::articles::lists::ArticleOrder;
use tidings_domain::values::{
    CommentAddress, Hostname, InvitationCode, MessageAddress, MessageThreadId, ModerationId, NewsId,
    SitePart, Thing, Topic, TopicChoice, TweetId,
};
use tidings_keyspace::Within;
use tidings_language::lists::{choice, list};

/// The characters to encode in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The address of the login page, which then redirects to `back`.
pub fn login_address(back: &str) -> String {
    format!("/login?next={}", utf8_percent_encode(back, NON_ALPHANUMERIC))
}

/// The address of a profile, `/@<name>`, followed by `rest`. Imported names can contain any
/// character.
pub fn profile_address(username: &str, rest: &str) -> String {
    format!("/@{}{rest}", utf8_percent_encode(username, SEGMENT))
}

/// Another page of a user: `/<family>/<name>`, followed by `rest`.
pub fn user_address(family: &str, username: &str, rest: &str) -> String {
    format!("/{family}/{}{rest}", utf8_percent_encode(username, SEGMENT))
}

/// The address of the login page that says why, and then redirects to `back`.
pub fn login_to(reason: Option<LoginReason>, back: &str) -> String {
    let address = login_address(back);
    reason.map_or(address.clone(), |reason| format!("{address}&reason={}", reason.name()))
}

/// The address of the page about a decision.
pub fn appeal_address(id: ModerationId) -> String {
    format!("/appeal/{id}")
}

/// An entry of the moderation log.
pub fn line_address(id: ModerationId) -> String {
    format!("/moderations?before={}#line-{id}", id.0.saturating_add(1))
}

/// The page of a person for moderators.
pub fn person_address(username: &str) -> String {
    user_address("moderate/person", username, "")
}

/// The address of the list of threads of messages with the moderators.
pub const MESSAGES: &str = "/messages";

/// The address of a thread of messages with the moderators.
pub fn message_thread_address(id: MessageThreadId) -> String {
    format!("{MESSAGES}/{id}")
}

/// A message in its thread.
pub fn message_address(MessageAddress { thread, message }: MessageAddress) -> String {
    format!("{MESSAGES}/{thread}#message-{message}")
}

/// The address of the list of topics.
pub const TOPICS: &str = "/topics";

/// The address of the stories of the topics that the viewer follows.
pub const FOLLOWED: &str = "/topics/followed";

/// The address of the page about trust.
pub const ABOUT_TRUST: &str = "/about/trust";

/// The address of the page about feeds.
pub const FEEDS: &str = "/feeds";

/// A topic's name as a link to its articles.
pub fn topic_link(topic: &Topic) -> Markup {
    html! { a.topic href={ "/topic/" (topic) } rel="tag" { (topic) } }
}

/// The address of a list of topics.
pub fn choice_address(topics: &TopicChoice) -> String {
    format!("/topic/{topics}")
}

/// The names of topics for a heading.
pub fn described(topics: &TopicChoice) -> String {
    let names: Vec<String> = topics.topics().iter().map(ToString::to_string).collect();
    match topics.within() {
        Within::All => list(&names),
        _ => choice(&names),
    }
}

/// The address of a list.
pub fn list_address(topics: Option<&TopicChoice>, order: ArticleOrder) -> String {
    in_order(&topics.map_or_else(|| "/best".to_owned(), choice_address), order)
}

/// A comment in its thread, in the viewer's own order.
pub fn comment_address(CommentAddress { news, comment }: CommentAddress) -> String {
    format!("/news/{news}?at={comment}#comment-{comment}")
}

/// The address of a tweet.
pub fn tweet_address(id: TweetId) -> String {
    format!("/tweet/{id}")
}

/// The first page of settings.
pub const SETTINGS: &str = "/settings";
/// The settings for reading.
pub const READING_SETTINGS: &str = "/settings/reading";
/// The settings for mail, with the e-mail address.
pub const MAIL_SETTINGS: &str = "/settings/mail";
/// The settings of the account itself, with the password.
pub const ACCOUNT_SETTINGS: &str = "/settings/account";
/// The settings of the connection to the OpenID provider.
pub const SIGN_IN_SERVICE_SETTINGS: &str = "/settings/sign-in";
/// The page to leave the site.
pub const LEAVE: &str = "/settings/deactivate";
/// The address of the list of what one has muted.
pub const MUTES: &str = "/settings/mutes";

/// Where somebody signs up with an invitation.
pub fn invitation_address(code: &InvitationCode) -> String {
    format!("/register?invitation={}", code.expose())
}

/// Where something is shown.
pub fn address_of_thing(thing: &Thing) -> String {
    match thing {
        Thing::Story(id) => news_address(*id),
        Thing::Comment(address) => comment_address(*address),
        Thing::Tweet(id) => tweet_address(*id),
        Thing::User(name) | Thing::Application(name) => profile_address(name, ""),
        Thing::Appeal(id) => line_address(*id),
        Thing::Message(id) => message_thread_address(*id),
        Thing::Rule(_) | Thing::Origin(_) => "/moderations".to_owned(),
        Thing::Site(SitePart::People) => "/people".to_owned(),
        Thing::Site(SitePart::Signups | SitePart::YoungPosts) => "/moderate#raid".to_owned(),
        Thing::Site(_) => "/".to_owned(),
    }
}

/// The address of the page of a site.
pub fn site_address(site: &Hostname) -> String {
    format!("/site/{}", site.bare())
}

/// The address of a story's thread.
pub fn news_address(id: NewsId) -> String {
    format!("/news/{id}")
}

/// The address of a list in this order, by its address.
pub fn in_order(base: &str, order: ArticleOrder) -> String {
    match order {
        ArticleOrder::Score => base.to_owned(),
        ArticleOrder::Time => format!("{base}/new"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_encoded() {
        assert_eq!(login_address("/submit?u=a&t=b"), "/login?next=%2Fsubmit%3Fu%3Da%26t%3Db");
        assert_eq!(user_address("usernews", "a_b-c", "/0"), "/usernews/a_b-c/0");
        assert_eq!(user_address("user", "../\"><script>", ""), "/user/..%2F%22%3E%3Cscript%3E");
        assert_eq!(profile_address("a/b@c", "/feed"), "/@a%2Fb%40c/feed");
    }
}
