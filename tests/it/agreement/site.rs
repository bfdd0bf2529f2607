//! Actions that concern the whole site: applications, the rule that holds posts, saved reasons, announcements and bans.

use super::model::{Kind, Made, Member, Person, Place, Thing, text_of};
use super::steps::{ADMIN, HELD, Step, Walk, call, is_ok, profile, said};
use crate::client::{Client, PASSWORD};
use std::collections::BTreeMap;

impl Walk {
    pub async fn change_site(&mut self, step: &Step, what: &'static str) -> Option<()> {
        let client = &self.clients[step.by].clone();
        match what {
            "apply" => self.apply(step.number, format!("writer{}", 1_000 + step.number)).await,
            "accept" => self.answer_application((step.by, step.about), true).await.map(drop),
            "reject" => {
                let line = self.answer_application((step.by, step.about), false).await?;
                self.note_line(step, ("reject the application", step.number), &line)
            }
            "add the rule" => {
                let line = self.add_rule(step.by).await?;
                self.note_line(step, ("rule", step.number), &line)
            }
            "lift the rule" => {
                let reason = self.reason(step.by);
                let rules = client.any_text("/moderate/rules").await;
                let (_, rest) = rules.split_once("name=\"rule_id\" value=\"")?;
                let (rule, _) = rest.split_once('"')?;
                let request = format!("/api/moderate/unrule?rule_id={rule}&reason={reason}");
                let line = call(client, &request).await;
                self.note_line(step, ("unrule", step.number), &line)
            }
            "save a reason" => {
                // The log says the title to everybody.
                let [title, text] =
                    [Place::Reason, Place::Staff].map(|place| self.model.word(place, step.by, None));
                let (title, text) = (text_of(title), text_of(text));
                let line = call(client, &format!("/api/moderate/reasons?title={title}&text={text}")).await;
                self.note_line(step, ("reason", step.number), &line)
            }
            "announce" => {
                let text = self.reason(step.by);
                let line = call(client, &format!("/api/admin/announcement?text={text}&hours=0")).await;
                self.note_line(step, ("announce", step.number), &line)
            }
            "ban a domain" => {
                let domain = self.model.word(Place::Staff, step.by, None);
                let (domain, reason) = (text_of(domain), self.reason(step.by));
                let ban = format!("what=domain&value={domain}.example&scope=both&reason={reason}&hours=0");
                let line = call(client, &format!("/api/moderate/bans?{ban}")).await;
                self.note_line(step, ("ban_origin", step.number), &line)
            }
            _ => None,
        }
    }

    /// A reason that everybody may read.
    pub fn reason(&mut self, by: Person) -> String {
        said(self.model.word(Place::Reason, by, None))
    }

    /// Holds what has a certain word. Returns the answer, unless the rule is there already.
    pub async fn add_rule(&mut self, by: Person) -> Option<serde_json::Value> {
        let reason = self.reason(by);
        let rule = format!("what=phrase&pattern={HELD}&effect=hold&reason={reason}");
        let answer = call(&self.clients[by], &format!("/api/moderate/rule?{rule}")).await;
        is_ok(&answer).then_some(answer)
    }

    /// Applies for an account.
    pub async fn apply(&mut self, made: Made, name: String) -> Option<()> {
        let text = said(self.model.word(Place::Message, ADMIN, None));
        let request = format!("/api/create_account?username={name}&password={PASSWORD}&application={text}");
        let answer = call(&self.server.visitor(), &request).await;
        (answer["pending"] == true).then_some(())?;
        self.model.applicants.insert(made, name);
        Some(())
    }

    /// Accepts or rejects an application.
    pub async fn answer_application(
        &mut self,
        (by, made): (Person, Made),
        accepts: bool,
    ) -> Option<serde_json::Value> {
        let name = self.model.applicants.get(&made)?.clone();
        let (reason, action) = (self.reason(by), if accepts { "approve" } else { "reject" });
        let request = format!("/api/moderate?action={action}&kind=application&id={name}&reason={reason}");
        let answer = call(&self.clients[by], &request).await;
        is_ok(&answer).then_some(())?;
        if accepts {
            self.model.applicants.remove(&made);
            let client = self.server.visitor().log_in(&name, PASSWORD).await;
            self.welcome(&name, client).await;
        }
        Some(answer)
    }

    /// Adds somebody who has joined.
    pub async fn welcome(&mut self, name: &str, mut client: Client) {
        client.user_id =
            self.server.string(&format!("username.to.id:{name}")).await.unwrap().parse().unwrap();
        self.server.set_karma(&client, 1_000).await;
        self.clients.push(client);
        self.model.people.push(Member { name: name.to_owned(), ..Member::default() });
        let author = self.model.people.len() - 1;
        let thing = Thing::new(Kind::Profile, name.to_owned(), author, BTreeMap::new());
        self.model.things.insert(profile(author), thing);
    }
}
