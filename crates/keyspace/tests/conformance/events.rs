//! Messages on channels.

use super::{PATIENCE, Subject};
use tidings_keyspace::{Notice, Subscription, read};

/// Subscribes, and waits until the subscription is in effect. On Redis it takes effect only
/// when the server has received it.
async fn listen(subject: &Subject, channel: &str) -> Subscription {
    let mut subscription = subject.store.subscribe(channel);
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        subject.write(|batch| batch.publish(channel, "hello")).await;
        let soon = std::time::Duration::from_millis(50);
        match tokio::time::timeout(soon, subscription.next()).await {
            // On Redis the first notice says that the subscription is in effect.
            Ok(Some(Notice::Missed)) | Err(_) => {}
            Ok(notice) => {
                assert_eq!(notice, Some(Notice::Message("hello".to_owned())));
                return subscription;
            }
        }
        assert!(std::time::Instant::now() < deadline, "nothing is heard on {channel}");
    }
}

async fn heard(subscription: &mut Subscription) -> String {
    loop {
        match tokio::time::timeout(PATIENCE, subscription.next()).await.unwrap() {
            // The messages that were sent before the subscription took effect.
            Some(Notice::Message(text)) if text == "hello" => {}
            Some(Notice::Message(text)) => return text,
            other => panic!("{other:?}"),
        }
    }
}

pub(super) async fn messages_reach_all_who_listen_on_the_channel(subject: Subject) {
    let mut first = listen(&subject, "channel").await;
    let mut second = listen(&subject, "channel").await;
    let mut other = listen(&subject, "other").await;
    subject
        .write(|batch| {
            batch.set("key", "value");
            batch.publish("channel", "é\0\r\n");
            batch.publish("channel", "");
        })
        .await;
    subject.write(|batch| batch.publish("other", "elsewhere")).await;
    for subscription in [&mut first, &mut second] {
        assert_eq!(heard(subscription).await, "é\0\r\n");
        assert_eq!(heard(subscription).await, "");
    }
    assert_eq!(heard(&mut other).await, "elsewhere");
    // A message does not make a key.
    assert_eq!(subject.store.count_keys().await.unwrap(), 1);
}

pub(super) async fn a_message_comes_after_its_batch_and_not_without(subject: Subject) {
    let mut subscription = listen(&subject, "channel").await;
    let refused = subject
        .commit(|batch| {
            batch.key_present("absent");
            batch.publish("channel", "refused");
        })
        .await;
    assert!(refused.is_err());
    subject
        .write(|batch| {
            batch.set("key", "value");
            batch.publish("channel", "applied");
        })
        .await;
    assert_eq!(heard(&mut subscription).await, "applied");
    assert_eq!(subject.ask(read::string("key")).await.as_deref(), Some("value"));
}
