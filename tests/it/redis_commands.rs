//! Raw Redis commands, as `redis-cli` would send them.

use std::collections::BTreeMap;

use redis::FromRedisValue;
use redis::aio::MultiplexedConnection;

use crate::redis_server::RedisServer;

/// A connection that sends commands written as lines.
pub struct RedisCommands(MultiplexedConnection);

impl RedisCommands {
    /// Connects to a server.
    pub async fn connect(server: &RedisServer) -> Self {
        let client = redis::Client::open(server.url()).unwrap();
        Self(client.get_multiplexed_async_connection().await.unwrap())
    }

    /// Sends one command, a slice of words.
    pub async fn run<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        let (name, arguments) = words.split_first().unwrap();
        let mut command = redis::cmd(name);
        command.arg(arguments);
        command.query_async(&mut self.0).await.unwrap()
    }

    /// Sends a command whose answer does not matter.
    pub async fn write(&mut self, words: &[&str]) {
        self.run::<redis::Value>(words).await;
    }

    /// A hash, by field.
    pub async fn hash(&mut self, key: &str) -> BTreeMap<String, String> {
        self.run(&["HGETALL", key]).await
    }

    /// The type of every key.
    pub async fn types(&mut self) -> BTreeMap<String, String> {
        let keys: Vec<String> = self.run(&["KEYS", "*"]).await;
        let mut types = BTreeMap::new();
        for key in keys {
            let held: String = self.run(&["TYPE", &key]).await;
            types.insert(key, held);
        }
        types
    }
}
