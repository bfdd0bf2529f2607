//! Actions of users who are logged in, as values. A noun declares each of its actions once: where it is, what it
//! does, what the call answers, and where a browser goes next; see `stories::marks::actions`. From that come the
//! address that forms of pages are sent to, the call of the API, its entry in the OpenAPI document, and the
//! rows of the tests that try all addresses. `router::actions` lists them.

use crate::App;
use crate::error::{RequestError, Result};
use crate::limits::LONG_ACTION_WAIT;
use crate::request::description::{Described, Description};
use crate::request::{DONE, DoneResponse, FromFields, Next, SignedFields};
use crate::route::{Facts, RouteFacts, SHORT, Target};
use axum::Json;
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Redirect};
use axum::routing::{MethodRouter, post};
use futures_util::future::BoxFuture;
use serde::Serialize;
use std::sync::Arc;
use tidings_domain::repeats::KeptAnswer;
use tidings_domain::{Actor, Error};
use tidings_language::Message;
use tokio::time::timeout;

/// The work of an action: for a user, with the fields of its form.
type Act<T, A, E> =
    Arc<dyn for<'a> Fn(&'a App, Actor<'a>, &'a T) -> BoxFuture<'a, Result<A, E>> + Send + Sync>;

/// A form that was sent to an action.
pub struct SentForm {
    /// The site.
    pub app: App,
    /// The user, with the fields of the form.
    pub form: SignedFields,
}

/// An action as it is declared: `T` is its form, `A` its outcome.
pub struct Action<T, A, E = Error> {
    act: Act<T, A, E>,
    /// As much of the entry as is known so far.
    entry: ActionEntry,
}

/// An action as the router and the OpenAPI document need it.
pub struct ActionEntry {
    /// The target of forms on pages, such as `/hide`.
    pub path: &'static str,
    /// The facts of that address.
    pub facts: Facts,
    /// The handler of these forms.
    pub page: MethodRouter<App>,
    /// The page that its form is on; see [`Action::form_page`].
    pub form_page: Option<&'static str>,
    /// The address of the call, such as `/api/hide`.
    pub call_path: String,
    /// The handler of the call.
    pub call: MethodRouter<App>,
    /// A sentence that says what the action does. The page about a failure has it in its heading.
    pub summary: &'static Message,
    /// The same for the call in the OpenAPI document.
    pub call_summary: &'static str,
    /// How the call is described.
    pub description: Description,
}

