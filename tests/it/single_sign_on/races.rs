//! Several at once make one.

use serde_json::json;

use super::{ALICE, Place, SITE, alice};
use crate::concurrency::at_once;
use crate::consistency::check_site;
use crate::html::Form;
use crate::oidc_provider::{OidcProvider, Signature};
use crate::server::Engine;

/// How many at once.
const CROWD: usize = 8;

async fn site(engine: Engine) -> Option<Place> {
    let place = Place::around(OidcProvider::start(SITE)?, engine, &[]).await;
    place.wait_for_button().await;
    Some(place)
}

#[tokio::test]
async fn first_logins_of_one_person_make_one_account() {
    for engine in [Engine::Memory, Engine::Redis] {
        let Some(place) = site(engine).await else { return };
        let mut forms: Vec<Form> = Vec::new();
        for number in 0..CROWD {
            let page = place.person().first_page("alice").await;
            forms.push(page.form("/register").with("username", &format!("alice-{number}")));
        }
        let answers = at_once(forms.into_iter().map(|form| {
            let visitor = place.server.visitor();
            async move { form.send(&visitor).await }
        }))
        .await;
        assert!(answers.iter().all(|answer| !answer.status.is_server_error()), "{answers:?}");
        let mut made = 0;
        for number in 0..CROWD {
            made +=
                usize::from(place.server.string(&format!("username.to.id:alice-{number}")).await.is_some());
        }
        assert_eq!(made, 1, "on {engine:?}");
        check_site(&place.server).await;
    }
}

#[tokio::test]
async fn an_account_at_the_provider_is_connected_to_one_of_two_members() {
    for engine in [Engine::Memory, Engine::Redis] {
        let Some(place) = site(engine).await else { return };
        let mut asked = Vec::new();
        for name in ["bob", "carol"] {
            let client = place.server.register(name).await;
            let mut person = place.person().with_session_of(&client);
            let address = person.begin_with(&[("next", "/"), ("errand", "connect")]).await;
            let back = person.prove(&address, "alice").await;
            let form = crate::pages::shown(&person.get(&back).await).form("/oidc/connect");
            asked.push((client, form));
        }
        let answers =
            at_once(asked.into_iter().map(|(client, form)| async move { form.send(&client).await })).await;
        let connected = answers.iter().filter(|answer| answer.status.is_redirection()).count();
        assert_eq!(connected, 1, "on {engine:?}: {answers:?}");
        check_site(&place.server).await;
    }
}

#[tokio::test]
async fn a_logout_token_counts_once_however_often_it_comes() {
    for engine in [Engine::Memory, Engine::Redis] {
        let Some(place) = site(engine).await else { return };
        place.member("alice", alice()).await;
        let token = place.provider.logout_token(ALICE, json!({}), Signature::Right).await;
        let answers = at_once((0..CROWD).map(|_| {
            let (visitor, token) = (place.server.visitor(), token.clone());
            async move { visitor.post("/oidc/logout", &[("logout_token", &token)]).await.status }
        }))
        .await;
        let counted = answers.iter().filter(|status| status.is_success()).count();
        assert_eq!(counted, 1, "on {engine:?}: {answers:?}");
    }
}
