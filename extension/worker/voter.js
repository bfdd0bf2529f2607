// Who votes: a UUID that is made on the first vote and stays in `storage.local`.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The voter, or null before the first vote. */
export async function knownVoter(area) {
  const { voter } = await area.get("voter");
  return typeof voter === "string" && UUID.test(voter) ? voter : null;
}

let making = null;

/** The voter, made when there is none. Two votes at once make one voter. */
export function anyVoter(area) {
  making ??= find(area).finally(() => {
    making = null;
  });
  return making;
}

async function find(area) {
  const known = await knownVoter(area);
  if (known !== null) {
    return known;
  }
  const voter = crypto.randomUUID();
  await area.set({ voter });
  return voter;
}
