//! A value that can be replaced while others read it.

use parking_lot::RwLock;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

/// A value that an operator may replace while the site runs, such as its rules.
///
/// Readers get a plain reference and wait for nobody, so a value that was replaced is never
/// freed. That is right for what a person changes a few times and what takes a few hundred
/// bytes.
pub struct Changeable<T: 'static> {
    first: T,
    /// The value now, once it was replaced.
    later: OnceLock<RwLock<&'static T>>,
}

impl<T> Changeable<T> {
    /// Replaces the value.
    pub fn replace(&self, value: T) {
        let value: &'static T = Box::leak(Box::new(value));
        let later = self.later.get_or_init(|| RwLock::new(value));
        *later.write() = value;
    }
}

impl<T> From<T> for Changeable<T> {
    fn from(first: T) -> Self {
        Self { first, later: OnceLock::new() }
    }
}

impl<T> Deref for Changeable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self.later.get() {
            None => &self.first,
            Some(later) => *later.read(),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Changeable<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_the_last_value_and_keep_the_one_that_they_have() {
        let value = Changeable::from(String::from("one"));
        let first: &str = &value;
        value.replace(String::from("two"));
        let second: &str = &value;
        value.replace(String::from("three"));
        assert_eq!([first, second, &value], ["one", "two", "three"]);
    }
}
