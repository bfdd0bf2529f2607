//! The description of all calls, made from the code. Each handler and each action describes its call, and the types of forms and
//! responses describe their fields; [`values`] describes single values. This adds what calls have in common: failures, the
//! secret of forms, tags, and the lengths of arrays.
//!
//! To add a call that is no [`Action`](crate::features::action::Action), add a row to `calls`: what it takes, what it answers,
//! and a sentence that says what it does.

use crate::features::accounts::form::{
    Credentials, EndedSessionForm, ProfileForm, Registration, ResetRequest,
};
use crate::features::accounts::register::NewAccountResponse;
use crate::features::administration::announcement::AnnouncementResponse;
use crate::features::administration::hooks::HooksResponse;
use crate::features::algolia::calls::HitsError;
use crate::features::algolia::query::HitsQuery;
use crate::features::comments::calls::{
    CommentPostedResponse, CommentTreeResponse, PreviewResponse, ThreadPartQuery,
};
use crate::features::comments::form::{CommentForm, PreviewForm};
use crate::features::inbox::page::{InboxQuery, InboxResponse};
use crate::features::moderation::acting::{ModeratedResponse, RowChangedResponse};
use crate::features::moderation::bans::{BanForm, BanResponse, BansResponse};
use crate::features::moderation::directory::{
    ActedResponse, DirectoryForm, DirectoryQuery, DirectoryResponse,
};
use crate::features::moderation::form::{AppealForm, LogQuery, ModerationForm};
use crate::features::moderation::log::LogResponse;
use crate::features::moderation::message_calls::{
    MessageForm, MessagesQuery, ThreadsResponse, WrittenResponse,
};
use crate::features::moderation::person_tools::NetworkResponse;
use crate::features::moderation::reasons::ReasonsResponse;
use crate::features::moderation::review::{QueueQuery, QueueResponse};
use crate::features::moderation::rules::{RuleForm, RuleResponse};
use crate::features::mutes::MutesResponse;
use crate::features::search::calls::SearchResponse;
use crate::features::search::page::SearchQuery;
use crate::features::sessions::login::SecretsResponse;
use crate::features::sessions::open_sessions::SessionsResponse;
use crate::features::sessions::second_factors::{
    ConfirmedTotpForm, EndedTotpForm, NewTotpForm, NewTotpResponse, RecoveryCodesResponse,
};
use crate::features::sites::calls::{
    LeaderboardResponse, PrefixScoresResponse, SiteHistoryResponse, TopVotersResponse, VoterFoundResponse,
    VoterVotesResponse,
};
use crate::features::sites::form::{HistoryQuery, PeriodQuery};
use crate::features::sites::reputation::{CodedError, DeployedError};
use crate::features::stories::calls::{
    DuplicateQuery, DuplicateResponse, FetchTitleForm, NewsDeletedResponse, NewsListResponse,
    SubmittedResponse, TitleResponse, VotesListResponse, VotesQuery,
};
use crate::features::stories::form::{NewsIdForm, SubmissionForm};
use crate::features::timelines::calls::{PeopleResponse, TimelineResponse};
use crate::features::timelines::form::TweetDeletion;
use crate::features::topics::calls::{ArticlesResponse, TopicListResponse};
use crate::features::{search, sites};
use crate::request::answers::{DoneResponse, ErrorResponse, JSON};
use crate::request::description::tests::{Call, FORM, json_response};
use crate::request::description::values;
use crate::request::paging::WindowQuery;
use crate::route::{ErrorFormat, Facts};
use crate::{openapi, router};
use axum::http::Method;
use serde_json::Value;
use tidings_domain::accounts::access::Access;
use tidings_domain::values::limits;
use utoipa::ToSchema;
use utoipa::openapi::path::Operation;
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{Object, OneOf, Schema, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Components, Content, OpenApi, Ref, RefOr, Required};

/// The document, made from the handlers and their types.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Tidings",
        description = "The API of a Tidings site. See also docs/api.md.",
        license(name = "MIT OR Apache-2.0"),
    ),
    servers((url = "/")),
    paths(
        search::calls::suggest,
        search::calls::similar,
        sites::calls::own,
        sites::reputation::scores,
        sites::reputation::vote,
        sites::reputation::deployed_scores,
        sites::reputation::deployed_vote,
        openapi::document,
    ),
    components(schemas(ErrorResponse, CodedError, DeployedError, HitsError)),
)]
struct Document;

