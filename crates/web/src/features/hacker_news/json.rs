//! JSON as that API writes it: without any spaces, or pretty, with lists in one line.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io;
use tidings_domain::Error;

/// A value as JSON.
///
/// # Errors
/// [`Error::Internal`] for a value that JSON cannot have.
pub(super) fn written(value: &impl Serialize, is_pretty: bool) -> Result<String, Error> {
    let failed = |error: String| Error::Internal(error);
    if !is_pretty {
        return serde_json::to_string(value).map_err(|error| failed(error.to_string()));
    }
    let mut json = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut json, Pretty::default());
    value.serialize(&mut serializer).map_err(|error| failed(error.to_string()))?;
    json.push(b'\n');
    String::from_utf8(json).map_err(|error| failed(error.to_string()))
}

/// Each member of an object in a line of its own, and lists in one line.
#[derive(Default)]
struct Pretty {
    levels: usize,
    has_members: bool,
}

impl Pretty {
    fn line<W: ?Sized + io::Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.levels).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Pretty {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" ]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { " " } else { ", " }.as_bytes())
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        Ok(())
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.levels += 1;
        self.has_members = false;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.levels -= 1;
        if self.has_members {
            self.line(writer)?;
        }
        self.has_members = true;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" : ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_members = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pretty_is_as_in_the_documentation_of_that_api() {
        let item = json!({"by": "alice", "id": 8_863, "kids": [8_952, 9_224], "none": [], "of": {}});
        let expected = "{\n  \"by\" : \"alice\",\n  \"id\" : 8863,\n  \"kids\" : [ 8952, 9224 ],\n  \"none\" : [ ],\n  \"of\" : {}\n}\n";
        assert_eq!(written(&item, true).unwrap(), expected);
        assert_eq!(written(&json!(null), true).unwrap(), "null\n");
        assert_eq!(written(&json!([1, 2]), false).unwrap(), "[1,2]");
    }
}
