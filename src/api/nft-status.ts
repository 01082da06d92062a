// This set is in a separate file, because the schema of records loads zod.
const FAILED_STATUSES = new Set(['failed', 'error'])

/** Returns whether a server's status of an NFT or a transaction means that it failed. */
export const hasFailed = (status: string) => FAILED_STATUSES.has(status)

export const isFinal = (status: string) => status === 'deployed' || hasFailed(status)

/** Returns the reason that the server reports for a failure, or a default text if it reports none. */
export const failureReason = (error: unknown): string =>
  typeof error === 'string' ? error : 'the server returned no reason'
