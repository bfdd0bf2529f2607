//! The code that a page's form and the API call of the same action share: it passes the
//! parsed form to the domain.

use super::App;
use super::error::RequestError;
use super::form::Fields;
use super::forms::accounts::{
    Credentials, EndedSession, InviteForm, ProfileForm, Registration, ResetRequest,
};
use super::forms::comments::{CommentForm, CommentVoteForm};
use super::forms::flags::{FlagForm, UnflagForm};
use super::forms::moderation::{AppealForm, UndoForm};
use super::forms::mutes::MuteTarget;
use super::forms::news::{NewsVoteForm, SubmissionForm};
use super::forms::rules::LiftForm;
use super::forms::sites::{SiteVoteForm, VoterForm, VotingSettingsForm};
use super::forms::timelines::{FollowForm, TweetForm};
use super::forms::topics::DescribeForm;
use super::letters;
use super::signup_mail;
use super::titles::{self, FetchPlace, TitleError};
use super::viewer::{Call, SignedFields};
use crate::limits::LONG_ACTION_WAIT;
use std::net::IpAddr;
use tidings_domain::accounts::account::{self, Owner};
use tidings_domain::accounts::actor::Actor;
use tidings_domain::accounts::inbox::{self, Marking};
use tidings_domain::accounts::invitations;
use tidings_domain::accounts::log_in::{self, LogIn};
use tidings_domain::accounts::login;
use tidings_domain::accounts::mutes;
use tidings_domain::accounts::password_reset;
use tidings_domain::accounts::session_store::Device;
use tidings_domain::accounts::sessions::{self, Session};
use tidings_domain::accounts::signup::{self, SignUp, SignedUp};
use tidings_domain::accounts::users::{Role, User};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::articles::topic_choices::{self, Stance};
use tidings_domain::articles::topic_moves::{self, Move};
use tidings_domain::articles::topics;
use tidings_domain::comments::comment::{self, CommentChange, Posted};
use tidings_domain::flags;
use tidings_domain::moderation::rules::{self, NewRule};
use tidings_domain::moderation::{self, ModerationRequest, appeals};
use tidings_domain::news::marking::{self, Mark};
use tidings_domain::news::subscriptions;
use tidings_domain::sites;
use tidings_domain::submissions::{self, Submission, Submitted, preparing};
use tidings_domain::timelines::blocks;
use tidings_domain::timelines::follows;
use tidings_domain::timelines::tweets::{self, PostedTweet};
use tidings_domain::values::ids::{CommentAddress, ModerationId, NewsId, RuleId, TweetId, UserId};
use tidings_domain::values::limits::{FAILED_ADDRESSES, MAX_RUNNING_RESETS};
use tidings_domain::values::moderation::{Deed, Thing};
use tidings_domain::values::signup::InvitationCode;
use tidings_domain::values::text::{Body, Title};
use tidings_domain::values::topic::Topic;
use tidings_domain::values::urls::NewsUrl;
use tidings_domain::votes;
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

