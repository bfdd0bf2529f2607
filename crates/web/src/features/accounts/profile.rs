//! A user's page: who they are, what they wrote, and the button to follow them.

use super::settings::{profile_editor, save_profile, with_session};
use crate::App;
use crate::error::RequestError;
use crate::features::moderation::flagging::flag_address;
use crate::features::moderation::person_tools::PersonFile;
use crate::features::mutes::person_forms;
use crate::features::timelines::people::follow_button;
use crate::features::timelines::tweets::{rest_of_timeline, tweet_list};
use crate::markup::addresses::{profile_address, user_address};
use crate::markup::autolink::autolink;
use crate::markup::feed_links::FeedKind;
use crate::markup::frame::Frame;
use crate::markup::head::{PageHead, PageKind, shortened};
use crate::markup::identicon::{gravatar_url, identicon};
use crate::markup::moderation_tools::is_moderator;
use crate::markup::notices::Notice;
use crate::markup::page::Page;
use crate::markup::parts::{age, empty_page, number, search_within};
use crate::markup::withheld::{insider_notice, insider_words, show_link};
use crate::request::form::Fields;
use crate::request::local_path::LocalPath;
use crate::request::paging::PageQuery;
use crate::request::path::{AtName, PathOf};
use crate::request::viewer::SignedFields;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, PreEscaped, html};
use tidings_domain::accounts::inbox::OnPage;
use tidings_domain::accounts::profiles::{self, Profile, ProfileFacts};
use tidings_domain::accounts::reader::{Collapsed, Perspective, Reader};
use tidings_domain::accounts::seen::ShownIn;
use tidings_domain::accounts::users::{Role, User};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::timelines::follows::Person;
use tidings_domain::timelines::reading::{self, TweetPage};
use tidings_domain::values::Thing;
use tidings_domain::values::words::counted;

/// The side of the avatar, in CSS pixels.
const AVATAR: u32 = 64;

/// The text instead of the posts of somebody who has none.
fn no_posts(frame: &Frame<'_>, is_own: bool) -> Markup {
    let step =
        if is_own { ("/home", "Write your first post") } else { ("/everyone", "See everyone’s posts") };
    let later = frame.here.parameter("before").map(|_| ("posts", frame.here.path()));
    empty_page(later, "No posts here.", step)
}

/// A user's page.
struct ProfilePage<'a> {
    profile: &'a Profile,
    /// The user's posts; `None` on a site without timelines.
    tweets: Option<&'a TweetPage>,
    /// The viewer's choices; `None` for a visitor.
    reader: Option<&'a Reader>,
    /// Whether the owner has the form of earlier versions: on `/user/<name>`.
    has_form: bool,
    /// For moderators.
    file: Option<PersonFile>,
}