/// A table of calls, as [`Call`] has them: method and address, what the call takes, what it answers, its summary.
macro_rules! calls {
    ($($method:ident $path:literal
        $(: $($fact:ident $(<$type:ty>)? $(($($detail:expr),+))?),+)? $(=> $answer:ty)?, $summary:literal;)+) => {
        vec![$(Call::$method($path, $summary)$($(.$fact$(::<$type>)?($($($detail),+)?))+)?$(.answer::<$answer>())?),+]
    };
}

/// Why a login was refused.
const NEEDS_CODE: &str = "The login needs a code besides the password";
/// The same where a session would do.
const NEEDS_SESSION_OR_CODE: &str = "A session is needed, or a code besides the password";

/// The calls that are no actions, and are not described at their handlers.
fn calls() -> Vec<Call> {
    calls! {
        post "/api/create_account": form<Registration> => NewAccountResponse,
            "Create an account and log in, or apply for an account.";
        post "/api/login":
            form<Credentials>, also<ErrorResponse>("401", NEEDS_CODE),
            more("An account with a second factor also needs `code`. Without it, and after the right password, the\n\
                response has HTTP status 401 and `code_required`.")
                => SecretsResponse,
            "Log in.";
        get "/api/login": query<Credentials>, also<ErrorResponse>("401", NEEDS_CODE) => SecretsResponse,
            "Log in. Prefer POST, which keeps the password out of logs.";
        post "/api/logout" => DoneResponse, "Log out: end this session.";
        post "/api/reset-password": form<ResetRequest> => DoneResponse,
            "Request a mail with a link to set a new password.";
        get "/api/reset-password": query<ResetRequest> => DoneResponse,
            "Request a mail with a link to set a new password. Prefer POST.";
        post "/api/updateprofile":
            form<ProfileForm>,
            more("A change of the password or of the e-mail address needs the current password. A change of\n\
                the password ends all sessions, and the response sets the cookie of a new one.")
                => DoneResponse,
            "Change the profile, the e-mail address and the password.";
        get "/api/admin/announcement" => AnnouncementResponse,
            "The announcement and the pinned stories (administrators only).";
        get "/api/admin/hooks" => HooksResponse, "The webhooks (administrators only).";
        get "/api/export":
            content("A zip file, or a refusal by a rule of the site", "application/zip"),
            "Export everything of the caller's own as a zip file: `data.json` for programs and `index.html` for people.";
        get "/api/inbox": query<InboxQuery> => InboxResponse,
            "List the entries of the caller's inbox.";
        post "/api/moderate":
            form<ModerationForm>, also<RowChangedResponse>("409", "The row has changed since")
                => ModeratedResponse,
            "Moderate a story, a comment, a tweet, a person, or what waits in the queue (moderators only).";
        post "/api/appeal":
            session_or_none, form<AppealForm>, also<ErrorResponse>("401", NEEDS_SESSION_OR_CODE)
                => DoneResponse,
            "Appeal against a decision about oneself, once: in a session, or with username and password.";
        get "/api/moderate/bans" => BansResponse,
            "The bans of networks and e-mail domains (administrators only).";
        post "/api/moderate/bans": form<BanForm> => BanResponse,
            "Ban a network or an e-mail domain, or try it (administrators only).";
        get "/api/moderate/people": query<DirectoryQuery> => DirectoryResponse,
            "Find people (moderators only).";
        post "/api/moderate/people": form<DirectoryForm> => ActedResponse,
            "Ban or silence several people, or write a note on them, for one reason (moderators only).";
        get "/api/moderations": query<LogQuery> => LogResponse, "List what moderators did.";
        post "/api/messages":
            session_or_none, form<MessageForm>, also<ErrorResponse>("401", NEEDS_SESSION_OR_CODE)
                => WrittenResponse,
            "Write to the moderators, or answer as one of them: in a session, or with username and password.";
        get "/api/messages": query<MessagesQuery> => ThreadsResponse,
            "List one's threads of messages with the moderators; for moderators, those of all members.";
        get "/api/moderate/network/{username}":
            path<values::StoredUsername>("username") => NetworkResponse,
            "See who has come from the same networks as somebody in the last days (moderators only).";
        get "/api/moderate/reasons" => ReasonsResponse,
            "The reasons that moderators have at hand (moderators only).";
        get "/api/moderate/queue": query<QueueQuery> => QueueResponse,
            "List what waits for a moderator (moderators only).";
        post "/api/moderate/rule": form<RuleForm> => RuleResponse,
            "Add a rule that new posts are checked with, or try it (moderators only).";
        get "/api/mutes" => MutesResponse,
            "List what the caller has muted and whom they have blocked.";
        get "/api/sessions" => SessionsResponse, "List the user's sessions.";
        post "/api/endsession": form<EndedSessionForm> => DoneResponse,
            "End one session, or all others.";
        post "/api/totp/begin":
            form<NewTotpForm>,
            more("The secret counts once a code confirms it, within 15 minutes.") => NewTotpResponse,
            "Begin to set up an authenticator app.";
        post "/api/totp/confirm": form<ConfirmedTotpForm> => RecoveryCodesResponse,
            "Confirm an authenticator app with a code. From now on a login needs one.";
        post "/api/totp/end": form<EndedTotpForm> => DoneResponse, "Remove the authenticator app.";
        get "/api/v1/search": query<HitsQuery>, content("The hits", JSON),
            "Search as in the API of the search of Hacker News, the most relevant first; without words those with the most votes.";
        get "/api/v1/search_by_date": query<HitsQuery>, content("The hits", JSON),
            "Search as in the API of the search of Hacker News, the newest first.";
        get "/api/v1/items/{number}": path<values::Id>("number"), content("The item", JSON),
            "Get a story or a comment by its item number, with all comments below it.";
        get "/api/v1/users/{name}": path<values::StoredUsername>("name"), content("The person", JSON),
            "Get a person: `username`, `about` and `karma`.";
        post "/api/postcomment": form<CommentForm> => CommentPostedResponse,
            "Write, edit or delete a comment.";
        post "/api/preview": form<PreviewForm> => PreviewResponse,
            "See a comment or the text of a story as HTML before it is sent. Nothing is stored.";
        get "/api/getcomments/{news_id}":
            path<values::Id>("news_id"), query<ThreadPartQuery>,
            more("A long thread comes in parts. In a later part, comments whose parent was in an earlier one\nare at the top level.")
                => CommentTreeResponse,
            "Get the comments of a story as a tree.";
        get "/api/search": query<SearchQuery> => SearchResponse, "Search.";
        get "/api/sites/history/{host}":
            path<values::Host>("host"), query<HistoryQuery> => SiteHistoryResponse,
            "Get the votes on a site for each of the last days.";
        get "/api/sites/leaderboard/{list}/{span}":
            path<values::BoardName>("list"), path<values::SpanName>("span") => LeaderboardResponse,
            "List the best, worst, controversial or most voted sites.";
        get "/api/sites/prefix/{hex}":
            path<values::HashPrefix>("hex"),
            more("The server does not learn which of these sites is looked up.") => PrefixScoresResponse,
            "Get the scores of all sites whose SHA-256 starts with a prefix.";
        get "/api/sites/admin/voter/{uuid}": path<values::Uuid>("uuid") => VoterFoundResponse,
            "Get a voter's details (administrators only).";
        get "/api/sites/admin/voter/{uuid}/votes":
            path<values::Uuid>("uuid"), query<PeriodQuery> => VoterVotesResponse,
            "List a voter's votes within a period (administrators only).";
        get "/api/sites/admin/top_voters/{date}": path<values::Date>("date") => TopVotersResponse,
            "List the voters with the most votes on a day (administrators only).";
        post "/api/submit": form<SubmissionForm> => SubmittedResponse, "Submit or edit a story.";
        post "/api/delnews": form<NewsIdForm> => NewsDeletedResponse, "Delete a story.";
        get "/api/getnews/{sort}/{start}/{count}":
            path<values::NewsOrder>("sort"), path<values::Start>("start"), path<values::NewsCount>("count")
                => NewsListResponse,
            "List stories.";
        get "/api/past/{day}/{start}/{count}":
            path<values::Period>("day"), path<values::Start>("start"), path<values::NewsCount>("count")
                => NewsListResponse,
            "List the best stories of a day or a month.";
        get "/api/votes": query<VotesQuery> => VotesListResponse,
            "See the votes on stories and comments, with your own, for a page that was kept.";
        post "/api/fetchtitle": form<FetchTitleForm> => TitleResponse, "Fetch the title of a page.";
        get "/api/duplicate": query<DuplicateQuery> => DuplicateResponse,
            "Find the story that a URL leads to when it is submitted.";
        post "/api/deltweet": form<TweetDeletion> => DoneResponse, "Delete a tweet.";
        get "/api/timeline/home": query<WindowQuery> => TimelineResponse,
            "List the caller's own tweets and those of the users the caller follows.";
        get "/api/timeline/everyone": query<WindowQuery> => TimelineResponse,
            "List the newest tweets of all users.";
        get "/api/timeline/user/{name}":
            path<values::Username>("name"), query<WindowQuery> => TimelineResponse,
            "List a user's tweets.";
        get "/api/followers/{name}": path<values::Username>("name"), query<WindowQuery> => PeopleResponse,
            "List a user's followers.";
        get "/api/followings/{name}": path<values::Username>("name"), query<WindowQuery> => PeopleResponse,
            "List the users that a user follows.";
        get "/api/articles/{order}/{page}":
            path<values::ArticleOrder>("order"), path<values::PageNumber>("page") => ArticlesResponse,
            "List articles, best or newest first.";
        get "/api/topic/{name}/{order}/{page}":
            path<values::TopicChoice>("name"), path<values::ArticleOrder>("order"),
            path<values::PageNumber>("page") => ArticlesResponse,
            "List the articles of one or more topics.";
        get "/api/topics" => TopicListResponse, "List all topics, those with the most articles first.";
    }
}

