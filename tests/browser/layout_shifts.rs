//! Nothing moves while a page loads, also on a slow connection.

use crate::browser::Browser;
use crate::showcase::{Showcase, Viewer};

/// The most that may move on a page. 1 is the whole window moved by its own height.
pub const MOST_SHIFT: f64 = 0.01;

/// Sums the layout shifts since the page was opened, after the last of them was painted.
const SUM: &str = "
    const done = arguments[arguments.length - 1];
    let sum = 0;
    const add = (entries) => entries.forEach((entry) => { sum += entry.value });
    const observer = new PerformanceObserver((list) => add(list.getEntries()));
    observer.observe({ type: 'layout-shift', buffered: true });
    const paint = () => new Promise((then) => requestAnimationFrame(() => setTimeout(then)));
    document.fonts.ready.then(paint).then(paint).then(() => {
        add(observer.takeRecords());
        done(sum);
    });
";

/// How much has moved since the page was opened.
pub async fn shifts(browser: &Browser) -> f64 {
    browser.run_async(SUM, Vec::new()).await.as_f64().unwrap()
}

#[tokio::test]
async fn no_page_moves_while_it_loads() {
    let showcase = Showcase::start().await;
    let browser = showcase.open(Viewer::Member).await;
    browser.slow_down().await;
    for phone in [false, true] {
        if phone {
            browser.emulate_phone().await;
        }
        for page in ["/", &Showcase::thread(), "/submit", "/inbox"] {
            browser.go(page).await;
            let shift = shifts(&browser).await;
            assert!(shift < MOST_SHIFT, "{page} (phone: {phone}): {shift}");
        }
    }
    // The page would also stay still for a measurement that sees nothing.
    let push = "const box = document.createElement('p');
        box.textContent = 'late';
        box.style.height = '300px';
        document.querySelector('main').prepend(box)";
    browser.run(push).await;
    assert!(shifts(&browser).await > MOST_SHIFT);
}