/// Makes an invitation, for both the form and the API, and mails it if there is an address and
/// the site sends mail.
pub(super) async fn invite(
    app: &App,
    user: &User,
    form: &InviteForm,
) -> Result<InvitationCode, RequestError> {
    user.once(&app.site, async {
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
    })
    .await
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

/// Undoes an action of moderators, for both the form and the API.
pub(super) async fn undo(app: &App, user: &User, form: &UndoForm) -> Result<ModerationId, RequestError> {
    let how = (form.moderation_id, &form.reason, form.anonymous);
    Ok(user.once(&app.site, moderation::undo(&app.site, app.moment(), user, how)).await?)
}

/// Adds a rule for posts, for both the form and the API.
pub(super) async fn add_rule(
    app: &App,
    user: &User,
    rule: &NewRule,
) -> Result<(RuleId, ModerationId), RequestError> {
    Ok(user.once(&app.site, rules::add_rule(&app.site, app.moment(), user, rule)).await?)
}

/// Lifts a rule for posts, for both the form and the API.
pub(super) async fn lift_rule(app: &App, user: &User, form: &LiftForm) -> Result<ModerationId, RequestError> {
    let how = (form.rule_id, &form.reason);
    Ok(user.once(&app.site, rules::lift_rule(&app.site, app.moment(), user, how)).await?)
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

/// The outcome of moving a topic.
pub(super) struct Moved {
    /// The topic that has the articles now.
    pub to: Topic,
    /// How many articles were moved; `None` while the move is still running.
    pub articles: Option<u64>,
}

/// Renames or merges a topic, for both the form and the API. The move of a large
/// topic continues after the response.
pub(super) async fn move_topic(
    app: &App,
    user: User,
    kind: Move,
    from: Topic,
    to: Topic,
) -> Result<Moved, RequestError> {
    let moved_to = to.clone();
    let moving = user.once(&app.site, start_move(app, &user, kind, (from, to)));
    Ok(Moved { to: moved_to, articles: moving.await? })
}

/// Moves the articles of a topic. Returns how many; `None` while the move is still running.
async fn start_move(
    app: &App,
    user: &User,
    kind: Move,
    (from, to): (Topic, Topic),
) -> Result<Option<u64>, RequestError> {
    let (site, now, user) = (app.site.clone(), app.now(), user.clone());
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

/// Hides or saves a story, for both the form and the API.
pub(super) async fn mark_news(app: &App, user: &User, mark: Mark, id: NewsId) -> Result<(), RequestError> {
    Ok(user.once(&app.site, marking::mark(&app.site, app.now(), user, mark, id)).await?)
}

/// Ends that, for both the form and the API.
pub(super) async fn unmark_news(app: &App, user: &User, mark: Mark, id: NewsId) -> Result<(), RequestError> {
    Ok(user.once(&app.site, marking::unmark(&app.site, user, mark, id)).await?)
}

/// Follows or mutes a topic, or ends that, for both the form and the API.
pub(super) async fn set_stance(
    app: &App,
    actor: Actor<'_>,
    topic: &Topic,
    (stance, takes): (Stance, bool),
) -> Result<(), RequestError> {
    let (site, now) = (&app.site, app.moment());
    let setting = async {
        if takes {
            topic_choices::choose(site, now, actor, stance, topic).await
        } else {
            topic_choices::leave(site, now, actor, stance, topic).await
        }
    };
    Ok(actor.once(site, setting).await?)
}

/// Votes or takes the vote back, for both the form and the API.
pub(super) async fn vote_news(app: &App, actor: Actor<'_>, form: &NewsVoteForm) -> Result<(), RequestError> {
    let (site, now, id) = (&app.site, app.now(), form.news_id);
    let voting = async {
        match form.vote_type.direction() {
            Some(direction) => votes::vote_news(site, now, actor, id, direction).await,
            None => votes::take_back_news_vote(site, now, actor, id).await,
        }
    };
    Ok(actor.once(site, voting).await?)
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

/// Votes or takes the vote back, for both the form and the API. Returns the comment.
pub(super) async fn vote_comment(
    app: &App,
    actor: Actor<'_>,
    form: &CommentVoteForm,
) -> Result<CommentAddress, RequestError> {
    let (site, now, address) = (&app.site, app.now(), form.comment_id);
    let voting = async {
        match form.vote_type.direction() {
            Some(direction) => votes::vote_comment(site, now, actor, address, direction).await?,
            None => votes::take_back_comment_vote(site, now, actor, address).await?,
        }
        Ok::<_, Error>(address)
    };
    Ok(actor.once(site, voting).await?)
}

/// Flags something, for both the form and the API. Returns what was flagged.
pub(super) async fn flag(app: &App, form: &SignedFields) -> Result<Thing, RequestError> {
    let (thing, flagging) = form.fields.read::<FlagForm>()?.into();
    let flagged = flags::flag(&app.site, app.moment(), form.actor(), (&thing, &flagging));
    form.user.once(&app.site, flagged).await.map_err(unknown_name)?;
    Ok(thing)
}

/// Takes a flag back, for both the form and the API. Returns what was flagged.
pub(super) async fn unflag(app: &App, form: &SignedFields) -> Result<Thing, RequestError> {
    let UnflagForm { id, .. } = form.fields.read()?;
    let unflagging = flags::unflag(&app.site, app.moment(), form.actor(), &id);
    form.user.once(&app.site, unflagging).await.map_err(unknown_name)?;
    Ok(id)
}

/// Posts a tweet, for both the form and the API.
pub(super) async fn post_tweet(
    app: &App,
    actor: Actor<'_>,
    form: &TweetForm,
) -> Result<PostedTweet, RequestError> {
    let posting = tweets::post_tweet(&app.site, app.moment(), actor, &form.text);
    Ok(actor.once(&app.site, posting).await?)
}

/// Deletes a tweet, for both the form and the API.
pub(super) async fn delete_tweet(app: &App, user: &User, id: TweetId) -> Result<(), RequestError> {
    if moderates_instead(app, user, Thing::Tweet(id), || Ok(Deed::Remove)).await? {
        return Ok(());
    }
    Ok(user.once(&app.site, tweets::delete_tweet(&app.site, app.moment(), user, id)).await?)
}

/// Follows a user, for both the form and the API.
pub(super) async fn follow(app: &App, actor: Actor<'_>, form: &FollowForm) -> Result<(), RequestError> {
    let following = follows::follow(&app.site, app.moment(), actor, &form.username);
    actor.once(&app.site, following).await.map_err(unknown_name)
}

/// Unfollows a user, for both the form and the API.
pub(super) async fn unfollow(app: &App, actor: Actor<'_>, form: &FollowForm) -> Result<(), RequestError> {
    let unfollowing = follows::unfollow(&app.site, app.moment(), actor, &form.username);
    actor.once(&app.site, unfollowing).await.map_err(unknown_name)
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

/// Mutes something or ends that, for both the form and the API.
pub(super) async fn set_mute(
    app: &App,
    actor: Actor<'_>,
    target: &MuteTarget,
    is_muted: bool,
) -> Result<(), RequestError> {
    let (site, now) = (&app.site, app.moment());
    let setting = async {
        match target {
            MuteTarget::Topic(topic) if is_muted => {
                topic_choices::choose(site, now, actor, Stance::Muted, topic).await
            }
            MuteTarget::Topic(topic) => topic_choices::leave(site, now, actor, Stance::Muted, topic).await,
            MuteTarget::Other(what) if is_muted => mutes::mute(site, now, actor, what).await,
            MuteTarget::Other(what) => mutes::unmute(site, now, actor, what).await,
        }
    };
    actor.once(site, setting).await.map_err(unknown_name)
}

/// Blocks a user or ends that, for both the form and the API.
pub(super) async fn set_block(
    app: &App,
    actor: Actor<'_>,
    username: &str,
    is_blocked: bool,
) -> Result<(), RequestError> {
    let (site, now) = (&app.site, app.moment());
    let setting = async {
        if is_blocked {
            blocks::block(site, now, actor, username).await
        } else {
            blocks::unblock(site, now, actor, username).await
        }
    };
    actor.once(site, setting).await.map_err(unknown_name)
}

/// Votes, for both the form and the API.
pub(super) async fn vote_site(app: &App, actor: Actor<'_>, form: SiteVoteForm) -> Result<(), RequestError> {
    let ballot = form.into();
    Ok(actor.once(&app.site, sites::vote_as(&app.site, app.now(), actor, &ballot)).await?)
}

/// Bans a voter or lifts the ban, for both the form and the API. Returns whether all
/// votes have been updated; if not, the update continues after the response.
pub(super) async fn ban_voter(
    app: &App,
    user: User,
    form: &VoterForm,
    is_ban: bool,
) -> Result<bool, RequestError> {
    user.once(&app.site, start_ban(app, user.clone(), form, is_ban)).await
}

async fn start_ban(app: &App, user: User, form: &VoterForm, is_ban: bool) -> Result<bool, RequestError> {
    let (site, now, voter) = (app.site.clone(), app.now(), form.user_id);
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

/// Changes the settings of votes on sites, for both the form and the API.
pub(super) async fn change_voting_settings(
    app: &App,
    user: &User,
    form: VotingSettingsForm,
) -> Result<(), RequestError> {
    let changing = sites::change_settings(&app.site, app.now(), user, form.into());
    Ok(user.once(&app.site, changing).await?)
}

/// Describes a topic, for both the form and the API.
pub(super) async fn describe_topic(app: &App, user: &User, form: &DescribeForm) -> Result<(), RequestError> {
    let describing = topics::describe(&app.site, app.now(), user, &form.topic, form.about.as_ref());
    Ok(user.once(&app.site, describing).await?)
}

/// Marks entries of the inbox as read, for both the form and the API.
pub(super) async fn mark_read(app: &App, user: &User, marking: Marking) -> Result<(), RequestError> {
    Ok(user.once(&app.site, inbox::mark_read(&app.site, user, marking)).await?)
}

/// Subscribes to a thread or leaves it, for both the form and the API.
pub(super) async fn set_subscription(
    app: &App,
    user: &User,
    news: NewsId,
    is_subscribed: bool,
) -> Result<(), RequestError> {
    let (site, now) = (&app.site, app.moment());
    let setting = async {
        if is_subscribed {
            subscriptions::subscribe(site, now, user, news).await
        } else {
            subscriptions::unsubscribe(site, now, user, news).await
        }
    };
    Ok(user.once(site, setting).await?)
}