/// The whole description.
pub fn made_description() -> Value {
    let mut document = <Document as utoipa::OpenApi>::openapi();
    calls().into_iter().for_each(|call| call.add_to(&mut document));
    for (_, action) in router::actions() {
        (action.description.add_to)(&mut document, &action.call_path, action.call_summary);
    }
    add_common(&mut document);
    serde_json::to_value(document).unwrap()
}

/// Adds what calls have in common.
fn add_common(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    values::register(components);
    limit_arrays(components);
    let session = SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new("auth")));
    components.add_security_scheme("session", session);
    for format in [ErrorFormat::Api, ErrorFormat::Algolia, ErrorFormat::Documented, ErrorFormat::Deployed] {
        let schema = schema_of(format);
        components.responses.insert(schema.to_owned(), json_response("A failure", schema).into());
    }
    for (path, item) in &mut document.paths.paths {
        for (method, call) in [(Method::GET, item.get.as_mut()), (Method::POST, item.post.as_mut())] {
            let Some(call) = call else { continue };
            add_common_parts(&router::routes().find(&method, path), (method, path), call);
        }
    }
}

/// The maximum lengths of arrays: a schema, its field, and the number of items.
pub const LONGEST_ARRAYS: &[(&str, &str, u64)] = &[
    ("NewsList", "news", limits::MAX_API_NEWS),
    ("Articles", "articles", limits::ARTICLES_PER_PAGE),
    ("ArticleEntry", "topics", limits::MAX_TOPICS as u64),
    ("TopicList", "topics", limits::MAX_LISTED_TOPICS),
    ("CommentTree", "comments", limits::MAX_API_COMMENTS as u64),
    ("Comment", "replies", limits::MAX_API_COMMENTS as u64),
    ("Timeline", "tweets", limits::MAX_PAGE as u64),
    ("People", "users", limits::MAX_PAGE as u64),
    ("Inbox", "entries", limits::MAX_PAGE as u64),
    ("RecoveryCodes", "recovery_codes", limits::RECOVERY_CODES as u64),
    ("Mutes", "mutes", limits::MAX_MUTES as u64 + limits::MAX_MUTED_TOPICS),
    ("Mutes", "blocks", limits::MAX_BLOCKS),
    ("SessionList", "sessions", limits::MAX_SESSIONS as u64 + 1),
    ("OwnVotes", "votes", limits::MAX_LINKS as u64),
    ("SiteHistory", "days", limits::MAX_HISTORY_DAYS),
    ("Leaderboard", "sites", limits::LEADERBOARD as u64),
    ("VoterVotes", "votes", limits::MAX_VOTER_VOTES),
    ("TopVoters", "voters", limits::TOP_VOTERS),
    ("OwnVotesQuestion", "links", limits::MAX_LINKS as u64),
];

