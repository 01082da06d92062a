/** The result of one check. A warning means that a problem may occur later. */
export type CheckResult =
  | { check: string; status: 'ok'; message: string }
  | { check: string; status: 'warn'; message: string; fix: string }
  | { check: string; status: 'fail'; error: unknown }

/** Runs a check and returns its result. An error counts as a failed check. */
export async function examine(
  check: string,
  look: () => Promise<{ message: string; fix?: string }>,
): Promise<CheckResult> {
  try {
    const { message, fix } = await look()
    return fix === undefined ? { check, status: 'ok', message } : { check, status: 'warn', message, fix }
  } catch (error) {
    return { check, status: 'fail', error }
  }
}

/** Returns the milliseconds since a `performance.now()` timestamp, rounded to an integer of at least 1. */
export const msSince = (since: number): number => Math.max(1, Math.round(performance.now() - since))
