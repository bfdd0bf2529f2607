//! The code that a page's form and the API call of the same action share: it passes the
//! parsed form to the domain.

use super::accounts::form::{Credentials, EndedSession, InviteForm, ProfileForm, Registration, ResetRequest};
use super::accounts::signup_mail;
use super::comments::form::CommentForm;
use super::inbox::letters;
use super::moderation::form::AppealForm;
use super::stories::form::SubmissionForm;
use super::stories::titles::{self, FetchPlace};
use crate::App;
use crate::error::{RequestError, TitleError};
use crate::limits::LONG_ACTION_WAIT;
use crate::request::form::Fields;
use crate::request::viewer::{Call, SignedFields};
use std::net::IpAddr;
use tidings_domain::accounts::account::{self, Owner};
use tidings_domain::accounts::actor::Actor;
use tidings_domain::accounts::invitations;
use tidings_domain::accounts::log_in::{self, LogIn};
use tidings_domain::accounts::login;
use tidings_domain::accounts::password_reset;
use tidings_domain::accounts::session_store::{Device, Session};
use tidings_domain::accounts::sessions;
use tidings_domain::accounts::signup::{self, SignUp, SignedUp};
use tidings_domain::accounts::users::{Role, User};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::articles::topic_moves::{self, Move};
use tidings_domain::comments::comment::{self, CommentChange, Posted};
use tidings_domain::moderation::rules::{self, NewRule};
use tidings_domain::moderation::{self, ModerationRequest, appeals};
use tidings_domain::sites;
use tidings_domain::submissions::{self, Submission, Submitted, preparing};
use tidings_domain::timelines::tweets::{self};
use tidings_domain::values::ids::{CommentAddress, ModerationId, NewsId, RuleId, TweetId, UserId};
use tidings_domain::values::limits::{FAILED_ADDRESSES, MAX_RUNNING_RESETS};
use tidings_domain::values::moderation::{Deed, Thing};
use tidings_domain::values::signup::InvitationCode;
use tidings_domain::values::text::{Body, Title};
use tidings_domain::values::topic::Topic;
use tidings_domain::values::urls::NewsUrl;
use tidings_domain::values::voter_id::VoterId;
use tidings_domain::{Error, Refusal};
use tokio::sync::Semaphore;

/// Creates an account, for both the form and the API.
pub(super) async fn open_account(
    app: &App,
    form: &Registration,
    device: &Device,
) -> Result<SignedUp, RequestError> {
    let Registration { username, password, email, invitation, application, token } = form;
    let sign_up = SignUp {
        username,
        password,
        email: email.as_ref(),
        invitation: invitation.as_ref(),
        application: application.as_ref(),
        token: token.as_ref(),
    };
    let signed_up = signup::create_account(&app.site, app.now(), sign_up, device).await?;
    if signed_up.begins_burst {
        signup_mail::tell_of_burst(app);
    }
    Ok(signed_up)
}

/// Makes an invitation, and mails it if there is an address and the site sends mail.
pub(super) async fn invite(app: &App, user: &User, form: &InviteForm) -> Result<InvitationCode, Error> {
    let email = form.email.as_ref();
    let is_mailed = email.is_some() && app.mailer.is_some();
    if is_mailed {
        invitations::admit_mail(&app.site, app.now(), user).await?;
    }
    let code = invitations::invite(&app.site, app.now(), user, email).await?;
    if let Some(email) = email.filter(|_| is_mailed) {
        signup_mail::mail_invitation(app, &user.username, email.clone(), code.clone());
    }
    Ok(code)
}

