/** The run that pays for a request, and the limit of its cost as the header states it. */
export interface RunLimit {
  run: string
  maxCost?: string
}

interface Limits {
  /** The limit that requests were permitted, which replaces the others; null if none was. */
  permitted?: bigint | null
  /** The limit that this command was given. */
  given?: bigint | null | undefined
  /** The limit that is kept with the run on this machine. */
  kept?: bigint | null
}

/** Returns a limit in wei; null if there is none. */
export const limitIn = ({ maxCost }: RunLimit): bigint | null =>
  maxCost === undefined ? null : BigInt(maxCost.split(';', 1)[0] ?? '')

/** Whether a limit replaces the server's limit, even if it is higher. */
export const setsLimit = ({ maxCost }: RunLimit): boolean => maxCost?.endsWith(';set') === true

/**
 * Returns the limit that each request of a run carries. Only one that this command was given raises that of the server.
 */
export function runLimit(run: string, { permitted = null, given = null, kept = null }: Limits): RunLimit {
  if (permitted !== null) return { run, maxCost: String(permitted) }
  if (given !== null) return { run, maxCost: `${given};set` }
  return kept === null ? { run } : { run, maxCost: String(kept) }
}
