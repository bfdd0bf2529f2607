//! A client of the API that holds its own session. It compares every answer of the API with the
//! OpenAPI document.

use std::net::SocketAddr;

use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::api_document;

/// The password of every account that [`Client::register`] creates.
pub const PASSWORD: &str = "correct horse";

/// The content type of forms.
pub const FORM: &str = "application/x-www-form-urlencoded";

/// A form's fields.
pub type Fields<'a> = &'a [(&'a str, &'a str)];

/// A client of the site, at first without a session.
#[derive(Clone)]
pub struct Client {
    pub user_id: u64,
    pub username: String,
    pub auth: Option<String>,
    pub apisecret: Option<String>,
    /// Headers of every request.
    pub headers: HeaderMap,
    http: reqwest::Client,
    address: SocketAddr,
}

/// A response, completely read.
#[derive(Debug)]
pub struct HttpResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// The body as JSON. Checks the content type.
    #[track_caller]
    pub fn json(&self) -> Value {
        let content_type = self.headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap());
        let is_json = |name: &str| name == "application/json" || name.ends_with("+json");
        assert!(content_type.is_some_and(is_json), "{self:?}");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The body as text, which it must be.
    #[track_caller]
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// Checks that a call succeeded, and returns its response.
#[track_caller]
pub fn ok(answer: Value) -> Value {
    assert_eq!(answer["status"], "ok", "{answer}");
    answer
}

/// Checks that a call was refused, and returns the message.
#[track_caller]
pub fn refused(answer: Value) -> String {
    assert_eq!(answer["status"], "err", "{answer}");
    // A refused vote comes with the votes as they are, and some refusals with the page that explains them.
    let others = answer.as_object().unwrap().keys().filter(|name| !["votes", "about"].contains(&&***name));
    assert_eq!(others.count(), 3, "{answer}");
    assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
    let error = answer["error"].as_str().unwrap();
    assert!(!error.is_empty());
    error.to_owned()
}

/// Checks that a call was refused, with some words in the message.
#[track_caller]
pub fn refused_saying(answer: Value, words: &str) {
    let error = refused(answer);
    assert!(error.contains(words), "{error}");
}

/// Checks that an object has these members, whatever others it has. `null` is not the same as no member.
#[track_caller]
pub fn has_members(object: &Value, expected: Value) {
    let expected = expected.as_object().unwrap();
    assert!(!expected.is_empty());
    for (name, value) in expected {
        assert_eq!(object.get(name), Some(value), "{name} in {object}");
    }
}

/// A member of each object of a list.
#[track_caller]
pub fn each(list: &Value, name: &str) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|object| object[name].clone()).collect()
}

/// The number of each object of a list.
#[track_caller]
pub fn ids(list: &Value) -> Vec<u64> {
    each(list, "id").iter().map(|id| id.as_u64().unwrap()).collect()
}

/// The line of the log that an action of a moderator has written.
#[track_caller]
pub fn line_of(answer: Value) -> u64 {
    ok(answer)["moderation_id"].as_u64().unwrap()
}

/// The fields of a form that are written as in an address, but not encoded: `kind=story&id=1`.
#[track_caller]
pub fn fields_of(text: &str) -> Vec<(&str, &str)> {
    let fields = text.split('&').filter(|field| !field.is_empty());
    fields.map(|field| field.split_once('=').unwrap_or_else(|| panic!("no field: {field}"))).collect()
}

