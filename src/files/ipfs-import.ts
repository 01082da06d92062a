import type { ImporterOptions } from 'ipfs-unixfs-importer'

/**
 * Returns the parameters of `ipfs add --cid-version=1`, which are 256 KiB chunks, 174 links per node and raw leaves.
 * Each call returns a new object, because the importer modifies it.
 */
export const importOptions = (): ImporterOptions => ({ profile: 'unixfs-v0-2015', cidVersion: 1, rawLeaves: true })
