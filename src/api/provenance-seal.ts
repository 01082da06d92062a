import { createHash } from 'node:crypto'

/**
 * Returns the hash that seals a shuffled drop. NFTs that are minted after the commitment to this hash don't belong to
 * the drop.
 */
export function computeSeal(provenance: string): `0x${string}` {
  const hash = createHash('sha256')
    .update('gdn-shuffle-seal-v1')
    .update(Buffer.from(provenance.slice(2), 'hex'))
  return `0x${hash.digest('hex')}`
}
