//! The sessions of an account: the page and the calls that list them and end them.

use crate::features::accounts::form::{EndedSessionForm, EndedSessions, OTHERS};
use crate::markup::addresses::ACCOUNT_SETTINGS;
use crate::markup::parts::{ButtonForm, SMALL_BUTTON, age, label_of};
use crate::markup::{Frame, Member, Notice, Page};
use crate::request::agent_name::agent_name;
use crate::request::{DONE, DoneResponse, SignedFields, answer};
use crate::{App, RequestError, Result};
use axum::Json;
use axum::response::Redirect;
use maud::{Markup, html};
use tidings_domain::accounts::session_store::{self, LoginMethod, OpenSession};
use tidings_domain::accounts::sessions;
use tidings_language::lists::enumerated;
use tidings_language::{Phrase, t};

const PAGE: &str = "/settings/sessions";

/// The page of sessions.
fn shown(frame: &Frame<'_>, sessions: &[OpenSession]) -> Markup {
    let content = html! {
        p {
            (t!("You are logged in with these browsers and programs. End any session you don't recognise or need."))
        }
        ul.people { @for session in sessions { li.session { (session_item(frame, session)) } } }
        @if sessions.iter().any(|session| !session.current) {
            @let fields = [("session", OTHERS)];
            @let form = ButtonForm { class: "form", action: PAGE, fields: &fields, button: "button grave" };
            (form.render(frame, t!("End all other sessions")))
        }
        p { a.action href=(ACCOUNT_SETTINGS) { (t!("Account settings")) } }
    };
    frame.headed(t!("Sessions"), &content)
}

fn session_item(frame: &Frame<'_>, session: &OpenSession) -> Markup {
    let is_earlier = session.since.is_none();
    let name = if is_earlier { t!("An earlier session").to_owned() } else { agent_name(&session.agent) };
    let since = session.since.map(|since| logged_in(age(frame, since), session.method));
    let seen = session.last_seen.map(|seen| t!("last seen {time}", time = age(frame, seen)));
    let address = Some(&session.address).filter(|address| !address.is_empty());
    let facts = since.into_iter().chain(seen).chain(address.map(|address| t!("from {address}", address)));
    html! {
        div {
            strong title=[(!session.agent.is_empty()).then_some(&session.agent)] { (name) }
            @if session.current { " " (t!("(this one)")) }
            p.hint {
                @if is_earlier {
                    (t!("From before sessions were listed, or from Lamer News on the same store. All browsers \
                         that logged in at that time share it."))
                } @else {
                    (enumerated(facts))
                }
            }
        }
        @if !session.current {
            @let label = label_of(t!("verb" => "End"), t!("the session: {name}", name = &name));
            @let fields = [("session", &*session.id)];
            (ButtonForm { class: "", action: PAGE, fields: &fields, button: SMALL_BUTTON }.render(frame, label))
        }
    }
}

/// When somebody logged in, and how, unless it was with the password alone.
fn logged_in(time: Markup, method: LoginMethod) -> Phrase<'static> {
    match method {
        LoginMethod::Password => t!("Logged in {time}", time),
        LoginMethod::Totp => t!("Logged in {time} with a code", time),
        LoginMethod::RecoveryCode => t!("Logged in {time} with a recovery code", time),
        LoginMethod::PasswordAndPasskey => t!("Logged in {time} with a passkey as the second step", time),
        LoginMethod::Passkey => t!("Logged in {time} with a passkey", time),
        LoginMethod::Provider => t!("Logged in {time} with the sign-in service", time),
        LoginMethod::Link => t!("Logged in {time} with a link from the operator", time),
    }
}

/// GET /settings/sessions.
pub async fn page(Page { app, mut visit, here, .. }: Page<Member>) -> Result<Markup> {
    let session = visit.session().ok_or(RequestError::LoginRequired)?;
    let sessions = session_store::list(&app.site, session).await?;
    Ok(shown(&Frame::of(&app, &mut visit, &here).await?, &sessions))
}

/// POST /settings/sessions: session (an id, or `others`), apisecret.
pub async fn end(app: App, mut form: SignedFields) -> Result<Redirect> {
    let EndedSessionForm { session } = form.fields.read()?;
    if matches!(session, EndedSessions::Others) {
        // Sent again, the form ends those that have begun since.
        form.set_a_state();
    }
    end_sessions(&app, &form, &session).await?;
    Notice::SessionsEnded.redirect_anew(&app, form.user.id, PAGE).await
}

/// Ends one session or all others, for both the form and the API.
async fn end_sessions(app: &App, form: &SignedFields, ended: &EndedSessions) -> Result<()> {
    let session = form.session()?;
    let ending = async {
        match ended {
            EndedSessions::Others => sessions::end_other_sessions(&app.site, &form.user, session).await,
            EndedSessions::One(id) => sessions::end_session(&app.site, session, id).await,
        }
    };
    Ok(form.user.once(&app.site, ending).await?)
}

answer! {
    /// The open sessions of the user, the newest first.
    pub struct SessionsResponse as SessionList from (sessions: Vec<OpenSession>) {
        status;
        sessions: Vec<SessionEntry> = sessions.into_iter().map(SessionEntry::from).collect();
    }

    /// A session.
    pub struct SessionEntry as Session from (session: OpenSession) {
        /// The id, to end the session.
        id: String = session.id, values::SessionId;
        /// When the user logged in; null if it is not known.
        since: Option<u64> = session.since.map(|since| since.0);
        /// The last visit, to the hour; null if it is not known.
        last_seen: Option<u64> = session.last_seen.map(|seen| seen.0);
        /// The browser or program of the login.
        agent: String = session.agent, values::Agent;
        /// The network address of the login.
        address: String = session.address, values::NetworkAddress;
        /// Whether the request comes from this session.
        current: bool = session.current;
    }
}

/// GET /api/sessions.
pub async fn list(Page { app, visit, .. }: Page<Member>) -> Result<Json<SessionsResponse>> {
    let session = visit.session().ok_or(RequestError::LoginRequired)?;
    Ok(Json(session_store::list(&app.site, session).await?.into()))
}

/// POST /api/endsession.
pub async fn end_by_call(app: App, form: SignedFields) -> Result<Json<DoneResponse>> {
    let EndedSessionForm { session } = form.fields.read()?;
    end_sessions(&app, &form, &session).await?;
    Ok(Json(DONE))
}