impl ProfilePage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let user = &self.profile.user;
        let is_own = frame.viewer.is_some_and(|viewer| viewer.id == user.id);
        if user.ban(frame.now).is_some() && !is_moderator(frame) {
            return banned_page(frame, &user.username);
        }
        let content = html! {
            (self.person(frame, is_own))
            @if let (Some(reader), false) = (self.reader, is_own) { (person_forms(frame, user, reader)) }
            (self.facts(frame, is_own))
            (about(frame, user, self.reader))
            (search_within(frame, &format!("Search what {} has written", user.username), ("all", &format!("by:{}", user.username))))
            @if let Some(file) = &self.file { (file.render(frame, self.profile)) }
            @if is_own && self.has_form {
                h2 { "Your profile" }
                (profile_editor(frame, user))
            }
            @if let Some(tweets) = self.tweets {
                h2 { "Posts" }
                @if tweets.lines.is_empty() && tweets.unlisted == 0 { (no_posts(frame, is_own)) }
                (tweet_list(frame, &tweets.lines))
                (rest_of_timeline(frame, &profile_address(&user.username, ""), tweets))
            }
        };
        let description = if user.about.is_empty() || user.withheld.is_some() {
            format!("Stories and comments by {} on {}.", user.username, frame.site().name)
        } else {
            shortened(&user.about)
        };
        let head = head(&user.username, self.tweets.is_some()).about(PageKind::Profile, description);
        frame.page_with(&user.username, &head, &content)
    }

    fn person(&self, frame: &Frame<'_>, is_own: bool) -> Markup {
        let (user, followed) = (&self.profile.user, self.profile.followed);
        let person = Person {
            id: user.id,
            username: user.username.clone(),
            fullname: user.fullname.clone(),
            followed,
        };
        let has_full_name = !user.fullname.is_empty();
        html! {
            div.profile {
                (avatar(user, frame.settings.gravatars))
                div {
                    h1 { @if has_full_name { (user.fullname) } @else { (user.username) } }
                    p.handle { "@" (user.username) }
                }
                @if is_own {
                    a.action href="/settings" { "Settings" }
                } @else {
                    @if self.tweets.is_some() { (follow_button(frame, &person, &profile_address(&user.username, ""), false)) }
                    @if frame.viewer.is_some() {
                        a.action href=(flag_address(&Thing::User(user.username.as_str().into()))) rel="nofollow" { "Flag" }
                    }
                }
            }
        }
    }

    fn facts(&self, frame: &Frame<'_>, is_own: bool) -> Markup {
        let ProfileFacts { user, posted, comments, followers, followings, tweets, .. } = &**self.profile;
        let mut counts = vec![
            ("stories", posted, user_address("usernews", &user.username, "/0")),
            ("comments", comments, user_address("usercomments", &user.username, "/0")),
        ];
        if self.tweets.is_some() {
            counts.extend([
                ("posts", tweets, profile_address(&user.username, "")),
                ("followers", followers, profile_address(&user.username, "/followers")),
                ("following", followings, profile_address(&user.username, "/followings")),
            ]);
        }
        html! {
            dl.facts {
                @for (name, count, address) in counts {
                    div { dt { (name) } dd { a href=(address) { (number(*count)) } } }
                }
                div { dt { "karma" } dd { (number(user.karma)) } }
                div { dt { "joined" } dd { (age(frame, user.ctime)) } }
                @if is_own {
                    div {
                        dt { "your lists" }
                        dd { a href="/saved" { "saved stories" } ", " a href="/upvoted" { "stories you voted up" } ", " a href="/hidden/0" { "hidden stories" } }
                    }
                }
                (self.invitations())
                @match user.given_role() {
                    Role::Administrator => div { dt { "role" } dd { "administrator" } },
                    Role::Moderator => div { dt { "role" } dd { "moderator" } },
                    Role::Member => {}
                }
            }
        }
    }

    /// The user's inviter, and the number of people that the user invited.
    fn invitations(&self) -> Markup {
        let ProfileFacts { user, inviter, invited, .. } = &**self.profile;
        html! {
            @if let Some(inviter) = inviter {
                div { dt { "invited by" } dd { a href=(profile_address(inviter, "")) { (inviter) } } }
            }
            @if *invited > 0 {
                div {
                    dt { "invited" }
                    dd { a href=(profile_address(&user.username, "/invited")) { (counted(*invited, "person", "people")) } }
                }
            }
        }
    }
}

/// The page of somebody who is banned, for all but moderators: nothing that they say about themselves
/// or have written, and nothing for search engines.
fn banned_page(frame: &Frame<'_>, username: &str) -> Markup {
    let content = html! {
        div.profile {
            (PreEscaped(identicon(username, AVATAR)))
            div { h1 { (username) } }
        }
        p.gone { "This account is banned." }
    };
    let head = PageHead::default().with(html! { meta name="robots" content="noindex"; });
    frame.page_with(username, &head, &content)
}

/// The text about a user. A text that flags have hidden is shown to the user, to moderators, and to
/// readers who have chosen to see it.
fn about(frame: &Frame<'_>, user: &User, reader: Option<&Reader>) -> Markup {
    let withheld = user.withheld.as_ref();
    let perspective = Perspective { reader, shows_all: frame.here.shows_hidden() };
    let is_seen = perspective.sees(&user.state(), ShownIn::Page);
    html! {
        @if user.about.is_empty() {
        } @else if let Some(state) = withheld.filter(|_| !is_seen) {
            p.gone { "[" (insider_words(state)) "]" (show_link(frame, Collapsed::Flagged, "")) }
        } @else {
            (insider_notice(frame, user.id, withheld))
            div.text dir="auto" { (autolink(&frame.site().with_moved_links(&user.about), frame.link_target())) }
        }
    }
}

/// The head of the page, with its address and the feeds of the user.
fn head(username: &str, has_posts: bool) -> PageHead {
    PageHead::of(profile_address(username, "")).feeds(FeedKind::of_person(username, has_posts))
}

/// The user's picture. It has no alternative text, since the name is next to it.
fn avatar(user: &User, gravatars: bool) -> Markup {
    html! {
        @if gravatars && user.gravatar && !user.email.is_empty() {
            img src=(gravatar_url(&user.email, AVATAR * 2)) alt="" width=(AVATAR) height=(AVATAR)
                referrerpolicy="no-referrer";
        } @else {
            (PreEscaped(identicon(&user.username, AVATAR)))
        }
    }
}

/// GET /user/:name: the address of earlier versions, with the form of that
/// time for the owner.
pub async fn profile(
    PathOf(name): PathOf<String>,
    Page { app, visit, here, .. }: Page,
    fields: Fields,
) -> Result<Markup, RequestError> {
    show(&app, visit, &here, &name, fields.read()?, true).await
}

