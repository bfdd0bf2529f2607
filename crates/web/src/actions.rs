//! What the form of a page and the API call of an action have in common: parse the
//! fields into typed values and call the domain.

use super::App;
use super::error::Failure;
use super::form::Fields;
use super::viewer::SignedForm;
use std::net::IpAddr;
use std::time::Duration;
use tidings_domain::Error;
use tidings_domain::Refusal;
use tidings_domain::accounts::account::{self, ProfileChange};
use tidings_domain::accounts::password_reset;
use tidings_domain::accounts::sessions::{self, Session};
use tidings_domain::articles::topic_moves::{self, Move};
use tidings_domain::comments::comment;
use tidings_domain::news::item::Direction;
use tidings_domain::sites::{self, Ballot, SettingsChange, Verdict};
use tidings_domain::submissions::{self, Submission};
use tidings_domain::timelines::follows;
use tidings_domain::timelines::tweets;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::day::parse_moment;
use tidings_domain::values::ids::{CommentAddress, CommentId, NewsId, TweetId};
use tidings_domain::values::limits::MAX_DAILY_VOTES;
use tidings_domain::values::text::{About, Body, Email, FullName, NewPassword, TweetText, Username};
use tidings_domain::values::topic::{Topic, Topics};
use tidings_domain::values::voter_id::VoterId;
use tidings_domain::votes;

/// How long a response waits for a long action, which continues afterwards.
const PATIENCE: Duration = Duration::from_secs(5);

/// Creates an account, for both the form and the API.
pub(super) async fn open_account(app: &App, fields: &Fields, address: IpAddr) -> Result<Session, Failure> {
    let username = Username::parse(fields.required("username")?).map_err(Error::from)?;
    let password = NewPassword::parse(fields.required("password")?).map_err(Error::from)?;
    Ok(account::create_account(&app.site, app.now(), &username, &password, address).await?)
}

/// Logs in, for both the form and the API.
pub(super) async fn open_session(app: &App, fields: &Fields, address: IpAddr) -> Result<Session, Failure> {
    let (username, password) = (fields.required("username")?, fields.required("password")?);
    Ok(sessions::log_in(&app.site, app.now(), username, password, address).await?)
}

/// Reads what a user wants to change about themself.
pub(super) fn profile_change(fields: &Fields) -> Result<ProfileChange, Failure> {
    let password = fields.text("password");
    Ok(ProfileChange {
        about: About::parse(fields.required("about")?).map_err(Error::from)?,
        email: Email::parse_optional(fields.required("email")?).map_err(Error::from)?,
        password: match password {
            "" => None,
            password => Some(NewPassword::parse(password).map_err(Error::from)?),
        },
        fullname: fields.get("fullname").map(FullName::parse).transpose().map_err(Error::from)?,
        tweet_news: tweet_news(fields)?,
    })
}

/// Whether to announce submissions, if the form says so. A form with a checkbox also
/// has the field `tweet_news_shown`, since browsers do not send an unchecked box.
fn tweet_news(fields: &Fields) -> Result<Option<bool>, Failure> {
    match fields.get("tweet_news") {
        Some("1") => Ok(Some(true)),
        Some("0") => Ok(Some(false)),
        Some(_) => Err(Failure::Field { name: "tweet_news", expected: "it must be 0 or 1" }),
        None => Ok(fields.get("tweet_news_shown").map(|_| false)),
    }
}

/// Sends the link if a user with this name has this address. The response does not
/// reveal whether one has; the mail is sent in the background.
///
/// # Errors
/// [`Refusal::MailIsOff`], or the store's.
pub(super) async fn send_reset_link(app: &App, username: &str, email: &str) -> Result<(), Failure> {
    let mailer = app.mailer.clone().ok_or(Refusal::MailIsOff)?;
    let Some(mail) = password_reset::request_reset(&app.site, app.now(), username, email).await? else {
        return Ok(());
    };
    let (app, site) = (app.clone(), app.settings.site.clone());
    let link = site.link(&format!("/reset-password/{}", mail.token));
    let body = format!(
        "Hello {},\n\nTo set a new password for your account at {}, open this link within an hour:\n\n{link}\n\n\
         If you did not request this, ignore this message. Your password has not changed.\n",
        mail.username, site.name
    );
    tokio::spawn(async move {
        let subject = format!("Set a new password for {}", site.name);
        if let Err(error) = mailer.send(&mail.email, &subject, &body).await {
            tracing::error!(username = mail.username, %error, "password reset mail not sent");
            if let Err(error) = password_reset::withdraw_reset(&app.site, &mail).await {
                tracing::warn!(username = mail.username, %error, "password reset not withdrawn");
            }
        }
    });
    Ok(())
}

