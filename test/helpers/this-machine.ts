import { networkInterfaces } from 'node:os'

/** An IPv4 address where other machines can reach this one, or undefined without a network. */
export const OUTER_ADDRESS = Object.values(networkInterfaces())
  .flat()
  .find((one) => one !== undefined && !one.internal && one.family === 'IPv4')?.address

export const NO_NETWORK = 'skipped: this machine has no address but loopback'
