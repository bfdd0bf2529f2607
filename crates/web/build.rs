//! Compresses the catalogues of the program.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=translations");
    let out = env::var("OUT_DIR")?;
    for file in fs::read_dir("translations")? {
        let path = file?.path();
        let (Some(name), Some(extension)) = (path.file_name(), path.extension()) else { continue };
        if extension != "po" {
            continue;
        }
        let mut compressed = DeflateEncoder::new(Vec::new(), Compression::best());
        for line in
            fs::read_to_string(&path)?.lines().filter(|line| !line.starts_with('#') || line.starts_with("#,"))
        {
            writeln!(compressed, "{line}")?;
        }
        fs::write(Path::new(&out).join(name), compressed.finish()?)?;
    }
    Ok(())
}
