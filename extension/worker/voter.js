// The voter IDs: for each server a random UUID, which is created with the first
// vote and stored in `storage.local`. Two servers cannot tell that their voters
// are the same person, and a server cannot vote on another with an ID it knows.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The key under which the voter ID of a server is stored. */
const keyOf = (server) => `voter:${server}`;

const isVoter = (stored) => typeof stored === "string" && UUID.test(stored);

/** The stored voter ID for a server, or null before the first vote there. */
export async function storedVoter(area, server) {
  const voter = (await area.get(keyOf(server)))[keyOf(server)];
  return isVoter(voter) ? voter : null;
}

/** The IDs that are being created, by server. */
const pending = new Map();

/** The voter ID for a server, created if there is none. Concurrent calls return the same ID. */
export function getOrCreateVoter(area, server) {
  if (!pending.has(server)) {
    pending.set(server, readOrCreate(area, server).finally(() => pending.delete(server)));
  }
  return pending.get(server);
}

async function readOrCreate(area, server) {
  const stored = await storedVoter(area, server);
  if (stored !== null) {
    return stored;
  }
  const voter = crypto.randomUUID();
  await area.set({ [keyOf(server)]: voter });
  return voter;
}

/**
 * Earlier versions had one ID for all servers, under `voter`. It stays the ID
 * for the server that is chosen now, and for no other.
 */
export async function keepOldVoter(area, server) {
  const { voter } = await area.get("voter");
  if (voter === undefined) {
    return;
  }
  if (server !== "" && isVoter(voter) && (await storedVoter(area, server)) === null) {
    await area.set({ [keyOf(server)]: voter });
  }
  await area.remove("voter");
}
