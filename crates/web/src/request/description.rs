//! How an action describes its call in the OpenAPI document. Only tests make descriptions: see `openapi`.

#[cfg(test)]
pub mod tests;

#[cfg(not(test))]
pub use undescribed::Described;
#[cfg(test)]
pub use {tests::schemas, tests::values, utoipa::ToSchema as Described};

/// In the program nothing of a type is described.
#[cfg(not(test))]
mod undescribed {
    /// A form or an answer of a call. In tests it has a schema.
    pub trait Described {}

    impl<T> Described for T {}
}

/// How an action describes its call: with its form and its answer. Only tests make descriptions.
pub struct Description {
    /// Adds the call to a document, with its address and its summary.
    #[cfg(test)]
    pub add_to: fn(&mut utoipa::openapi::OpenApi, &str, &str),
}

impl Description {
    /// A call that takes the form `T` in a session and answers with `A`.
    pub fn of<T: Described, A: Described>() -> Self {
        Self {
            #[cfg(test)]
            add_to: tests::add_call::<T, A>,
        }
    }
}
