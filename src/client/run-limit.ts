import type { RunMaxCost } from '../api/run-max-cost.ts'

/** The run that pays for a request, and its cost limit. */
export interface RunLimit {
  run: string
  maxCost?: RunMaxCost
}

interface RunLimitInputs {
  /** The limit under which requests were permitted, in wei, or null. It overrides the other limits. */
  permitted?: bigint | null
  /** The explicit limit of this command in wei. */
  commandLimit?: bigint | null | undefined
  /** The limit stored with the run on this machine, in wei. */
  storedLimit?: bigint | null
}

/** Returns the run and cost limit for requests. Only a limit passed to this command can raise the server's limit. */
export function runLimit(
  run: string,
  { permitted = null, commandLimit = null, storedLimit = null }: RunLimitInputs,
): RunLimit {
  if (permitted !== null) return { run, maxCost: { wei: permitted, isSet: false } }
  if (commandLimit !== null) return { run, maxCost: { wei: commandLimit, isSet: true } }
  return storedLimit === null ? { run } : { run, maxCost: { wei: storedLimit, isSet: false } }
}
