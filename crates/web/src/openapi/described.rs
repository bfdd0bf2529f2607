//! The description of the API as the code has it, and that the one in the tree is the same.

pub mod calls;

use super::description;
use crate::request::answers::JSON;
use crate::request::description::tests::FORM;
use calls::{LONGEST_ARRAYS, made_description};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::io::Write;

/// The document in the tree.
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/openapi.json.gz");

/// Writes the document anew if it is not what the code says, and fails then: look at the change, and commit it.
#[test]
fn the_document_in_the_tree_is_what_the_code_says() {
    let made = made_description();
    if made != description() {
        let mut file = GzEncoder::new(Vec::new(), Compression::best());
        file.write_all(made.to_string().as_bytes()).unwrap();
        std::fs::write(PATH, file.finish().unwrap()).unwrap();
        panic!("{PATH} was not what the code says. It is now: try again");
    }
}

#[test]
fn the_document_describes_fields_secrets_and_responses() {
    let description = description();
    let vote = &description["paths"]["/api/votenews"]["post"];
    let form = &vote["requestBody"]["content"][FORM]["schema"];
    assert_eq!(form["required"], json!(["news_id", "vote_type", "apisecret"]));
    assert_eq!(vote["security"], json!([{"session": []}]));
    let request = |path: &str| {
        &description["paths"][path]["post"]["requestBody"]["content"][FORM]["schema"]["properties"]["request"]
    };
    assert_eq!(request("/api/votenews")["$ref"], "#/components/schemas/RequestName");
    for path in ["/api/logout", "/api/totp/confirm", "/api/fetchtitle"] {
        assert!(request(path).is_null(), "{path}");
    }
    let scores = &description["paths"]["/scores"]["get"];
    assert_eq!(scores["parameters"][0]["explode"], false);
    assert_eq!(scores["responses"]["200"]["content"][JSON]["schema"]["type"], "array");
    let own = &description["paths"]["/api/sites/own"]["post"]["requestBody"]["content"];
    assert_eq!(own[JSON]["schema"]["$ref"], "#/components/schemas/OwnVotesQuestion");
}

#[test]
fn arrays_have_a_maximum_length() {
    let description = description();
    for (name, field, most) in LONGEST_ARRAYS {
        let array = &description["components"]["schemas"][name]["properties"][field];
        assert_eq!(array["maxItems"], json!(most), "{name}.{field}: {array}");
    }
    for path in ["/scores", "/v1/scores"] {
        let call = description["paths"][path]["get"].to_string();
        assert_eq!(call.matches(r#""maxItems":100"#).count(), 2, "{call}");
    }
}

#[test]
fn every_call_has_path_parameters_and_a_summary() {
    for (path, calls) in description()["paths"].as_object().unwrap() {
        for (method, call) in calls.as_object().unwrap() {
            let parameters = call["parameters"].as_array().into_iter().flatten();
            let variables: Vec<String> = parameters
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| format!("{{{}}}", parameter["name"].as_str().unwrap()))
                .collect();
            assert_eq!(variables.len(), path.matches('{').count(), "{method} {path}");
            assert!(variables.iter().all(|variable| path.contains(variable)), "{method} {path}");
            assert!(call["summary"].as_str().is_some_and(|text| text.ends_with('.')), "{method} {path}");
            assert!(call["tags"][0].as_str().is_some_and(|tag| !tag.is_empty()), "{method} {path}");
        }
    }
}

#[test]
fn a_body_that_arrives_too_slowly_is_described() {
    for (path, calls) in description()["paths"].as_object().unwrap() {
        let has_408 = |method: &str| calls[method]["responses"].get("408").is_some();
        assert!(!has_408("get"), "{path}");
        let is_described = calls.get("post").is_some() && !path.starts_with("/v1/");
        assert_eq!(has_408("post"), is_described, "{path}");
    }
}

#[test]
fn every_response_has_a_description() {
    for (path, calls) in description()["paths"].as_object().unwrap() {
        for (method, call) in calls.as_object().unwrap() {
            for (status, response) in call["responses"].as_object().unwrap() {
                let is_described = response["$ref"].is_string()
                    || response["description"].as_str().is_some_and(|text| !text.is_empty());
                assert!(is_described, "{method} {path} {status}: {response}");
            }
        }
    }
}

#[test]
fn ids_are_numbers_in_requests_as_in_answers() {
    let description = description();
    for (name, least) in [("Id", 1), ("IdOrNone", -1)] {
        let id = &description["components"]["schemas"][name];
        assert_eq!((&id["type"], &id["minimum"]), (&json!("integer"), &json!(least)), "{id}");
    }
    let news = &description["components"]["schemas"]["NewsEntry"]["properties"]["id"];
    assert_eq!(news["type"], "integer", "{news}");
    let parameter = &description["paths"]["/api/getcomments/{news_id}"]["get"]["parameters"][0]["schema"];
    assert_eq!(parameter["type"], "integer", "{parameter}");
}

#[test]
fn every_reference_resolves() {
    let description = description();
    let text = description.to_string();
    let references: Vec<&str> =
        text.split(r#""$ref":"#).skip(1).filter_map(|rest| rest.split('"').nth(1)).collect();
    assert!(references.len() > 100, "only {} references were found", references.len());
    for reference in references {
        assert!(description.pointer(&reference[1..]).is_some(), "{reference} does not resolve");
    }
}
