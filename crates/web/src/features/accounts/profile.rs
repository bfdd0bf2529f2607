//! A user's page: who they are, what they wrote, and the button to follow them.

use super::settings::{profile_editor, save_profile, with_session};
use crate::features::comments::writing::comments_with_news;
use crate::features::moderation::flagging::flag_address;
use crate::features::moderation::person_tools::PersonFile;
use crate::features::mutes::{person_forms, person_notes};
use crate::features::stories::item::news_list;
use crate::features::timelines::people::follow_button;
use crate::features::timelines::tweets::{rest_of_timeline, tweet_list};
use crate::markup::addresses::{profile_address, user_address};
use crate::markup::autolink::autolink;
use crate::markup::head::{PageKind, shortened};
use crate::markup::identicon::{gravatar_url, identicon};
use crate::markup::moderation_tools::is_moderator;
use crate::markup::parts::{age, empty_but, empty_page, number, search_within, tabs};
use crate::markup::withheld::{Kind, insider_notice, insider_words, show_link, unlisted_note};
use crate::markup::{FeedKind, Frame, Notice, Page, PageHead};
use crate::request::{AtName, Fields, PageQuery, PathOf, SignedFields};
use crate::{App, RequestError, Result};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, PreEscaped, html};
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};
use tidings_domain::accounts::inbox::OnPage;
use tidings_domain::accounts::profiles::{self, Profile, ProfileFacts};
use tidings_domain::accounts::reader::{Collapsed, Perspective, Reader};
use tidings_domain::accounts::seen::ShownIn;
use tidings_domain::comments::lists::{self as comment_lists, UserComments};
use tidings_domain::news::lists::{self as news_lists, NewsPage};
use tidings_domain::timelines::follows::Person;
use tidings_domain::timelines::reading::{self, TweetPage};
use tidings_domain::values::{Thing, Window};
use tidings_domain::{Role, User};
use tidings_language::lists::enumerated;
use tidings_language::{Phrase, m, n, t};

/// The side of the avatar, in CSS pixels.
const AVATAR: u32 = 64;

/// The text instead of the posts of somebody who has none.
fn no_posts(frame: &Frame<'_>, is_own: bool) -> Markup {
    let step = if is_own {
        ("/home", t!("Write your first post"))
    } else {
        ("/everyone", t!("See everyone’s posts"))
    };
    let later = frame.here.parameter("before").map(|_| (t!("No more posts."), frame.here.path()));
    empty_page(later, t!("No posts here."), step)
}

/// The entries on a view of a profile.
const ENTRIES: u8 = 10;

/// The views of a profile, by their names in its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum View {
    Stories,
    Comments,
    Posts,
    About,
}

impl View {
    fn title(self) -> &'static str {
        match self {
            Self::Stories => t!("Stories"),
            Self::Comments => t!("Comments"),
            Self::Posts => t!("Posts"),
            Self::About => t!("profile" => "About"),
        }
    }

    /// The number of entries of a person, if it has any.
    fn count(self, facts: &ProfileFacts) -> Option<u64> {
        match self {
            Self::Stories => Some(facts.posted),
            Self::Comments => Some(facts.comments),
            Self::Posts => Some(facts.tweets),
            Self::About => None,
        }
    }
}

/// The newest entries of a view.
enum Shown {
    Stories(NewsPage),
    Comments(UserComments),
    Posts(TweetPage),
    About,
}