/// GET /@:name. Without timelines, it leads to the other address.
pub async fn at(
    PathOf(AtName(name)): PathOf<AtName>,
    Page { app, visit, here, .. }: Page,
    fields: Fields,
) -> Result<Response, RequestError> {
    let query = fields.read()?;
    if !app.site.rules.features.timelines {
        return Ok(Redirect::to(&user_address("user", &name, "")).into_response());
    }
    Ok(show(&app, visit, &here, &name, query, false).await?.into_response())
}

async fn show(
    app: &App,
    visit: Visit,
    here: &LocalPath,
    name: &str,
    query: PageQuery,
    has_form: bool,
) -> Result<Markup, RequestError> {
    let mut visit = visit.showing_hidden(here.shows_hidden());
    let profile = profiles::profile(&mut visit, name).await?;
    let tweets = match app.site.rules.features.timelines {
        true => Some(reading::of_user(&mut visit, profile.user.id, &query.into()).await?),
        false => None,
    };
    let file = PersonFile::read(&mut visit, &profile).await?;
    let reader = visit.reader().await?;
    visit.note_seen(|_| [OnPage::Person(profile.user.id)]).await?;
    let frame = Frame::of(app, &mut visit, here).await?;
    let (tweets, reader) = (tweets.as_ref(), reader.as_deref());
    let page = ProfilePage { profile: &profile, tweets, reader, has_form, file };
    Ok(page.render(&frame))
}

/// Rejects methods other than GET at the address of a profile. An address without an `@`
/// does not exist.
pub async fn other_method(PathOf(AtName(_)): PathOf<AtName>) -> RequestError {
    RequestError::MethodNotAllowed
}

/// POST /profile: about, email, password (may be empty), current_password (may be empty if
/// e-mail and password stay), apisecret.
pub async fn change(app: App, form: SignedFields) -> Result<Response, RequestError> {
    let session = save_profile(&app, &form).await?;
    let own = user_address("user", &form.user.username, "");
    let saved = Notice::ProfileSaved.redirect_anew(&app, form.user.id, &own).await?;
    Ok(with_session(&app, session, saved))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{framed, user};

    fn page(viewer: Option<&User>) -> String {
        let mut owner = user("1", "al<ice", "");
        owner.about = "<script> http://a.com/".to_owned();
        owner.email = "alice@secret.example".to_owned();
        let profile = ProfileFacts {
            user: owner.into(),
            inviter: Some("in<viter".to_owned()),
            invited: 2,
            posted: 1,
            comments: 2,
            followers: 4_711,
            followings: 815,
            tweets: 0,
        }
        .followed(false);
        let page = ProfilePage {
            profile: &profile,
            tweets: Some(&TweetPage::default()),
            reader: None,
            has_form: true,
            file: None,
        };
        framed(viewer, |frame| page.render(frame)).into_string()
    }

    #[test]
    fn everyone_sees_the_profile_but_not_the_email_address() {
        let bob = user("2", "bob", "");
        for viewer in [None, Some(&bob)] {
            let html = page(viewer);
            for part in [
                "al&lt;ice",
                "&lt;script&gt;",
                r#"<a href="/usernews/al%3Cice/0">1</a>"#,
                r#"<a href="/usercomments/al%3Cice/0">2</a>"#,
                r#"<a href="/@al%3Cice/followers">4,711</a>"#,
                r#"<a href="/@al%3Cice/followings">815</a>"#,
                r#"<link rel="canonical" href="http://localhost:8080/@al%3Cice">"#,
                r#"href="/@al%3Cice/feed""#,
                "in&lt;viter",
                r#"<a href="/@al%3Cice/invited">2 people</a>"#,
                "gravatar.com",
            ] {
                assert!(html.contains(part), "{part} in {html}");
            }
            for part in ["secret.example", "<script>", "action=\"/profile\"", "saved stories"] {
                assert!(!html.contains(part), "{part} in {html}");
            }
        }
    }

    #[test]
    fn the_owner_has_a_form() {
        let html = page(Some(&user("1", "al<ice", "")));
        assert!(
            html.contains(r#"value="alice@secret.example""#) && html.contains("a.com/</textarea>"),
            "{html}"
        );
    }

    #[test]
    fn without_gravatars_or_an_email_address_the_avatar_is_an_identicon() {
        let mut owner = user("1", "alice", "");
        assert!(avatar(&owner, true).into_string().starts_with("<svg"));
        owner.email = "a@b.c".to_owned();
        assert!(avatar(&owner, true).into_string().contains("gravatar.com"));
        assert!(avatar(&owner, false).into_string().starts_with("<svg"));
        owner.gravatar = false;
        assert!(avatar(&owner, true).into_string().starts_with("<svg"));
    }
}
