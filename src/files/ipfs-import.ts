import type { ImporterOptions } from 'ipfs-unixfs-importer'

/**
 * Returns the parameters of `ipfs add --cid-version=1`: chunks of 256 KiB, 174 links per node, raw leaves. Each call
 * returns a new object, because the importer writes to it.
 */
export const importOptions = (): ImporterOptions => ({ profile: 'unixfs-v0-2015', cidVersion: 1, rawLeaves: true })