impl<T, A, E> Action<T, A, E>
where
    T: FromFields + Described + Send + Sync + 'static,
    A: KeptAnswer + Send + Sync + 'static,
    E: From<Error> + Into<RequestError> + Send + 'static,
{
    /// An action that sets a state: to send its form twice is as to send it once. The call is at `/api` and the
    /// path, and answers that it is done.
    pub fn setting(
        path: &'static str,
        summary: &'static Message,
        act: impl for<'a> Fn(&'a App, Actor<'a>, &'a T) -> BoxFuture<'a, Result<A, E>> + Send + Sync + 'static,
    ) -> Self {
        let entry = ActionEntry {
            path,
            facts: *SHORT,
            page: MethodRouter::new(),
            form_page: None,
            call_path: format!("/api{path}"),
            call: MethodRouter::new(),
            summary,
            call_summary: summary.english,
            description: Description::of::<T, DoneResponse>(),
        };
        Self { act: Arc::new(act), entry }.answering(async |_, _| Ok(DONE))
    }

    /// An action that a second request would do once more. Otherwise as [`Action::setting`].
    pub fn once(
        path: &'static str,
        summary: &'static Message,
        act: impl for<'a> Fn(&'a App, Actor<'a>, &'a T) -> BoxFuture<'a, Result<A, E>> + Send + Sync + 'static,
    ) -> Self {
        let mut action = Self::setting(path, summary, act);
        action.entry.facts.acts_once = true;
        action
    }

    /// Buttons of pages name in their address what they act on, because all belong to one form.
    pub const fn named_in_address(mut self) -> Self {
        self.entry.facts.is_named_in_address = true;
        self
    }

    /// The form is on this page: refused, it comes back there, filled, with the error at its field. Without this, the
    /// page is the one that the form names, or what a GET of its address shows; see `router/refused_forms.rs`.
    pub const fn form_page(mut self, address: &'static str) -> Self {
        self.entry.form_page = Some(address);
        self
    }

    /// The OpenAPI document says this about the call, for an action whose summary would not do as a heading.
    pub const fn described(mut self, call_summary: &'static str) -> Self {
        self.entry.call_summary = call_summary;
        self
    }

    /// The call is at another address.
    pub fn called(mut self, call_path: &str) -> Self {
        call_path.clone_into(&mut self.entry.call_path);
        self
    }

    /// The call answers with something.
    pub fn answering<R, F>(
        mut self,
        answer: impl Fn(SentForm, A) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        R: Serialize + Described,
        F: Future<Output = Result<R>> + Send,
    {
        let act = self.act.clone();
        self.entry.description = Description::of::<T, R>();
        self.entry.call = post(async move |sent: SentForm| {
            let (_, done) = sent.act(&act).await?;
            Ok::<_, RequestError>(Json(answer(sent, done).await?))
        });
        self
    }

    /// A browser goes to the page that the form names. `facts` are those of the target of its form, as for all that
    /// follow: [`SHORT`] or [`LONG`](crate::route::LONG), and more.
    pub fn back(self, facts: RouteFacts<Target>) -> ActionEntry {
        self.then(facts, |_, Next { next }| next.to_string())
    }

    /// A browser goes to an address made of the form and of what it says about the way back.
    pub fn then<N>(self, facts: RouteFacts<Target>, next: fn(&T, N) -> String) -> ActionEntry
    where
        N: FromFields + Send + 'static,
    {
        let act = self.act.clone();
        self.entry(
            facts,
            post(async move |sent: SentForm| {
                let (form, _) = sent.act(&act).await?;
                Ok::<_, RequestError>(Redirect::to(&next(&form, sent.form.fields.read()?)))
            }),
        )
    }

    /// A browser gets an answer made of the form and the outcome.
    pub fn page<R, F>(
        self,
        facts: RouteFacts<Target>,
        page: impl Fn(SentForm, T, A) -> F + Clone + Send + Sync + 'static,
    ) -> ActionEntry
    where
        R: IntoResponse,
        F: Future<Output = Result<R>> + Send,
    {
        let act = self.act.clone();
        self.entry(
            facts,
            post(async move |sent: SentForm| {
                let (form, done) = sent.act(&act).await?;
                page(sent, form, done).await
            }),
        )
    }

    fn entry(self, facts: RouteFacts<Target>, page: MethodRouter<App>) -> ActionEntry {
        let Facts { acts_once, is_named_in_address, .. } = self.entry.facts;
        let facts = Facts { acts_once, is_named_in_address, ..*facts };
        ActionEntry { facts, page, ..self.entry }
    }
}

impl SentForm {
    /// Does an action, unless the request was done before. Returns the form and the outcome.
    async fn act<T, A, E>(&self, act: &Act<T, A, E>) -> Result<(T, A)>
    where
        T: FromFields,
        A: KeptAnswer,
        E: From<Error> + Into<RequestError>,
    {
        let Self { app, form: sent } = self;
        let form = sent.fields.read()?;
        let done = sent.user.once(&app.site, act(app, sent.actor(), &form)).await.map_err(Into::into)?;
        Ok((form, done))
    }
}

impl FromRequest<App> for SentForm {
    type Rejection = RequestError;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        Ok(Self { app: app.clone(), form: SignedFields::from_request(request, app).await? })
    }
}

/// Begins an action that may take long. Returns what it returns, or `None` if that takes longer than
/// [`LONG_ACTION_WAIT`]. Then it continues after the response.
pub async fn begin_long<T: Send + 'static>(
    action: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<Option<T>> {
    match timeout(LONG_ACTION_WAIT, tokio::spawn(action)).await {
        Ok(Ok(done)) => Ok(Some(done?)),
        Ok(Err(_)) => Err(RequestError::Panic),
        Err(_) => Ok(None),
    }
}