/// A form's fields, encoded.
pub fn encoded(fields: Fields<'_>) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

impl Client {
    pub fn new(http: reqwest::Client, address: SocketAddr) -> Self {
        Self {
            user_id: 0,
            username: String::new(),
            auth: None,
            apisecret: None,
            headers: HeaderMap::new(),
            http,
            address,
        }
    }

    /// The same client with another session.
    pub fn with_secrets(&self, auth: Option<&str>, apisecret: Option<&str>) -> Self {
        Self { auth: auth.map(str::to_owned), apisecret: apisecret.map(str::to_owned), ..self.clone() }
    }

    /// The same client of a server elsewhere.
    pub fn at(&self, address: SocketAddr) -> Self {
        Self { address, ..self.clone() }
    }

    /// The same client with one more header.
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        self
    }

    /// The same client, coming through a proxy that writes this header.
    pub fn forwarded_for(self, addresses: &str) -> Self {
        self.with_header("x-forwarded-for", addresses)
    }

    /// Registers an account and takes its session.
    pub async fn register(&self, username: &str) -> Self {
        let fields = [("username", username), ("password", PASSWORD)];
        self.clone().with_session(username, self.api_post("/api/create_account", &fields).await)
    }

    /// Logs in and takes the session.
    pub async fn log_in(&self, username: &str, password: &str) -> Self {
        self.clone().with_session(username, self.try_log_in(username, password).await)
    }

    /// The answer to a login.
    pub async fn try_log_in(&self, username: &str, password: &str) -> Value {
        self.api_post("/api/login", &[("username", username), ("password", password)]).await
    }

    #[track_caller]
    fn with_session(mut self, username: &str, answer: Value) -> Self {
        let answer = ok(answer);
        username.clone_into(&mut self.username);
        self.auth = Some(answer["auth"].as_str().unwrap().to_owned());
        self.apisecret = Some(answer["apisecret"].as_str().unwrap().to_owned());
        self
    }

    /// Calls the API; the session's secret is added unless it is given.
    pub async fn api_post(&self, path: &str, fields: Fields<'_>) -> Value {
        json_of(self.post(path, fields).await)
    }

    /// Calls the API with fields that are written as in an address, but not encoded: `/api/flag?kind=story&id=1`.
    pub async fn call(&self, request: &str) -> Value {
        json_of(self.answer_to(request).await)
    }

    /// The whole answer to such a call.
    pub async fn answer_to(&self, request: &str) -> HttpResponse {
        let (path, fields) = request.split_once('?').unwrap_or((request, ""));
        self.post(path, &fields_of(fields)).await
    }

    /// Reads from the API.
    pub async fn api_get(&self, path: &str) -> Value {
        json_of(self.get(path).await)
    }

    /// Sends a form; the session's secret is added unless it is given.
    pub async fn post(&self, path: &str, fields: Fields<'_>) -> HttpResponse {
        self.try_post(path, fields).await.expect("the site answers")
    }

    /// As [`Client::post`]; `None` when no whole answer comes.
    pub async fn try_post(&self, path: &str, fields: Fields<'_>) -> Option<HttpResponse> {
        let mut fields = fields.to_vec();
        if let Some(secret) = &self.apisecret
            && fields.iter().all(|(name, _)| *name != "apisecret")
        {
            fields.push(("apisecret", secret));
        }
        let request = self.request(Method::POST, path).header(CONTENT_TYPE, FORM);
        try_receive(request.body(encoded(&fields))).await.ok()
    }

    /// Sends a body as it is.
    pub async fn post_bytes(&self, path: &str, content_type: &str, body: Vec<u8>) -> HttpResponse {
        let request = self.request(Method::POST, path).header(CONTENT_TYPE, content_type).body(body);
        receive(request).await
    }

    /// Gets an address.
    pub async fn get(&self, path: &str) -> HttpResponse {
        receive(self.request(Method::GET, path)).await
    }

    /// The text at an address that must answer 200.
    pub async fn text(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
        answer.text()
    }

    /// The text at an address, whatever its status; bytes that are no text are replaced.
    pub async fn any_text(&self, path: &str) -> String {
        String::from_utf8_lossy(&self.get(path).await.body).into_owned()
    }

    /// A request with the session's cookie.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let mut request =
            self.http.request(method, format!("http://{}{path}", self.address)).headers(self.headers.clone());
        if let Some(auth) = &self.auth {
            request = request.header(COOKIE, format!("auth={auth}"));
        }
        request
    }

    /// Submits a link; answers the item's id.
    pub async fn submit_link(&self, title: &str, url: &str) -> u64 {
        news_id(self.submit(title, url, "").await)
    }

    /// Submits a text; answers the item's id.
    pub async fn submit_text(&self, title: &str, text: &str) -> u64 {
        news_id(self.submit(title, "", text).await)
    }

    /// Submits a link under topics; answers the item's id.
    pub async fn submit_link_on(&self, topics: &str, title: &str, url: &str) -> u64 {
        let fields = [("news_id", "-1"), ("title", title), ("url", url), ("text", ""), ("topics", topics)];
        news_id(self.api_post("/api/submit", &fields).await)
    }

    /// The answer to a submission.
    pub async fn submit(&self, title: &str, url: &str, text: &str) -> Value {
        self.save_story("-1", title, url, text, &[]).await
    }

    /// The answer to a new story or to an edit, with further fields.
    async fn save_story(&self, id: &str, title: &str, url: &str, text: &str, more: Fields<'_>) -> Value {
        let fields = [("news_id", id), ("title", title), ("url", url), ("text", text)];
        self.api_post("/api/submit", &[&fields[..], more].concat()).await
    }

    /// Submits a text under topics; answers the item's id.
    pub async fn submit_on(&self, topics: &str, title: &str) -> u64 {
        news_id(self.try_submit_on(topics, title).await)
    }

    /// The answer to a submission of a text under topics.
    pub async fn try_submit_on(&self, topics: &str, title: &str) -> Value {
        self.save_story("-1", title, "", "text", &[("topics", topics)]).await
    }

    /// The answer to an edit of a text's topics.
    pub async fn edit_topics(&self, news: u64, topics: &str) -> Value {
        self.save_story(&news.to_string(), "Title", "", "text", &[("topics", topics)]).await
    }

    /// The answer to an edit.
    pub async fn edit(&self, news: u64, title: &str, url: &str, text: &str) -> Value {
        self.save_story(&news.to_string(), title, url, text, &[]).await
    }

    /// The answer to the deletion of an item.
    pub async fn delete(&self, news: u64) -> Value {
        self.api_post("/api/delnews", &[("news_id", &news.to_string())]).await
    }

    /// The answer to a vote on an item.
    pub async fn vote(&self, news: u64, direction: &str) -> Value {
        let fields = [("news_id", &*news.to_string()), ("vote_type", direction)];
        self.api_post("/api/votenews", &fields).await
    }

    /// Comments on an item; answers the comment's id.
    pub async fn comment(&self, news: u64, text: &str) -> u64 {
        comment_id(self.try_comment(news, None, text).await)
    }

    /// Replies to a comment; answers the new comment's id.
    pub async fn reply(&self, news: u64, parent: u64, text: &str) -> u64 {
        comment_id(self.try_comment(news, Some(parent), text).await)
    }

    /// The answer to a comment.
    pub async fn try_comment(&self, news: u64, parent: Option<u64>, text: &str) -> Value {
        let parent = parent.map_or_else(|| "-1".to_owned(), |parent| parent.to_string());
        self.post_comment(news, "-1", &parent, text).await
    }

    /// The answer to an edit of a comment; an empty text deletes it.
    pub async fn edit_comment(&self, news: u64, comment: u64, text: &str) -> Value {
        self.post_comment(news, &comment.to_string(), "-1", text).await
    }

    async fn post_comment(&self, news: u64, comment: &str, parent: &str, text: &str) -> Value {
        let news = news.to_string();
        let fields = [("news_id", &*news), ("comment_id", comment), ("parent_id", parent), ("comment", text)];
        self.api_post("/api/postcomment", &fields).await
    }

    /// The answer to a vote on a comment.
    pub async fn vote_comment(&self, news: u64, comment: u64, direction: &str) -> Value {
        let fields = [("comment_id", &*format!("{news}-{comment}")), ("vote_type", direction)];
        self.api_post("/api/votecomment", &fields).await
    }

    /// The answer to a change of the profile. The current password is [`PASSWORD`].
    pub async fn update_profile(&self, about: &str, email: &str, password: &str) -> Value {
        let current = ("current_password", PASSWORD);
        let fields = [("about", about), ("email", email), ("password", password), current];
        self.api_post("/api/updateprofile", &fields).await
    }

    /// The answer to an action of a moderator, which has a reason unless one is among the other fields.
    pub async fn moderate(&self, action: &str, (kind, id): (&str, &str), more: Fields<'_>) -> Value {
        let mut fields = vec![("action", action), ("kind", kind), ("id", id)];
        fields.extend_from_slice(more);
        if more.iter().all(|(name, _)| *name != "reason") {
            fields.push(("reason", "a reason"));
        }
        self.api_post("/api/moderate", &fields).await
    }

    /// The answer to the undo of a line of the log of moderation.
    pub async fn undo(&self, line: u64) -> Value {
        let fields = [("moderation_id", &*line.to_string()), ("reason", "a mistake")];
        self.api_post("/api/moderate/undo", &fields).await
    }

    /// The lines of the log of moderation, the newest first. The query is empty, or as in `?count=1`.
    pub async fn log(&self, query: &str) -> Vec<Value> {
        let answer = ok(self.api_get(&format!("/api/moderations{query}")).await);
        answer["entries"].as_array().unwrap().clone()
    }

    /// The entries of the inbox, the newest first.
    pub async fn inbox(&self) -> Vec<Value> {
        ok(self.api_get("/api/inbox").await)["entries"].as_array().unwrap().clone()
    }

    /// The text of the newest entry of the inbox.
    pub async fn last_message(&self) -> String {
        self.inbox().await[0]["text"].as_str().unwrap().to_owned()
    }

    /// Writes a tweet; answers its id.
    pub async fn tweet(&self, text: &str) -> u64 {
        ok(self.try_tweet(text).await)["tweet_id"].as_u64().unwrap()
    }

    /// The answer to a tweet.
    pub async fn try_tweet(&self, text: &str) -> Value {
        self.api_post("/api/tweet", &[("text", text)]).await
    }

    /// Follows a user.
    pub async fn follow(&self, username: &str) {
        ok(self.api_post("/api/follow", &[("username", username)]).await);
    }

    /// Items of a list, `top` or `latest`.
    pub async fn list(&self, sort: &str) -> Vec<Value> {
        let answer = ok(self.api_get(&format!("/api/getnews/{sort}/0/32")).await);
        answer["news"].as_array().unwrap().clone()
    }

    /// The ids of the items of a list, in order.
    pub async fn listed(&self, sort: &str) -> Vec<u64> {
        self.list(sort).await.iter().map(|item| item["id"].as_u64().unwrap()).collect()
    }

    /// One item as the lists show it.
    pub async fn news(&self, id: u64) -> Value {
        let list = self.list("latest").await;
        list.into_iter().find(|item| item["id"] == id).unwrap()
    }

    /// The comments of an item.
    pub async fn thread(&self, news: u64) -> Vec<Value> {
        let answer = ok(self.api_get(&format!("/api/getcomments/{news}")).await);
        answer["comments"].as_array().unwrap().clone()
    }

    /// Whether the session is good: tries an action that changes nothing.
    pub async fn is_logged_in(&self) -> bool {
        let answer = self.api_post("/api/votenews", &[("news_id", "1")]).await;
        refused(answer) == "The field vote_type is wrong: it is missing."
    }

    /// Sends bytes as they are over a connection of their own; answers the
    /// status and the body. For what no decent client would send.
    pub async fn send_raw(&self, request: &[u8]) -> HttpResponse {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The site may refuse a request before it has come whole.
        stream.write_all(request).await.ok();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await.ok();
        let split = received.windows(4).position(|window| window == b"\r\n\r\n").expect("a head and a body");
        let head = String::from_utf8(received[..split].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in head.lines().skip(1).filter_map(|line| line.split_once(": ")) {
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        let response = HttpResponse { status, headers, body: received[split + 4..].to_vec() };
        // Several answers, and parts of one, are not compared.
        let length =
            response.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let line = String::from_utf8_lossy(request);
        if let Some((method, rest)) = line.split_once(' ')
            && let Some((path, _)) = rest.split_once(" HTTP/1.")
            && length == Some(response.body.len())
            // Nothing of the document is at what is no address.
            && path.is_ascii()
        {
            api_document::check(method, path, &response);
        }
        response
    }
}

async fn receive(request: reqwest::RequestBuilder) -> HttpResponse {
    try_receive(request).await.unwrap()
}

async fn try_receive(request: reqwest::RequestBuilder) -> reqwest::Result<HttpResponse> {
    let (http, request) = request.build_split();
    let request = request?;
    let (method, path) = (request.method().clone(), request.url().path().to_owned());
    let response = http.execute(request).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let response = HttpResponse { status, headers, body: response.bytes().await?.to_vec() };
    api_document::check(method.as_str(), &path, &response);
    Ok(response)
}

/// The JSON of a response of the API, whose status must be 200.
#[track_caller]
fn json_of(answer: HttpResponse) -> Value {
    assert_eq!(answer.status, StatusCode::OK, "{}", String::from_utf8_lossy(&answer.body));
    answer.json()
}

#[track_caller]
fn news_id(answer: Value) -> u64 {
    ok(answer)["news_id"].as_u64().unwrap()
}

#[track_caller]
fn comment_id(answer: Value) -> u64 {
    let answer = ok(answer);
    assert_eq!(answer["op"], "insert", "{answer}");
    answer["comment_id"].as_u64().unwrap()
}
