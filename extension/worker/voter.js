// The voter ID: a random UUID that is created with the first vote and stored
// in `storage.local`.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The stored voter ID, or null before the first vote. */
export async function storedVoter(area) {
  const { voter } = await area.get("voter");
  return typeof voter === "string" && UUID.test(voter) ? voter : null;
}

let pending = null;

/** The voter ID, created if there is none. Concurrent calls return the same ID. */
export function getOrCreateVoter(area) {
  pending ??= readOrCreate(area).finally(() => {
    pending = null;
  });
  return pending;
}

async function readOrCreate(area) {
  const stored = await storedVoter(area);
  if (stored !== null) {
    return stored;
  }
  const voter = crypto.randomUUID();
  await area.set({ voter });
  return voter;
}
