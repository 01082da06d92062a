import type { ImporterOptions } from 'ipfs-unixfs-importer'

/**
 * The parameters of `ipfs add --cid-version=1`: parts of 256 KiB, 174 to a node, raw leaves. A new object, because the
 * importer writes to it.
 */
export const importOptions = (): ImporterOptions => ({ profile: 'unixfs-v0-2015', cidVersion: 1, rawLeaves: true })
