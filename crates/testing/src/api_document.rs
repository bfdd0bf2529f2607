//! Compares answers of the API with its OpenAPI document.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::client::HttpResponse;

/// How the parser refuses a body that nests too deep for it.
const TOO_DEEP: &str = "recursion limit exceeded";

/// The most bytes of a body in a message.
const LONGEST_SHOWN: usize = 2_000;

/// A call: the method in lower case and the address with its variables.
pub type Call = (&'static str, String);

/// The document of this process.
pub static DOCUMENT: LazyLock<Document> = LazyLock::new(Document::new);

/// Checks that an answer is as the document says, if it is one of the API.
#[track_caller]
pub fn check(method: &str, path: &str, answer: &HttpResponse) {
    // Most pages have no need of the document.
    if !["/api/", "/scores", "/vote", "/v1/"].iter().any(|start| path.starts_with(start)) {
        return;
    }
    let faults = DOCUMENT.faults(method, path, answer);
    let body = answer.body.get(..LONGEST_SHOWN).unwrap_or(&answer.body);
    let (status, body) = (answer.status, String::from_utf8_lossy(body));
    assert!(faults.is_empty(), "{method} {path} answers {status} with {body}: {faults:#?}");
}

/// The document. Its objects may have no members that it does not name.
pub struct Document {
    description: Value,
    /// By the place of the schema in the document.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Document {
    fn new() -> Self {
        let mut description = tidings_web::openapi::description();
        close(&mut description["paths"]);
        close(&mut description["components"]);
        Self { description, validators: Mutex::default() }
    }

    /// All calls.
    pub fn calls(&self) -> BTreeSet<Call> {
        let mut calls = BTreeSet::new();
        for (path, item) in self.description["paths"].as_object().unwrap() {
            let methods = ["get", "post"].into_iter().filter(|method| item.get(method).is_some());
            calls.extend(methods.map(|method| (method, path.clone())));
        }
        calls
    }

    /// The description of a call.
    pub fn call(&self, (method, path): &Call) -> &Value {
        &self.description["paths"][path][method]
    }

    /// The object at a place, or what it refers to, and where that is.
    pub fn resolved(&self, place: String) -> Option<(&Value, String)> {
        let object = self.description.pointer(&place)?;
        match object["$ref"].as_str() {
            Some(reference) => self.resolved(reference.strip_prefix('#').unwrap().to_owned()),
            None => Some((object, place)),
        }
    }

    /// The path of the document that an address belongs to.
    pub fn path_of(&self, address: &str) -> Option<&str> {
        let mut paths = self.description["paths"].as_object().unwrap().keys();
        paths.find(|path| matches(path, address)).map(String::as_str)
    }

    /// The place of the responses of a call. With another method an address fails as with its own.
    fn responses_of(&self, method: &str, address: &str) -> Option<String> {
        let path = self.path_of(address)?;
        let calls = self.description["paths"][path].as_object().unwrap();
        let method = match method {
            "GET" | "HEAD" if calls.contains_key("get") => "get",
            "POST" if calls.contains_key("post") => "post",
            _ => calls.keys().next().unwrap(),
        };
        Some(format!("/paths/{}/{method}/responses", path.replace('/', "~1")))
    }

    /// The differences between an answer and the document. Below `/api/`, what it does not describe
    /// fails.
    pub fn faults(&self, method: &str, address: &str, answer: &HttpResponse) -> Vec<String> {
        let status = answer.status;
        let place = match self.responses_of(method, address) {
            // The question of a browser before a page of another site makes a call.
            _ if method == "OPTIONS" && status.is_success() => return Vec::new(),
            Some(responses) => format!("{responses}/{}", status.as_str()),
            None if !address.starts_with("/api/") => return Vec::new(),
            None if status.is_client_error() || status.is_server_error() => {
                let is_of_hits = address.starts_with("/api/v1/");
                format!("/components/responses/{}", if is_of_hits { "HitsError" } else { "Error" })
            }
            None => return vec!["the call is not described".to_owned()],
        };
        let Some((response, place)) = self.resolved(place) else {
            return vec!["the status is not described".to_owned()];
        };
        if answer.body.is_empty() || answer.headers.contains_key(CONTENT_ENCODING) {
            return Vec::new();
        }
        let kind = answer.headers.get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap()).unwrap_or_default();
        let Some(content) = response["content"].get(kind) else {
            return vec![format!("a body of the type {kind:?} is not described")];
        };
        if content.get("schema").is_none() || kind != "application/json" {
            return Vec::new();
        }
        match serde_json::from_slice(&answer.body) {
            Ok(json) => {
                let validator = self.validator(format!("{place}/content/application~1json/schema"));
                validator
                    .iter_errors(&json)
                    .map(|error| format!("{}: {error}", error.instance_path()))
                    .collect()
            }
            // A thread that nests deeper than the parser goes has a test of its own.
            Err(error) if error.to_string().starts_with(TOO_DEEP) => Vec::new(),
            Err(error) => vec![format!("the body is not JSON: {error}")],
        }
    }

    /// Checks answers against the schema at a place. It is made once.
    fn validator(&self, place: String) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        let made = validators.entry(place).or_insert_with_key(|place| {
            let schema = self.description.pointer(place).unwrap();
            let schema = json!({"allOf": [schema], "components": self.description["components"]});
            let options = jsonschema::draft202012::options().should_validate_formats(true);
            Arc::new(options.build(&schema).unwrap())
        });
        made.clone()
    }
}

/// Whether an address is one of a path with variables.
pub fn matches(path: &str, address: &str) -> bool {
    let address = address.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    let asked: Vec<&str> = address.split('/').collect();
    parts.len() == asked.len()
        && parts.iter().zip(asked).all(|(part, asked)| part.starts_with('{') || *part == asked)
}

/// Forbids members that are not named, in all schemas of objects below.
fn close(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if object.get("properties").is_some_and(Value::is_object) {
                object.insert("additionalProperties".to_owned(), false.into());
            }
            object.values_mut().for_each(close);
        }
        Value::Array(values) => values.iter_mut().for_each(close),
        _ => {}
    }
}
