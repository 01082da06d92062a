import { networkInterfaces } from 'node:os'

/** An IPv4 address by which other machines reach this one, or undefined where there is no network. */
export const OUTER_ADDRESS = Object.values(networkInterfaces())
  .flat()
  .find((one) => one !== undefined && !one.internal && one.family === 'IPv4')?.address

export const NO_NETWORK = 'skipped: this machine has no address but loopback'
