//! How pages look at the width of a window: nothing overflows, no button is cut or too small, nothing in the header overlaps.

use crate::browser::Browser;
use serde_json::Value;

/// The least width and height of a button, in CSS pixels.
const LEAST_TARGET: u32 = 24;

/// The width of a window from which on the links of the header have one row.
const ONE_ROW: u32 = 1_280;

fn texts(found: &Value) -> Vec<String> {
    found.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// What looks wrong on the current page, in a window as wide as it is.
pub async fn faults(browser: &Browser) -> Vec<String> {
    let script = format!(
        "const root = document.documentElement;
        const shown = (css) => [...document.querySelectorAll(css)].filter((element) => element.checkVisibility());
        const start = (element) => element.outerHTML.slice(0, 200);
        const faults = [];
        if (root.scrollWidth > root.clientWidth) {{
            const out = [...document.querySelectorAll('body *')].filter((element) => {{
                const {{ left, right }} = element.getBoundingClientRect();
                return (left < -1 || right > root.clientWidth + 1) && !element.closest('.scroll, .hidden, .skip');
            }});
            faults.push(`it scrolls sideways: ${{out.slice(0, 1).map(start)}}`);
        }}
        const rows = new Set(shown('.site-header nav > ul > li > a').map((link) => link.offsetTop)).size;
        if (innerWidth >= {ONE_ROW} && rows > 1) {{
            faults.push(`${{rows}} rows of links`);
        }}
        const isCut = (button) => button.scrollWidth > button.clientWidth + 1
            && getComputedStyle(button).overflow !== 'visible';
        faults.push(...shown('button').filter(isCut).map((button) => `it is cut: ${{start(button)}}`));
        const isSmall = (button) => {{
            const {{ width, height }} = button.getBoundingClientRect();
            return Math.min(width, height) < {LEAST_TARGET};
        }};
        faults.push(...shown('.vote button, .button').filter(isSmall).map((button) => `it is small: ${{start(button)}}`));
        return faults;"
    );
    texts(&browser.run(&script).await)
}

/// The parts of the header that overlap or are outside of a narrow window, with text of this size, such as `200%`.
pub async fn faults_of_header(browser: &Browser, size: &str) -> Vec<String> {
    let script = format!(
        "document.documentElement.style.fontSize = '{size}';
        const parts = [...document.querySelectorAll('.site-header :is(a, button, summary, .name, .karma)')]
            .filter((part) => part.checkVisibility());
        const boxes = parts.map((part) => [part, part.getBoundingClientRect()]);
        const outside = boxes.filter(([part, box]) => box.left < 0 || box.right > document.documentElement.clientWidth
            || (box.width < {LEAST_TARGET} && !part.matches('.karma')));
        const overlapping = boxes.filter(([part, box]) => boxes.some(([other, there]) =>
            part !== other && !part.contains(other) && !other.contains(part)
            && box.left < there.right - 1 && there.left < box.right - 1
            && box.top < there.bottom - 1 && there.top < box.bottom - 1));
        return [...outside, ...overlapping].map(([part]) => part.textContent);"
    );
    texts(&browser.run(&script).await)
}
