//! QR codes as inline SVG.

use maud::{Markup, PreEscaped, html};
use qrcodegen::{QrCode, QrCodeEcc};
use std::fmt::Write;

/// Empty modules around a code, as the standard wants them.
const BORDER: i32 = 4;

/// A text as a QR code; `None` if it is too long for one. The label says what it is.
pub fn qr_code(text: &str, label: &str) -> Option<Markup> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let size = code.size() + 2 * BORDER;
    Some(html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (size) " " (size) } role="img" aria-label=(label)
            shape-rendering="crispEdges"
        {
            // White in dark mode too: readers want dark modules on light ground.
            path fill="#fff" d={ "M0 0h" (size) "v" (size) "h-" (size) "z" } {}
            path fill="#000" d=(PreEscaped(modules(&code))) {}
        }
    })
}

/// A square for each dark module.
fn modules(code: &QrCode) -> String {
    let mut path = String::new();
    for row in 0..code.size() {
        for column in (0..code.size()).filter(|column| code.get_module(*column, row)) {
            // Writing into a string cannot fail.
            let _ = write!(path, "M{} {}h1v1h-1z", column + BORDER, row + BORDER);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_a_square_with_a_border() {
        let html = qr_code("otpauth://totp/a?secret=b", "\"label\"").unwrap().into_string();
        // The text needs version 2: 25 modules and 4 on each side.
        assert!(html.contains(r#"viewBox="0 0 33 33""#) && html.contains("&quot;label&quot;"), "{html}");
        // The upper left corner of the first finder pattern.
        assert!(html.contains("M4 4h1v1h-1z") && !html.contains("M3 "), "{html}");
        assert!(!html.contains("otpauth") && !html.contains("style="), "{html}");
        assert!(qr_code(&"a".repeat(10_000), "").is_none());
    }
}
