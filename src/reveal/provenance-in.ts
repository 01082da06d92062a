import { CID } from 'multiformats/cid'
import { PROVENANCE, PROVENANCE_ROW } from '../manifest/reveal-keys.ts'

/** Returns the SHA-256 in hex of a file from its ipfs URL. Returns null unless the file is a single block. */
export function sha256InUrl(url: string): string | null {
  const cid = /^ipfs:\/\/([^/]+)$/i.exec(url)?.[1] ?? ''
  try {
    const { code, multihash } = CID.parse(cid)
    return code === 0x55 && multihash.code === 0x12 ? Buffer.from(multihash.digest).toString('hex') : null
  } catch {
    return null
  }
}

/**
 * Returns the hash of the commitment that the metadata of an unrevealed NFT names. Returns null if the URL of the
 * leaves file doesn't contain the hash, which needs more than 4,000 rows, and undefined for other metadata.
 */
export function provenanceIn(metadata: unknown): string | null | undefined {
  const { [PROVENANCE_ROW]: row, file_fields: files } = Object(metadata) as Record<string, unknown>
  if (row === undefined || !Array.isArray(files)) return undefined
  const leaves: { url: string } | undefined = files.find(({ key }) => key === PROVENANCE)
  if (leaves === undefined) return undefined
  const hash = sha256InUrl(leaves.url)
  return hash === null ? null : `0x${hash}`
}
