/** The run that pays for a request, and its cost limit in the format of the header. */
export interface RunLimit {
  run: string
  maxCost?: string
}

interface RunLimitInputs {
  /** The limit under which requests were permitted, in wei, or null. It overrides the other limits. */
  permitted?: bigint | null
  /** The explicit limit of this command in wei. */
  commandLimit?: bigint | null | undefined
  /** The limit stored with the run on this machine, in wei. */
  storedLimit?: bigint | null
}

/** Returns the limit in wei, or null if there is none. */
export const limitInWei = ({ maxCost }: RunLimit): bigint | null =>
  maxCost === undefined ? null : BigInt(maxCost.split(';', 1)[0] ?? '')

/** Returns whether a limit replaces the server's limit even if it is higher than the server's limit. */
export const setsLimit = ({ maxCost }: RunLimit): boolean => maxCost?.endsWith(';set') === true

/** Returns the run and cost limit for requests. Only a limit passed to this command can raise the server's limit. */
export function runLimit(
  run: string,
  { permitted = null, commandLimit = null, storedLimit = null }: RunLimitInputs,
): RunLimit {
  if (permitted !== null) return { run, maxCost: String(permitted) }
  if (commandLimit !== null) return { run, maxCost: `${commandLimit};set` }
  return storedLimit === null ? { run } : { run, maxCost: String(storedLimit) }
}