/// Submits or edits a story, for both the form and the API.
pub(super) async fn submit_or_edit(app: &App, form: &SignedForm) -> Result<NewsId, Failure> {
    let SignedForm { user, fields, .. } = form;
    let edited: Option<NewsId> = id_or_none(fields, "news_id")?;
    let topics = fields.get("topics").map(Topics::parse).transpose().map_err(Error::from)?;
    let submission = Submission {
        topics,
        ..Submission::parse(fields.required("title")?, fields.text("url"), fields.text("text"))?
    };
    match edited {
        None => Ok(submissions::submit_news(&app.site, app.moment(), user, &submission).await?.id()),
        Some(id) => {
            submissions::edit_news(&app.site, app.now(), user, id, &submission).await?;
            Ok(id)
        }
    }
}

/// The outcome of moving a topic.
pub(super) struct Moved {
    /// The topic that has the articles now.
    pub to: Topic,
    /// How many articles were moved; `None` while the move is still running.
    pub articles: Option<u64>,
}

/// Renames or merges a topic, for both the form and the API. The move of a large
/// topic continues after the response.
pub(super) async fn move_topic(app: &App, form: SignedForm, kind: Move) -> Result<Moved, Failure> {
    let SignedForm { user, fields, .. } = form;
    let target = match kind {
        Move::Rename => "name",
        Move::Merge => "into",
    };
    let topic = |field| Ok::<_, Failure>(Topic::parse(field, fields.required(field)?).map_err(Error::from)?);
    let (from, to) = (topic("topic")?, topic(target)?);
    let (site, moved_to) = (app.site.clone(), to.clone());
    let moving = tokio::spawn(async move {
        let moved = topic_moves::move_topic(&site, &user, kind, &from, &to).await;
        match &moved {
            Ok(articles) => tracing::info!(%from, %to, articles, "topic moved"),
            Err(Error::Refused(_)) => {}
            Err(error) => tracing::warn!(%from, %to, %error, "topic not moved"),
        }
        moved
    });
    let articles = match tokio::time::timeout(PATIENCE, moving).await {
        Ok(Ok(moved)) => Some(moved?),
        Ok(Err(_)) => return Err(Failure::Panic),
        Err(_) => None,
    };
    Ok(Moved { to: moved_to, articles })
}

/// Votes on a story, for both the form and the API.
pub(super) async fn vote_news(app: &App, form: &SignedForm) -> Result<(), Failure> {
    let (id, direction) = (news_id(&form.fields)?, vote_type(&form.fields)?);
    Ok(votes::vote_news(&app.site, app.now(), form.user.id, id, direction).await?)
}

/// The field `news_id`.
pub(super) fn news_id(fields: &Fields) -> Result<NewsId, Failure> {
    fields.parsed("news_id", "it must be the number of a story")
}

/// What a posted comment form did.
pub(super) struct Posted {
    /// `insert`, `update` or `delete`.
    pub op: &'static str,
    /// The comment that was written, edited or deleted.
    pub address: CommentAddress,
    /// The comment that it replies to.
    pub parent: Option<CommentId>,
}

/// Writes a comment, edits it, or deletes it if the text is empty, for both the form
/// and the API.
pub(super) async fn post_or_edit(app: &App, form: &SignedForm) -> Result<Posted, Failure> {
    let SignedForm { user, fields, .. } = form;
    let news = news_id(fields)?;
    let edited: Option<CommentId> = id_or_none(fields, "comment_id")?;
    let text = fields.required("comment")?;
    let Some(comment) = edited else {
        let parent: Option<CommentId> = id_or_none(fields, "parent_id")?;
        let body = Body::parse_comment(text).map_err(Error::from)?;
        let address = comment::post_comment(&app.site, app.now(), user, news, parent, &body).await?;
        return Ok(Posted { op: "insert", address, parent });
    };
    let address = CommentAddress { news, comment };
    if text.trim().is_empty() {
        let deleted = comment::delete_comment(&app.site, app.now(), user, address).await?;
        return Ok(Posted { op: "delete", address, parent: deleted.parent_id });
    }
    let body = Body::parse_comment(text).map_err(Error::from)?;
    let changed = comment::edit_comment(&app.site, app.now(), user, address, &body).await?;
    Ok(Posted { op: "update", address, parent: changed.parent_id })
}

/// Votes on a comment, for both the form and the API.
pub(super) async fn vote_comment(app: &App, form: &SignedForm) -> Result<CommentAddress, Failure> {
    let address = form.fields.parsed("comment_id", "it must be two numbers, <news id>-<comment id>")?;
    let direction = vote_type(&form.fields)?;
    votes::vote_comment(&app.site, form.user.id, address, direction).await?;
    Ok(address)
}

/// An id, or -1 for none.
pub(super) fn id_or_none<T: std::str::FromStr>(
    fields: &Fields,
    name: &'static str,
) -> Result<Option<T>, Failure> {
    match fields.required(name)? {
        "-1" => Ok(None),
        _ => fields.parsed(name, "it must be a number, or -1 for none").map(Some),
    }
}

