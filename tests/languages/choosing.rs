//! The language of a site: what its settings choose, what administrators choose, and what the operator translates.

use crate::ONE_AT_A_TIME;
use crate::client::PASSWORD;
use crate::html::Page;
use crate::server::{Engine, Server};
use std::path::Path;
use tidings::config::{CommandLineSettings, Config};

/// A page of a site for a visitor.
async fn page_of(server: &Server, path: &str) -> String {
    String::from_utf8(server.visitor().get(path).await.body).unwrap()
}

/// A folder with a catalogue.
fn folder_with(file: &str, catalogue: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file), catalogue).unwrap();
    folder
}

fn load(language: &str, translations: &Path) -> Result<Config, String> {
    let translations = translations.to_str().unwrap();
    let variables = [("TIDINGS_SITE__LANGUAGE", language), ("TIDINGS_SITE__TRANSLATIONS", translations)];
    let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Config::load(None, variables, &CommandLineSettings::default()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_site_speaks_the_language_of_its_settings() {
    let _one = ONE_AT_A_TIME.lock().await;
    let server = Server::start(Engine::Memory, &[("site.language", "DE-at")]).await;
    let login = page_of(&server, "/login").await;
    assert!(login.contains("<html lang=\"de-AT\" dir=\"ltr\""), "{login}");
    assert!(login.contains("Anmelden") && !login.contains("Log in"), "{login}");
    for (path, said) in [
        ("/atom", " xml:lang=\"de-AT\">"),
        ("/rss", "<language>de-AT</language>"),
        ("/json", "\"language\":\"de-AT\""),
    ] {
        assert!(page_of(&server, path).await.contains(said), "{path}");
    }
    // For programs, the names of things stay as they are.
    let refused =
        server.visitor().api_post("/api/login", &[("username", "nobody"), ("password", PASSWORD)]).await;
    assert_eq!(refused["error"], "Wrong username or password.");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("Passwort"), "{message}");
}

#[tokio::test]
async fn administrators_choose_the_language_and_every_page_follows() {
    let _one = ONE_AT_A_TIME.lock().await;
    let server = Server::start(Engine::Memory, &[]).await;
    let admin = server.register("alice").await;
    let news = admin.submit_link("A story", "https://example.com/").await;
    let path = format!("/news/{news}");
    assert!(page_of(&server, &path).await.contains("Log in"));
    let form = Page::of(&admin.get("/admin/site").await).form("/admin/site").with("language", "it");
    form.send(&admin).await;
    for path in [path.as_str(), "/", "/login"] {
        let page = page_of(&server, path).await;
        assert!(page.contains("<html lang=\"it\"") && !page.contains("Log in"), "{path}: {page}");
    }
}

#[tokio::test]
async fn texts_of_the_operator_win() {
    let _one = ONE_AT_A_TIME.lock().await;
    let own = folder_with(
        "en.po",
        "msgctxt \"heading\"\nmsgid \"Log in\"\nmsgstr \"Come in\"\n\nmsgid \"Log in\"\nmsgstr \"Come in\"\n",
    );
    let translations = own.path().to_str().unwrap();
    let server = Server::start(Engine::Memory, &[("site.translations", translations)]).await;
    let login = page_of(&server, "/login").await;
    assert!(login.contains("Come in") && login.contains("Username"), "{login}");
}

#[test]
fn what_cannot_be_spoken_is_refused() {
    let none = Path::new("");
    assert_eq!(load("it", none).unwrap().rules.site.language.as_str(), "it");
    let unknown = load("pt", none).unwrap_err();
    assert!(unknown.contains("expected one of these: en, de, es, fr, it, ja"), "{unknown}");
    assert!(load("not a language", none).unwrap_err().contains("site.language"));
    let portuguese = folder_with("pt.po", "msgid \"Log in\"\nmsgstr \"Entrar\"\n");
    assert!(load("pt-BR", portuguese.path()).is_ok());
    let broken = folder_with("it.po", "msgid \"Log in\"\nmsgstr \"{name}\"\n");
    let error = load("it", broken.path()).unwrap_err();
    assert!(error.contains("it.po, line 1: the English text has no {name}"), "{error}");
    let without_effect = concat!(
        "msgid \"Log inn\"\nmsgstr \"a\"\n\nmsgid \"{count} comment\"\nmsgstr \"a\"\n\n",
        "msgid \"{karma} karma\"\nmsgstr \"karma\"\n"
    );
    let unknown = folder_with("it.po", without_effect);
    let warnings = load("it", unknown.path()).unwrap().warnings();
    assert!(warnings[0].contains("it.po, line 1: the program has no such text"), "{warnings:?}");
    assert!(warnings[1].contains("it.po, line 4: msgid_plural is missing"), "{warnings:?}");
    assert!(warnings[2].contains("it.po, line 7: the translation lacks {karma}"), "{warnings:?}");
    let misnamed = folder_with("my texts.po", "");
    assert!(load("it", misnamed.path()).unwrap_err().contains("is not named after a language"));
    assert!(load("it", Path::new("/no/such/folder")).unwrap_err().contains("cannot read /no/such/folder"));
}

#[test]
fn the_search_follows_the_language_of_the_site() {
    let language =
        |name: &str| format!("{:?}", load(name, Path::new("")).unwrap().search_settings().language);
    assert_eq!([language("en"), language("it"), language("ja")], ["Some(English)", "Some(Italian)", "None"]);
}