/// A user's page.
struct ProfilePage<'a> {
    profile: &'a Profile,
    /// The view and its entries.
    view: View,
    shown: &'a Shown,
    /// Whether the site has timelines.
    has_posts: bool,
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
            @if let (Some(reader), false) = (self.reader, is_own) { (person_notes(user, reader)) }
            (self.tabs(frame))
            (self.entries(frame, is_own))
            @if let Some(file) = &self.file { (file.render(frame, self.profile)) }
            @if is_own && self.has_form {
                h2 { (t!("Your profile")) }
                (profile_editor(frame, user))
            }
        };
        let description = if user.about.is_empty() || user.withheld.is_some() {
            t!(
                "Stories and comments by {username} on {site}.",
                username = &user.username,
                site = &frame.site().name
            )
            .to_string()
        } else {
            shortened(&user.about)
        };
        let head = head(&user.username, self.has_posts).about(PageKind::Profile, description);
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
                    p.handle {
                        "@" (user.username) " · " (t!("{karma} karma", karma = user.karma))
                        " · " (t!("joined {time}", time = age(frame, user.ctime)))
                        @if self.has_posts {
                            " · " (self.followers())
                            " · " (t!("{number} following", number = self.link("/followings", self.profile.followings)))
                        }
                    }
                }
                @if is_own {
                    a.action href="/settings" { (t!("Settings")) }
                } @else if self.has_posts {
                    (follow_button(frame, &person, &profile_address(&user.username, ""), false))
                }
                (self.menu(frame, is_own))
            }
        }
    }

    /// The number of followers, which leads to them.
    fn followers(&self) -> Phrase<'static> {
        let followers = self.profile.followers;
        n!(followers, "{number} followers", "{number} followers", number = self.link("/followers", followers))
    }

    /// A number that leads to the people below the profile.
    fn link(&self, list: &str, people: u64) -> Markup {
        html! { a href=(profile_address(&self.profile.user.username, list)) { (number(people)) } }
    }

    /// The menu beside the name.
    fn menu(&self, frame: &Frame<'_>, is_own: bool) -> Markup {
        let user = &self.profile.user;
        html! {
            details.menu {
                summary aria-label=(t!("More about {username}", username = &user.username)) { "…" }
                div {
                    @if let (Some(reader), false) = (self.reader, is_own) { (person_forms(frame, user, reader)) }
                    @if frame.viewer.is_some() && !is_own {
                        a.action href=(flag_address(&Thing::User(user.username.as_str().into()))) rel="nofollow" { (t!("button" => "Flag")) }
                    }
                    (search_within(frame, &t!("Search what {username} wrote", username = &user.username).to_string(), ("all", &format!("by:{}", user.username))))
                }
            }
        }
    }

    /// The views of the person, with numbers.
    fn tabs(&self, frame: &Frame<'_>) -> Markup {
        let views = View::iter().filter(|view| self.has_posts || *view != View::Posts);
        let tab = |view: View| {
            let name = html! {
                (view.title())
                @if let Some(count) = view.count(self.profile) { " " span.count { (number(count)) } }
            };
            (format!("{}?show={}", frame.here.path(), <&str>::from(view)), name, view == self.view)
        };
        tabs(t!("What {username} did", username = &self.profile.user.username), views.map(tab))
    }

    fn entries(&self, frame: &Frame<'_>, is_own: bool) -> Markup {
        let user = &self.profile.user;
        let all = |count: u64, list: &str, words: &str| {
            let address = user_address(list, &user.username, "/0");
            html! { @if count > 0 { p { a.action href=(address) { (words) } } } }
        };
        html! {
            @match self.shown {
                Shown::Stories(page) => {
                    @if page.lines.is_empty() && page.unlisted == 0 { (empty_but(t!("No stories here yet."), ("/submit", t!("Submit a story")))) }
                    (news_list(frame, &page.lines, 0))
                    (unlisted_note(frame, page.unlisted, Kind::Story))
                    (all(self.profile.posted, "usernews", t!("All stories")))
                }
                Shown::Comments(page) => {
                    @if page.comments.is_empty() && page.unlisted == 0 { (empty_but(t!("No comments here yet."), ("/latest/0", t!("Find a story to discuss")))) }
                    (comments_with_news(frame, &page.comments))
                    (unlisted_note(frame, page.unlisted, Kind::Comment))
                    (all(self.profile.comments, "usercomments", t!("All comments")))
                }
                Shown::Posts(tweets) => {
                    @if tweets.lines.is_empty() && tweets.unlisted == 0 { (no_posts(frame, is_own)) }
                    (tweet_list(frame, &tweets.lines))
                    (rest_of_timeline(frame, frame.here.path(), tweets))
                }
                Shown::About => {
                    @if user.about.is_empty() && is_own {
                        (empty_but(t!("You haven’t said anything about yourself."), ("/settings", t!("Write something"))))
                    } @else if user.about.is_empty() {
                        p.empty { (t!("Nothing here yet.")) }
                    } @else {
                        (about(frame, user, self.reader))
                    }
                    (self.facts(is_own))
                }
            }
        }
    }

    fn facts(&self, is_own: bool) -> Markup {
        let user = &self.profile.user;
        html! {
            dl.facts {
                @if is_own {
                    div {
                        dt { (t!("your lists")) }
                        dd {
                            (enumerated([
                                html! { a href="/saved" { (t!("saved stories")) } },
                                html! { a href="/upvoted" { (t!("stories you voted up")) } },
                                html! { a href="/hidden/0" { (t!("hidden stories")) } },
                            ]))
                        }
                    }
                }
                (self.invitations())
                @match user.given_role() {
                    Role::Administrator => div { dt { (t!("role")) } dd { (t!("administrator")) } },
                    Role::Moderator => div { dt { (t!("role")) } dd { (t!("moderator")) } },
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
                div { dt { (t!("invited by")) } dd { a href=(profile_address(inviter, "")) { (inviter) } } }
            }
            @if *invited > 0 {
                div {
                    dt { (t!("invited")) }
                    dd { a href=(profile_address(&user.username, "/invited")) { (n!(*invited, "{count} person", "{count} people")) } }
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
        p.gone { (t!("This account is banned.")) }
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

/// GET /user/:name?show=V&before=C: the address of earlier versions, with the form of that time for the owner.
pub async fn profile(PathOf(name): PathOf<String>, page: Page, fields: Fields) -> Result<Markup> {
    show(page, &name, &fields).await
}

/// GET /@:name?show=V&before=C. Without timelines, it leads to the other address.
pub async fn at(PathOf(AtName(name)): PathOf<AtName>, page: Page, fields: Fields) -> Result<Response> {
    if !page.app.site.rules.features.timelines {
        return Ok(Redirect::to(&user_address("user", &name, "")).into_response());
    }
    Ok(show(page, &name, &fields).await?.into_response())
}

/// Shows the view that is asked for, or else the first with anything. Rounds: those of the profile, and those of the list.
async fn show(mut page: Page, name: &str, fields: &Fields) -> Result<Markup> {
    let query: PageQuery = fields.read()?;
    let asked: Option<View> =
        fields.parsed_optional("show", m!("it must be stories, comments, posts or about"))?;
    let profile = profiles::profile(&mut page.visit, name).await?;
    let has_posts = page.app.site.rules.features.timelines;
    let exists = |view: &View| has_posts || *view != View::Posts;
    let first =
        || View::iter().filter(exists).find(|view| view.count(&profile).is_none_or(|count| count > 0));
    // Links to later pages of posts need not say so.
    let asked = asked.or(query.before.map(|_| View::Posts)).filter(exists);
    let view = asked.or_else(first).unwrap_or(View::About);
    let user = &profile.user;
    let shown = match view {
        View::Stories => {
            Shown::Stories(news_lists::posted(&mut page.visit, user.id, 0, ENTRIES.into()).await?)
        }
        View::Comments => Shown::Comments(
            comment_lists::of_user(&mut page.visit, user.id, &user.username, 0, ENTRIES.into()).await?,
        ),
        View::Posts => {
            let window: Window = query.into();
            // The later pages are those of the whole list.
            let count = if window.before.is_none() { ENTRIES.into() } else { window.count };
            let window = Window { count, ..window };
            Shown::Posts(reading::of_user(&mut page.visit, user.id, &window).await?)
        }
        View::About => Shown::About,
    };
    let file = PersonFile::read(&mut page.visit, &profile).await?;
    let reader = page.visit.reader().await?;
    page.visit.note_seen(|_| [OnPage::Person(user.id)]).await?;
    let has_form = page.here.path().starts_with("/user/");
    let profile_page = ProfilePage {
        profile: &profile,
        view,
        shown: &shown,
        has_posts,
        reader: reader.as_deref(),
        has_form,
        file,
    };
    Ok(profile_page.render(&page.frame().await?))
}

/// Rejects methods other than GET at the address of a profile. An address without an `@`
/// does not exist.
pub async fn other_method(PathOf(AtName(_)): PathOf<AtName>) -> RequestError {
    RequestError::MethodNotAllowed
}

/// POST /profile: about, email, password (may be empty), current_password (may be empty if
/// e-mail and password stay), apisecret.
pub async fn change(app: App, form: SignedFields) -> Result<Response> {
    let session = save_profile(&app, &form).await?;
    let own = user_address("user", &form.user.username, "");
    let saved = Notice::ProfileSaved.redirect_anew(&app, form.user.id, &own).await?;
    Ok(with_session(&app, session, saved))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::user;

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