/// The field `vote_type`.
pub(super) fn vote_type(fields: &Fields) -> Result<Direction, Failure> {
    match fields.required("vote_type")? {
        "up" => Ok(Direction::Up),
        "down" => Ok(Direction::Down),
        _ => Err(Failure::Field { name: "vote_type", expected: "it must be up or down" }),
    }
}

/// Posts a tweet, for both the form and the API.
pub(super) async fn post_tweet(app: &App, form: &SignedForm) -> Result<TweetId, Failure> {
    let text = TweetText::parse(form.fields.required("text")?).map_err(Error::from)?;
    Ok(tweets::post_tweet(&app.site, app.moment(), &form.user, &text).await?)
}

/// Follows a user, for both the form and the API.
pub(super) async fn follow(app: &App, form: &SignedForm) -> Result<(), Failure> {
    let name = form.fields.required("username")?;
    follows::follow(&app.site, app.moment(), &form.user, name).await.map_err(unknown_name)
}

/// Unfollows a user, for both the form and the API.
pub(super) async fn unfollow(app: &App, form: &SignedForm) -> Result<(), Failure> {
    let name = form.fields.required("username")?;
    follows::unfollow(&app.site, app.moment(), &form.user, name).await.map_err(unknown_name)
}

/// The failure of what is asked of a user by name.
pub(super) fn unknown_name(error: Error) -> Failure {
    match error {
        Error::Refused(Refusal::NoSuchUser) => Failure::NobodyOfThatName,
        other => other.into(),
    }
}

/// Votes on a site, for both the form and the API.
pub(super) async fn vote_site(app: &App, address: IpAddr, form: &SignedForm) -> Result<(), Failure> {
    let host = super::json::hostname(form.fields.required("link")?)?;
    let verdict = form.fields.required("vote")?.parse().map_or(Err(WRONG_VOTE), verdict)?;
    let ballot = Ballot { host, verdict };
    Ok(sites::vote_as(&app.site, app.now(), address, &form.user, &ballot).await?)
}

/// The failure for an invalid vote.
pub(super) const WRONG_VOTE: Failure = Failure::Field { name: "vote", expected: "it must be 1, -1 or 0" };

/// A vote on a site from its number; 0 takes an earlier one back.
pub(super) const fn verdict(number: i64) -> Result<Option<Verdict>, Failure> {
    match number {
        1 => Ok(Some(Verdict::Good)),
        -1 => Ok(Some(Verdict::Bad)),
        0 => Ok(None),
        _ => Err(WRONG_VOTE),
    }
}

/// Bans a voter or lifts the ban, for both the form and the API. Returns whether all
/// votes have been updated; if not, that continues after the response.
pub(super) async fn ban_voter(app: &App, form: SignedForm, is_ban: bool) -> Result<bool, Failure> {
    let voter: VoterId = form.fields.parsed("user_id", "it must be a UUID")?;
    let (site, now) = (app.site.clone(), app.now());
    let moving = tokio::spawn(async move {
        let moved = if is_ban {
            sites::ban(&site, now, &form.user, voter).await
        } else {
            sites::unban(&site, now, &form.user, voter).await
        };
        if let Err(error @ (Error::Store(_) | Error::Busy | Error::Internal(_))) = &moved {
            tracing::warn!(%error, "ban interrupted; repeat it or restart the server to continue");
        }
        moved
    });
    match tokio::time::timeout(PATIENCE, moving).await {
        Ok(Ok(moved)) => Ok(moved.map(|()| true)?),
        Ok(Err(_)) => Err(Failure::Panic),
        Err(_) => Ok(false),
    }
}

/// Changes the settings of votes on sites, for both the form and the API.
pub(super) async fn change_voting_settings(app: &App, form: &SignedForm) -> Result<(), Failure> {
    const SWITCH: Failure = Failure::Field { name: "voting_is_disabled", expected: "it must be 1 or 0" };
    const NUMBER: Failure = Failure::Field {
        name: "maximum_votes_per_user_per_day",
        expected: "it must be a whole number from 0 to 1000000",
    };
    let is_disabled = match form.fields.get("voting_is_disabled") {
        None => None,
        Some("1" | "true") => Some(true),
        Some("0" | "false") => Some(false),
        Some(_) => return Err(SWITCH),
    };
    let maximum = match form.fields.get("maximum_votes_per_user_per_day") {
        None => None,
        Some(text) => Some(text.parse().ok().filter(|maximum| *maximum <= MAX_DAILY_VOTES).ok_or(NUMBER)?),
    };
    let change = SettingsChange { is_disabled, maximum };
    Ok(sites::change_settings(&app.site, app.now(), &form.user, change).await?)
}

/// A time in an optional field.
pub(super) fn moment(fields: &Fields, name: &'static str) -> Result<Option<Timestamp>, Failure> {
    const EXPECTED: &str = "it must be a time like 2023-02-02T09:36:03Z";
    match fields.text(name) {
        "" => Ok(None),
        text => parse_moment(text).map(Some).map_err(|_| Failure::Field { name, expected: EXPECTED }),
    }
}
