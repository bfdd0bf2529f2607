//! Requests: as a list for `wrk`, or one by one for a connection.

use std::fmt::Write;
use std::path::Path;
use tidings_testing::dataset::people;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    pub path: String,
    /// The user whose session it comes with.
    pub session: Option<u64>,
    /// The form that it posts.
    pub form: Option<String>,
}

impl Request {
    /// A request by nobody in particular.
    pub fn get(path: impl Into<String>) -> Self {
        Self { path: path.into(), session: None, form: None }
    }

    /// The same by a user.
    pub fn by(self, user: u64) -> Self {
        Self { session: Some(user), ..self }
    }

    /// A call that a user makes; the secret is added to the fields.
    pub fn post(path: &str, user: u64, fields: &str) -> Self {
        let form = format!("{fields}&apisecret={}", people::apisecret(user));
        Self { path: path.to_owned(), session: Some(user), form: Some(form) }
    }

    /// The request as it is sent.
    pub fn text(&self) -> String {
        let method = if self.form.is_some() { "POST" } else { "GET" };
        let mut text = format!("{method} {} HTTP/1.1\r\nhost: localhost\r\n", self.path);
        if let Some(user) = self.session {
            write!(text, "cookie: auth={}\r\n", people::auth(user)).unwrap();
        }
        if let Some(form) = &self.form {
            let kind = "application/x-www-form-urlencoded";
            write!(text, "content-type: {kind}\r\ncontent-length: {}\r\n", form.len()).unwrap();
        }
        text + "\r\n" + self.form.as_deref().unwrap_or_default()
    }

    /// The line of a list.
    fn line(&self) -> String {
        let method = if self.form.is_some() { "POST" } else { "GET" };
        let session = self.session.map(people::auth).unwrap_or_default();
        format!("{method}\t{}\t{session}\t{}\n", self.path, self.form.as_deref().unwrap_or_default())
    }
}

/// Writes a list for `wrk.lua`.
pub fn write_list(path: &Path, requests: &[Request]) {
    std::fs::write(path, requests.iter().map(Request::line).collect::<String>()).unwrap();
}
