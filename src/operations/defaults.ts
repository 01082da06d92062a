/** Default time that commands wait for a blockchain, in milliseconds. */
export const DEFAULT_WAIT_MS = 5 * 60_000

/** Time that a server may be unreachable before sending stops, in milliseconds. */
export const UNREACHABLE_MS = 120_000

/** Maximum number of requests or uploads in flight. If the server limits the rate, the pacer usually permits fewer. */
export const IN_FLIGHT = 8