/// Moderates, for both the form and the API. Whoever has applied for an account, or is banned and
/// has appealed, cannot look into an inbox, and is told of the answer by mail.
pub(super) async fn moderate(
    app: &App,
    user: &User,
    requests: &[ModerationRequest],
) -> Result<ModerationId, RequestError> {
    let Some((request, further)) = requests.split_first() else {
        return Err(RequestError::NotFound);
    };
    user.once(&app.site, async {
        let id = moderation::moderate(&app.site, app.moment(), user, request).await?;
        // The answer that is kept for a repeated request is that of the first action.
        let mut unnamed = user.clone();
        unnamed.request = None;
        for request in further {
            match moderation::moderate(&app.site, app.moment(), &unnamed, request).await {
                // Such as a profile without a text.
                Ok(_) | Err(Error::Refused(Refusal::NothingToModerate(_))) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if app.mailer.is_some() {
            let (app, request) = (app.clone(), request.clone());
            tokio::spawn(async move { mail_decision(&app, &request).await });
        }
        Ok(id)
    })
    .await
}

/// Adds a rule for posts, for both the form and the API.
pub(super) async fn add_rule(
    app: &App,
    user: &User,
    rule: &NewRule,
) -> Result<(RuleId, ModerationId), RequestError> {
    Ok(user.once(&app.site, rules::add_rule(&app.site, app.moment(), user, rule)).await?)
}

/// Mails the decision about an application or an appeal to the person who waits for it, if mail is
/// configured and the person has an address.
pub async fn mail_decision(app: &App, request: &ModerationRequest) {
    match (&request.thing, &request.deed) {
        (Thing::Application(name), Deed::Approve | Deed::Reject) => {
            signup_mail::mail_answer(app, name, request.reason.as_str()).await;
        }
        (Thing::Appeal(id), _) => mail_answer(app, *id).await,
        _ => {}
    }
}

/// Logs in, for both the form and the API.
pub(super) async fn log_in(app: &App, form: &Credentials, device: &Device) -> Result<LogIn, RequestError> {
    let Credentials { username, password, code } = form;
    let typed = log_in::Credentials { username, password, code: code.as_deref() };
    let outcome = log_in::log_in(&app.site, app.now(), &typed, device).await;
    for id in app.site.take_attacked() {
        tell_owner(app, id);
    }
    Ok(outcome?)
}

/// Tells the owner of an account by mail, in the background, that many addresses try to log
/// in to it.
fn tell_owner(app: &App, id: UserId) {
    let Some(mailer) = app.mailer.clone() else {
        return;
    };
    let app = app.clone();
    tokio::spawn(async move {
        let owner = match login::owner_to_tell(&app.site, id).await {
            Ok(Some(owner)) => owner,
            Ok(None) => return,
            Err(error) => return tracing::warn!(user = %id, %error, "owner of an attacked account not read"),
        };
        let brand = app.brand().await;
        let site = &brand.site;
        let subject = format!("Failed logins to your account at {}", site.name);
        let body = format!(
            "Hello {},\n\nsomebody is guessing the password of your account at {}: logins from {FAILED_ADDRESSES} \
             different addresses failed within an hour.\n\nYour account is not locked, and you can log in as \
             usual. If your password is short or you use it elsewhere, choose another one:\n\n{}\n",
            owner.username,
            site.name,
            site.link("/settings")
        );
        if let Err(error) = mailer.send_notice(&owner.email, &subject, &body).await {
            tracing::error!(user = %id, %error, "mail about failed logins not sent");
        }
    });
}

/// Sends the link if a user with this name has this address. All of that happens after the
/// response, so that neither the response nor its time reveals whether one has.
///
/// # Errors
/// [`Refusal::MailIsOff`], [`Refusal::TooManyRequests`], [`Error::Busy`] while too many requests
/// are handled, or the store's.
pub(super) async fn send_reset_link(
    app: &App,
    form: ResetRequest,
    address: IpAddr,
) -> Result<(), RequestError> {
    static RUNNING: Semaphore = Semaphore::const_new(MAX_RUNNING_RESETS);
    if app.mailer.is_none() {
        return Err(Refusal::MailIsOff.into());
    }
    let place = RUNNING.try_acquire().map_err(|_| Error::Busy)?;
    password_reset::admit_request(&app.site, app.moment(), address).await?;
    let app = app.clone();
    tokio::spawn(async move {
        let _place = place;
        if let Err(error) = mail_reset_link(&app, &form).await {
            tracing::error!(%error, "password reset failed");
        }
    });
    Ok(())
}

async fn mail_reset_link(app: &App, form: &ResetRequest) -> Result<(), Error> {
    let mail = password_reset::request_reset(&app.site, app.now(), &form.username, &form.email).await?;
    let (Some(mail), Some(mailer)) = (mail, &app.mailer) else {
        return Ok(());
    };
    let brand = app.brand().await;
    let site = &brand.site;
    let link = site.link(&format!("/reset-password/{}", mail.token));
    let subject = format!("Set a new password for {}", site.name);
    let body = format!(
        "Hello {},\n\nTo set a new password for your account at {}, open this link within an hour:\n\n{link}\n\n\
         If you did not request this, ignore this message. Your password has not changed.\n",
        mail.username, site.name
    );
    if let Err(error) = mailer.send(&mail.email, &subject, &body).await {
        tracing::error!(username = mail.username, %error, "password reset mail not sent");
        password_reset::withdraw_reset(&app.site, &mail).await?;
    }
    Ok(())
}

/// Changes a profile, for both the forms and the API. Returns the new session after a change of the
/// password. A repeat returns none: the store holds no session tokens.
pub(super) async fn save_profile(
    app: &App,
    form: &SignedFields,
    device: &Device,
) -> Result<Option<Session>, RequestError> {
    let mut session = None;
    let saving = async {
        session = change_profile(app, form, device).await?;
        Ok::<_, RequestError>(())
    };
    form.user.once(&app.site, saving).await?;
    Ok(session)
}

async fn change_profile(
    app: &App,
    form: &SignedFields,
    device: &Device,
) -> Result<Option<Session>, RequestError> {
    let change = form.fields.read::<ProfileForm>()?.into();
    let (user, session) = (&form.user, form.session()?);
    let owner = Owner { user, session, device };
    Ok(account::update_profile(&app.site, app.now(), owner, &change).await?)
}

/// Ends one session or all others, for both the form and the API.
pub(super) async fn end_session(app: &App, form: &SignedFields) -> Result<(), RequestError> {
    let session = form.session()?;
    let ended: EndedSession = form.fields.read()?;
    let ending = async {
        match ended {
            EndedSession::Others => sessions::end_other_sessions(&app.site, &form.user, session).await,
            EndedSession::One(id) => sessions::end_session(&app.site, session, &id).await,
        }
    };
    Ok(form.user.once(&app.site, ending).await?)
}

/// A story that was submitted or edited.
pub(super) struct Sent {
    /// The story.
    pub id: NewsId,
    /// Whether it waits for a moderator.
    pub waits: bool,
}

/// Submits or edits a story, for both the form and the API.
pub(super) async fn submit_or_edit(
    app: &App,
    author: Actor<'_>,
    form: SubmissionForm,
) -> Result<Sent, RequestError> {
    let parsed = Submission::parse(&form.title, &form.url, &form.text)?;
    let submission = Submission { topics: form.topics, ..parsed };
    let (site, now) = (&app.site, app.moment());
    let sending = async {
        let Some(id) = form.news_id else {
            return submissions::submit_news(site, now, author, &submission).await;
        };
        submissions::edit_news(site, now, author.user, id, &submission).await?;
        Ok(Submitted::New(id))
    };
    if let Some(id) = form.news_id
        && moderates_instead(app, author.user, Thing::Story(id), || Ok(submission.as_edit()?)).await?
    {
        return Ok(Sent { id, waits: false });
    }
    let submitted = author.once(site, sending).await?;
    Ok(Sent { id: submitted.id(), waits: matches!(submitted, Submitted::Held(_)) })
}

/// Deletes a story, for both the form and the API.
pub(super) async fn delete_news(app: &App, user: &User, id: NewsId) -> Result<(), RequestError> {
    if moderates_instead(app, user, Thing::Story(id), || Ok(Deed::Remove)).await? {
        return Ok(());
    }
    let deleting = submissions::delete_news(&app.site, app.moment(), user, id);
    Ok(user.once(&app.site, deleting).await?)
}

/// Fetches the title of the page at a URL, for both the form and the API.
///
/// # Errors
/// [`Error::Busy`] while too many titles are being fetched, [`Refusal::TooManyRequests`], the
/// store's, or a [`TitleError`].
pub(super) async fn fetch_title(app: &App, actor: Actor<'_>, url: &NewsUrl) -> Result<Title, RequestError> {
    let settings = &app.settings.titles;
    if !settings.is_on {
        return Err(TitleError::SwitchedOff.into());
    }
    titles::check_address(settings, url)?;
    let place = FetchPlace::take(actor.id, actor.address)?;
    preparing::admit_title_fetch(&app.site, app.moment(), actor).await?;
    Ok(titles::fetch_title(settings, &app.settings.site.url, place, url).await?)
}

/// Renames or merges a topic. Returns how many articles were moved; `None` while the move is still running. The
/// move of a large topic continues after the response.
pub(super) async fn move_topic(
    app: &App,
    user: &User,
    kind: Move,
    (from, to): (&Topic, &Topic),
) -> Result<Option<u64>, RequestError> {
    let (site, now, user, from, to) = (app.site.clone(), app.now(), user.clone(), from.clone(), to.clone());
    let moving = tokio::spawn(async move {
        let moved = topic_moves::move_topic(&site, now, &user, kind, &from, &to).await;
        match &moved {
            Ok(articles) => tracing::info!(%from, %to, articles, "topic moved"),
            Err(Error::Refused(_)) => {}
            Err(error) => tracing::warn!(%from, %to, %error, "topic not moved"),
        }
        moved
    });
    match tokio::time::timeout(LONG_ACTION_WAIT, moving).await {
        Ok(Ok(moved)) => Ok(Some(moved?)),
        Ok(Err(_)) => Err(RequestError::Panic),
        Err(_) => Ok(None),
    }
}

/// Writes a comment, edits it, or deletes it if the text is empty, for both the form
/// and the API.
pub(super) async fn post_or_edit(
    app: &App,
    actor: Actor<'_>,
    form: &CommentForm,
) -> Result<Posted, RequestError> {
    if let Some(comment) = form.comment_id {
        let address = CommentAddress { news: form.news_id, comment };
        let is_deletion = form.comment.trim().is_empty();
        let deed = || match is_deletion {
            true => Ok(Deed::Remove),
            false => {
                let text = Some(Body::parse_comment(&form.comment)?);
                Ok(Deed::Edit { title: None, topics: None, url: None, text })
            }
        };
        if moderates_instead(app, actor.user, Thing::Comment(address), deed).await? {
            let change = if is_deletion { CommentChange::Delete } else { CommentChange::Update };
            return Ok(Posted { change, address, parent: form.parent_id, waits: false });
        }
    }
    Ok(actor.once(&app.site, write_or_edit(app, actor, form)).await?)
}

/// Does what an administrator asks for with a post of another as a moderator's action, with a line in the
/// log. Returns false if it is an author's own business, and nothing was done.
async fn moderates_instead(
    app: &App,
    user: &User,
    thing: Thing,
    deed: impl FnOnce() -> Result<Deed, Error>,
) -> Result<bool, RequestError> {
    if user.role() < Role::Administrator {
        return Ok(false);
    }
    let asked = (&thing, deed()?);
    let line = moderation::moderate_as_administrator(&app.site, app.moment(), user, asked).await?;
    Ok(line.is_some())
}

async fn write_or_edit(app: &App, actor: Actor<'_>, form: &CommentForm) -> Result<Posted, Error> {
    let (site, now, news) = (&app.site, app.now(), form.news_id);
    let Some(comment) = form.comment_id else {
        let body = Body::parse_comment(&form.comment)?;
        return comment::post_comment(site, now, actor, news, form.parent_id, &body).await;
    };
    let address = CommentAddress { news, comment };
    if form.comment.trim().is_empty() {
        let deleted = comment::delete_comment(site, now, actor.user, address).await?;
        return Ok(Posted::changed(CommentChange::Delete, address, &deleted));
    }
    let body = Body::parse_comment(&form.comment)?;
    let changed = comment::edit_comment(site, now, actor, address, &body).await?;
    Ok(Posted::changed(CommentChange::Update, address, &changed))
}

/// Deletes a tweet, for both the form and the API.
pub(super) async fn delete_tweet(app: &App, user: &User, id: TweetId) -> Result<(), RequestError> {
    if moderates_instead(app, user, Thing::Tweet(id), || Ok(Deed::Remove)).await? {
        return Ok(());
    }
    Ok(user.once(&app.site, tweets::delete_tweet(&app.site, app.moment(), user, id)).await?)
}

/// The error for an action on a user who is given by name.
pub(super) fn unknown_name(error: Error) -> RequestError {
    match error {
        Error::Refused(Refusal::NoSuchUser) => RequestError::UnknownUsername,
        other => other.into(),
    }
}

/// Mails the answer to an appeal, if mail is configured.
async fn mail_answer(app: &App, id: ModerationId) {
    let Some(mailer) = app.mailer.clone() else { return };
    let answer = match appeals::answer_to_mail(&app.site, id).await {
        Ok(Some(answer)) => answer,
        Ok(None) => return,
        Err(error) => return tracing::warn!(line = %id, %error, "answer to an appeal not read"),
    };
    let brand = app.brand().await;
    let (subject, text) = letters::appeal_answer(&brand.site, id, &answer);
    if let Err(error) = mailer.send_notice(&answer.to.email, &subject, &text).await {
        tracing::error!(line = %id, %error, "answer to an appeal not sent");
    }
}

/// Appeals against a decision, for both the form and the API: in a session, or with username and
/// password for who cannot have one.
pub(super) async fn appeal(
    app: &App,
    mut visit: Visit,
    (fields, call): (Fields, &Call),
    address: IpAddr,
) -> Result<ModerationId, RequestError> {
    let form: AppealForm = fields.read()?;
    let (site, now, id) = (&app.site, app.moment(), form.moderation_id);
    if visit.recognise().await?.is_some() {
        let sender = SignedFields::sign(visit, fields, address, call).await?;
        let user = &sender.user;
        user.once(site, appeals::appeal(site, now, user, id, &form.text)).await?;
    } else if let (Some(username), Some(password)) = (&form.username, &form.password) {
        let who = (username.as_str(), password.0.as_str(), address);
        appeals::appeal_with_password(site, now, who, (id, &form.text)).await?;
    } else {
        return Err(RequestError::LoginRequired);
    }
    Ok(id)
}

/// Bans a voter or lifts the ban. Returns whether all votes have been updated; if not, the update continues
/// after the response.
pub(super) async fn ban_voter(
    app: &App,
    user: &User,
    voter: VoterId,
    is_ban: bool,
) -> Result<bool, RequestError> {
    let (site, now, user) = (app.site.clone(), app.now(), user.clone());
    let task = tokio::spawn(async move {
        let result = if is_ban {
            sites::ban(&site, now, &user, voter).await
        } else {
            sites::unban(&site, now, &user, voter).await
        };
        if let Err(error @ (Error::Store(_) | Error::Busy | Error::Internal(_))) = &result {
            tracing::warn!(%error, "ban interrupted; repeat it or restart the server to continue");
        }
        result
    });
    match tokio::time::timeout(LONG_ACTION_WAIT, task).await {
        Ok(Ok(result)) => Ok(result.map(|()| true)?),
        Ok(Err(_)) => Err(RequestError::Panic),
        Err(_) => Ok(false),
    }
}