/// Sets the maximum lengths of arrays. Attributes accept only literals for them.
fn limit_arrays(components: &mut Components) {
    for (name, field, most) in LONGEST_ARRAYS {
        limit_array(components.schemas.get_mut(*name).and_then(|schema| member(schema, field)), *most);
    }
}

/// A field of an object.
fn member<'a>(object: &'a mut RefOr<Schema>, field: &str) -> Option<&'a mut RefOr<Schema>> {
    match object {
        RefOr::T(Schema::Object(object)) => object.properties.get_mut(field),
        _ => None,
    }
}

fn limit_array(array: Option<&mut RefOr<Schema>>, most: u64) {
    if let Some(RefOr::T(Schema::Array(array))) = array {
        array.max_items = usize::try_from(most).ok();
    }
}

/// The name of the schema of a failure.
const fn schema_of(format: ErrorFormat) -> &'static str {
    match format {
        ErrorFormat::Algolia => "HitsError",
        ErrorFormat::Documented => "CodedError",
        ErrorFormat::Deployed => "DeployedError",
        ErrorFormat::Page | ErrorFormat::Api | ErrorFormat::HackerNews => "Error",
    }
}

/// The possible HTTP statuses of failures besides 200, and that of a body that arrives too slowly.
const fn statuses_of(format: ErrorFormat) -> (&'static [&'static str], &'static str) {
    match format {
        ErrorFormat::Deployed => (&["404", "500"], "500"),
        _ => (&["400", "403", "404", "405", "413", "414", "429", "431", "500", "503"], "408"),
    }
}

