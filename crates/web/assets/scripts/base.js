// What the other scripts share. Every page works without them.

const CONNECTION_ERROR = "The site can't be reached. Check your connection and try again.";

// Numbers on pages have thousands separators.
const formatNumber = (number) => number.toLocaleString("en");
const parseNumber = (text) => Number(text.replaceAll(",", ""));

// Returns the error message, or undefined on success.
async function post(url, fields) {
  try {
    const response = await fetch(url, { method: "POST", body: fields });
    const answer = await response.json();
    return answer.status === "ok" ? undefined : answer.error || CONNECTION_ERROR;
  } catch {
    return CONNECTION_ERROR;
  }
}
