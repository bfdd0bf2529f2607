//! The content of a request, its sender, and whether it is allowed.

pub mod address;
pub mod agent_name;
pub mod answers;
pub mod cookies;
pub mod description;
pub mod form;
pub mod json;
pub mod local_path;
pub mod origin;
pub mod paging;
pub mod path;
pub mod request_rates;
pub mod response_cache;
pub mod viewer;

pub(crate) use self::answers::answer;
pub use self::answers::{DONE, DoneResponse, ErrorResponse, JSON, Status};
pub use self::form::{Fields, Form, FromFields, Next, ShownAgain};
pub use self::local_path::LocalPath;
pub use self::paging::{PageQuery, WindowQuery};
pub use self::path::{AtName, ListPath, PathOf, Start};
pub use self::viewer::{Call, ClientAddress, Sender, SignedFields, SignedForm};