/// Adds the common parts to a call.
fn add_common_parts(facts: &Facts, (method, path): (Method, &str), call: &mut Operation) {
    let name = method.as_str().to_lowercase();
    call.operation_id = Some(format!("{name}{}", path.replace(['/', '{', '}', '.'], "_")));
    call.tags = Some(vec![facts.tag.to_owned()]);
    if let Some(RefOr::T(done)) = call.responses.responses.get_mut("200") {
        describe_success(done, facts.errors);
    }
    let (statuses, too_slow) = statuses_of(facts.errors);
    let too_slow = (method == Method::POST).then_some(too_slow);
    for status in statuses.iter().copied().chain(too_slow) {
        let failure = Ref::from_response_name(schema_of(facts.errors));
        call.responses.responses.insert(status.to_owned(), failure.into());
    }
    if facts.access != Access::Everyone {
        // On a site that only members read.
        let failure = Ref::from_response_name(schema_of(facts.errors));
        call.responses.responses.entry("401".to_owned()).or_insert_with(|| failure.into());
    }
    if facts.needs_session {
        call.security = Some(vec![SecurityRequirement::new("session", [""; 0])]);
    }
    if method == Method::GET && call.security.is_none() {
        let unchanged = Response::builder().description("Nothing has changed since the given `ETag`");
        call.responses.responses.insert("304".to_owned(), unchanged.build().into());
    }
    if method == Method::POST && call.security.is_some() {
        add_session_fields(call, facts.keeps_answers);
    }
    if let "/scores" | "/v1/scores" = path {
        limit_links(call);
    }
}

/// Sets the maximum number of sites in a request and its response.
fn limit_links(call: &mut Operation) {
    let most = limits::MAX_LINKS as u64;
    for parameter in call.parameters.iter_mut().flatten() {
        let RefOr::T(parameter) = parameter else { continue };
        limit_array(parameter.schema.as_mut(), most);
        if let Some(links) = parameter.schema.as_mut().and_then(|question| member(question, "links")) {
            limit_array(Some(links), most);
            // A structure in a query string is JSON.
            parameter.content.insert(JSON.to_owned(), Content::new(parameter.schema.take()).into());
        }
    }
    if let Some(RefOr::T(done)) = call.responses.responses.get_mut("200")
        && let Some(RefOr::T(content)) = done.content.get_mut(JSON)
    {
        limit_array(content.schema.as_mut(), most);
    }
}

/// Describes the response with HTTP status 200, which may also be a refusal.
fn describe_success(done: &mut Response, format: ErrorFormat) {
    let may_be_refusal = format == ErrorFormat::Api;
    if done.description.is_empty() {
        done.description =
            if may_be_refusal { "Success, or a refusal by a rule of the site" } else { "Success" }.to_owned();
    }
    if !may_be_refusal {
        return;
    }
    let refusal = Ref::from_schema_name(schema_of(format));
    for (kind, content) in &mut done.content {
        if let RefOr::T(content) = content
            && kind == JSON
            && let Some(schema) = content.schema.take()
        {
            content.schema = Some(OneOf::builder().item(schema).item(refusal.clone()).into());
        }
    }
    // A file, or a refusal in JSON.
    done.content.entry(JSON.to_owned()).or_insert_with(|| Content::new(Some(refusal)).into());
}

/// Adds the secret of the session to the form of a call, and the name of the request.
fn add_session_fields(call: &mut Operation, takes_request: bool) {
    let empty = || {
        let fields: Schema = Object::with_type(Type::Object).into();
        let form = Content::new(Some(fields));
        RequestBody::builder().content(FORM, form).required(Some(Required::True)).build().into()
    };
    if let RefOr::T(body) = call.request_body.get_or_insert_with(empty)
        && let Some(RefOr::T(form)) = body.content.get_mut(FORM)
        && let Some(RefOr::T(Schema::Object(fields))) = &mut form.schema
    {
        let secret = Ref::from_schema_name(values::FormSecret::name());
        fields.properties.insert("apisecret".to_owned(), secret.into());
        fields.required.push("apisecret".to_owned());
        if takes_request {
            let request = Ref::from_schema_name(values::RequestName::name());
            fields.properties.insert("request".to_owned(), request.into());
        }
    }
}
