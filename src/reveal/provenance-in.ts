import { CID } from 'multiformats/cid'
import { computeIpfsUrl } from '../files/local-content.ts'
import { PROVENANCE, PROVENANCE_ROW, readSalt } from '../manifest/reveal-keys.ts'
import { deriveSalt, parseLeaves } from './leaves.ts'

/** Returns the SHA-256 of a file, in hex, from its ipfs URL; null if the file isn't a single block. */
export function parseSha256InUrl(url: string): string | null {
  const cid = /^ipfs:\/\/([^/]+)$/i.exec(url)?.[1] ?? ''
  try {
    const { code, multihash } = CID.parse(cid)
    return code === 0x55 && multihash.code === 0x12 ? Buffer.from(multihash.digest).toString('hex') : null
  } catch {
    return null
  }
}

/** Returns the URL of the leaves file in the metadata of an unrevealed NFT; undefined for other metadata. */
export function findLeavesUrl(metadata: unknown): string | undefined {
  const { [PROVENANCE_ROW]: row, file_fields: files } = Object(metadata) as Record<string, unknown>
  if (row === undefined || !Array.isArray(files)) return undefined
  const leaves: { url: string } | undefined = files.find(({ key }) => key === PROVENANCE)
  return leaves?.url
}

/**
 * Returns a function that recognizes the NFTs of a commitment, regardless of the run that minted them. The function
 * returns the number of an NFT's row, from 1, or null for other NFTs. A revealed NFT is recognized by its salt, even if
 * it was edited afterwards.
 */
export async function createRowLookup({
  leaves,
  seed,
}: {
  leaves: Uint8Array
  seed: Uint8Array
}): Promise<(metadata: unknown) => number | null> {
  const url = await computeIpfsUrl(leaves)
  let bySalt: Map<unknown, number> | undefined
  return (metadata) => {
    const leavesUrl = findLeavesUrl(metadata)
    if (leavesUrl !== undefined) return leavesUrl === url ? Number(Object(metadata)[PROVENANCE_ROW]) : null
    const salt = readSalt(metadata)
    if (salt === undefined) return null
    bySalt ??= new Map(parseLeaves(leaves).map((_, at) => [deriveSalt(seed, at + 1).toString('hex'), at + 1]))
    return bySalt.get(salt) ?? null
  }
}
