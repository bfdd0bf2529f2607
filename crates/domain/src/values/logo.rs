//! The picture of the site, as an administrator sends it: checked by its bytes.

use crate::values::text_forms::{codec_of, record_text};
use crate::values::{MAX_LOGO_BYTES, MAX_LOGO_PIXELS};
use imagesize::ImageType;
use sha2::{Digest, Sha256};
use strum::{Display, EnumString};

/// Hexadecimal digits of the digest in the name of the file.
const DIGEST_DIGITS: usize = 12;

/// The format of a picture, shown as the ending of the name of such a file. SVG is not among them, because it can contain scripts and links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum LogoFormat {
    /// PNG.
    Png,
    /// JPEG.
    #[strum(serialize = "jpg")]
    Jpeg,
    /// WebP.
    Webp,
    /// GIF.
    Gif,
}

impl LogoFormat {
    /// The content type of such a file.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
        }
    }
}

/// Why a picture is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum LogoError {
    /// No file was chosen, or an empty one.
    Missing,
    /// Too many bytes.
    TooLarge,
    /// SVG can contain scripts.
    Svg,
    /// Something else.
    NotAPicture,
    /// Too many pixels, or none.
    TooManyPixels,
}

/// The facts about the logo that pages need to refer to its file and to keep its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogoFile {
    digest: String,
    /// The format.
    pub format: LogoFormat,
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
}

impl LogoFile {
    /// The name of the file. It contains a digest, so that browsers can cache it for ever.
    pub fn name(&self) -> String {
        format!("logo-{}.{}", self.digest, self.format)
    }
}

/// The stored text is not of this form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableLogo;

codec_of! {
    /// A digest in hexadecimal digits.
    FileDigest for String: |digest| digest,
        |text| {
            let is_digest = text.len() == DIGEST_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_digest.then(|| text.to_owned())
        }
}

record_text!(LogoFile or UnreadableLogo: {digest FileDigest} "." {format} " " {width} "x" {height});

/// A picture that may be the logo of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logo {
    /// The facts about it that pages need.
    pub file: LogoFile,
    bytes: Vec<u8>,
}

impl Logo {
    /// Checks a file: its size, its format by its bytes, and its dimensions. The pixels are
    /// not decoded.
    ///
    /// # Errors
    /// When it is empty, too large, or not a picture of a known format.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, LogoError> {
        if bytes.is_empty() {
            return Err(LogoError::Missing);
        }
        if bytes.len() > MAX_LOGO_BYTES {
            return Err(LogoError::TooLarge);
        }
        let format = match imagesize::image_type(&bytes) {
            Ok(ImageType::Png) => LogoFormat::Png,
            Ok(ImageType::Jpeg) => LogoFormat::Jpeg,
            Ok(ImageType::Webp) => LogoFormat::Webp,
            Ok(ImageType::Gif) => LogoFormat::Gif,
            _ if looks_like_svg(&bytes) => return Err(LogoError::Svg),
            _ => return Err(LogoError::NotAPicture),
        };
        let size = imagesize::blob_size(&bytes).map_err(|_| LogoError::NotAPicture)?;
        let pixels = |length: usize| {
            let length = u32::try_from(length).ok();
            length.filter(|length| (1..=MAX_LOGO_PIXELS).contains(length)).ok_or(LogoError::TooManyPixels)
        };
        let (width, height) = (pixels(size.width)?, pixels(size.height)?);
        let digest: String = hex::encode(Sha256::digest(&bytes)).chars().take(DIGEST_DIGITS).collect();
        Ok(Self { file: LogoFile { digest, format, width, height }, bytes })
    }

    /// The file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Whether a file is probably SVG: a text with its root element.
fn looks_like_svg(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"<svg").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a PNG file of this size.
    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 6, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn a_picture_is_known_by_its_bytes() {
        let logo = Logo::parse(png(120, 40)).unwrap();
        assert_eq!((logo.file.format, logo.file.width, logo.file.height), (LogoFormat::Png, 120, 40));
        assert!(logo.file.name().starts_with("logo-") && logo.file.name().ends_with(".png"));
        assert_eq!(logo.file.to_string().parse(), Ok(logo.file));
        let gif = Logo::parse(b"GIF89a\x10\0\x20\0\0\0\0;".to_vec()).unwrap();
        assert_eq!((gif.file.format, gif.file.width, gif.file.height), (LogoFormat::Gif, 16, 32));
    }

    #[test]
    fn other_files_are_refused() {
        let check = |bytes: Vec<u8>, expected| assert_eq!(Logo::parse(bytes), Err(expected));
        check(Vec::new(), LogoError::Missing);
        check(vec![b'x'; 100], LogoError::NotAPicture);
        check(b"<html><script>alert(1)</script>".to_vec(), LogoError::NotAPicture);
        check(b"<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(), LogoError::Svg);
        check(b"\x89PNG\r\n\x1a\n".to_vec(), LogoError::NotAPicture);
        check(png(MAX_LOGO_PIXELS + 1, 1), LogoError::TooManyPixels);
        check(png(1, u32::MAX), LogoError::TooManyPixels);
        check(png(0, 1), LogoError::TooManyPixels);
        assert!(Logo::parse(png(MAX_LOGO_PIXELS, MAX_LOGO_PIXELS)).is_ok());
        let mut large = png(1, 1);
        large.resize(MAX_LOGO_BYTES, 0);
        assert!(Logo::parse(large.clone()).is_ok());
        large.push(0);
        check(large, LogoError::TooLarge);
    }

    #[test]
    fn a_stored_logo_of_another_form_is_none() {
        let invalid = "|0123456789ab.svg 1x1|0123456789ab.png|0123456789ab.png 1|../x.png 1x1|\
            0123456789ab.png -1x1";
        for bad in invalid.split('|') {
            assert_eq!(bad.parse::<LogoFile>(), Err(UnreadableLogo), "{bad}");
        }
    }
}
