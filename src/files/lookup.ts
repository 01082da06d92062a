import { lookup as systemLookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { isCloudMetadata, isPublicAddress } from './address.ts'

export interface ResolvedAddress {
  address: string
  family: number
}

/** Returns all addresses of a host. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>

export const systemResolve: Resolve = (hostname) => systemLookup(hostname, { all: true, verbatim: true })

/**
 * Thrown if a host has an address that isn't allowed. The fetcher converts this error to a failure that names the URL.
 */
export class PrivateAddressError extends Error {
  readonly address: string

  constructor(address: string) {
    super(`${address} is not a public address`)
    this.name = 'PrivateAddressError'
    this.address = address
  }
}

/**
 * Creates the lookup function of a socket. The function resolves a host once, checks each address, and returns a
 * checked address, so that no second query can return a different address. It rejects a host with any private address,
 * because timing determines which address a socket uses.
 */
export function createCheckedLookup(resolve: Resolve, allowPrivate: boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const isRefused = allowPrivate ? isCloudMetadata : (address: string) => !isPublicAddress(address)
        const refused = addresses.find(({ address }) => isRefused(address))
        const [first] = addresses
        if (refused !== undefined) return callback(new PrivateAddressError(refused.address), '', 0)
        if (first === undefined) return callback(noAddressError(hostname), '', 0)
        if (options.all === true) return callback(null, [...addresses])
        callback(null, first.address, first.family)
      },
      (error: unknown) => callback(error instanceof Error ? error : noAddressError(hostname), '', 0),
    )
  }
}

function noAddressError(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' })
}
