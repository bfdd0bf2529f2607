//! What both faces of an action do, the page's form and the API's call: read
//! the fields into typed values and call the domain.

use super::App;
use super::error::Failure;
use super::form::Fields;
use super::viewer::SignedForm;
use crate::domain::accounts::{self, ProfileChange};
use crate::domain::ids::{CommentAddress, CommentId, NewsId};
use crate::domain::news::Direction;
use crate::domain::sessions::{self, Session};
use crate::domain::submissions::{self, Submission};
use crate::domain::text::{About, Body, Email, NewPassword, Username};
use crate::domain::{Error, Refusal, comments, password_reset, votes};
use std::net::IpAddr;

/// What both faces of the registration do.
pub(super) async fn open_account(app: &App, fields: &Fields, address: IpAddr) -> Result<Session, Failure> {
    let username = Username::parse(fields.required("username")?).map_err(Error::from)?;
    let password = NewPassword::parse(fields.required("password")?).map_err(Error::from)?;
    Ok(accounts::create_account(&app.site, app.now(), &username, &password, address).await?)
}

/// What both faces of the login do.
pub(super) async fn open_session(app: &App, fields: &Fields, address: IpAddr) -> Result<Session, Failure> {
    let (username, password) = (fields.required("username")?, fields.required("password")?);
    Ok(sessions::log_in(&app.site, username, password, address).await?)
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
    })
}

/// Sends the link, if a user with this name has this address. Who asks learns
/// nothing from the answer; the mail goes out in the background.
///
/// # Errors
/// [`Refusal::MailIsOff`], or the store's.
pub(super) async fn send_reset_link(app: &App, username: &str, email: &str) -> Result<(), Failure> {
    let mailer = app.mailer.clone().ok_or(Refusal::MailIsOff)?;
    let Some(mail) = password_reset::request_reset(&app.site, app.now(), username, email).await? else {
        return Ok(());
    };
    let (app, site) = (app.clone(), app.config.site.clone());
    let link = site.link(&format!("/reset-password/{}", mail.token));
    let body = format!(
        "Hello {},\n\nto set a new password for your account at {}, open this link within an hour:\n\n{link}\n\n\
         If you did not ask for this, ignore this message: nothing has changed.\n",
        mail.username, site.name
    );
    tokio::spawn(async move {
        let subject = format!("A new password for {}", site.name);
        if let Err(error) = mailer.send(&mail.email, &subject, &body).await {
            tracing::error!(username = mail.username, %error, "password reset mail not sent");
            if let Err(error) = password_reset::withdraw_reset(&app.site, &mail).await {
                tracing::warn!(username = mail.username, %error, "password reset not withdrawn");
            }
        }
    });
    Ok(())
}

/// What both faces of the submission form do.
pub(super) async fn submit_or_edit(app: &App, form: &SignedForm) -> Result<NewsId, Failure> {
    let SignedForm { user, fields, .. } = form;
    let edited: Option<NewsId> = id_or_none(fields, "news_id")?;
    let submission = Submission::parse(fields.required("title")?, fields.text("url"), fields.text("text"))?;
    match edited {
        None => Ok(submissions::submit_news(&app.site, app.now(), user, &submission).await?.id()),
        Some(id) => {
            submissions::edit_news(&app.site, app.now(), user, id, &submission).await?;
            Ok(id)
        }
    }
}

/// What both faces of the vote do.
pub(super) async fn vote_news(app: &App, form: &SignedForm) -> Result<(), Failure> {
    let (id, direction) = (news_id(&form.fields)?, vote_type(&form.fields)?);
    Ok(votes::vote_news(&app.site, app.now(), form.user.id, id, direction).await?)
}

/// The field `news_id`.
pub(super) fn news_id(fields: &Fields) -> Result<NewsId, Failure> {
    fields.parsed("news_id", "it must be the number of a news item")
}

/// What a posted comment form did.
pub(super) struct Posted {
    /// `insert`, `update` or `delete`.
    pub op: &'static str,
    /// The comment that was written, changed or deleted.
    pub address: CommentAddress,
    /// The comment that it answers.
    pub parent: Option<CommentId>,
}

/// What both faces of the comment form do: a new comment, an edit, or with an
/// empty text a deletion.
pub(super) async fn post_or_edit(app: &App, form: &SignedForm) -> Result<Posted, Failure> {
    let SignedForm { user, fields, .. } = form;
    let news = news_id(fields)?;
    let edited: Option<CommentId> = id_or_none(fields, "comment_id")?;
    let text = fields.required("comment")?;
    let Some(comment) = edited else {
        let parent: Option<CommentId> = id_or_none(fields, "parent_id")?;
        let body = Body::parse_comment(text).map_err(Error::from)?;
        let address = comments::post_comment(&app.site, app.now(), user, news, parent, &body).await?;
        return Ok(Posted { op: "insert", address, parent });
    };
    let address = CommentAddress { news, comment };
    if text.trim().is_empty() {
        let deleted = comments::delete_comment(&app.site, app.now(), user, address).await?;
        return Ok(Posted { op: "delete", address, parent: deleted.parent_id });
    }
    let body = Body::parse_comment(text).map_err(Error::from)?;
    let changed = comments::edit_comment(&app.site, app.now(), user, address, &body).await?;
    Ok(Posted { op: "update", address, parent: changed.parent_id })
}

/// What both faces of the vote do.
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
