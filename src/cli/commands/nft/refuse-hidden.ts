import { existsSync } from 'node:fs'
import type { Blockchain } from '../../../api/blockchains.ts'
import type { NftMetadata } from '../../../api/metadata.ts'
import { PROVENANCE, PROVENANCE_ROW, PROVENANCE_SALT, PROVENANCE_SIGNATURE } from '../../../manifest/reveal-keys.ts'
import { runOrigin } from '../../../operations/run-origin.ts'
import { provenanceFolder } from '../../../reveal/provenance-folder.ts'
import type { Connection, Deps } from '../../deps.ts'

/** The NFTs that a request publishes, before their local files are uploaded. */
interface PublishedNfts {
  blockchain: Blockchain
  contract: string
  metadata: readonly NftMetadata[]
  /** The local files, and the placeholders for their URLs in the metadata. */
  localFiles: readonly { path: string; placeholder: string }[]
  what: 'mint' | 'update'
}

/**
 * Refuses a request that would publish metadata that an unrevealed drop hides, unless `--again` is set. Files
 * are compared only if they are local. Loads the code only if this machine has an unrevealed drop.
 *
 * @throws GdnError `refused`
 */
export async function refuseHiddenNfts(
  deps: Pick<Deps, 'identify'>,
  { server, settings: { stateDir } }: Connection,
  { again = false }: { again?: boolean },
  { blockchain, contract: contractAddress, metadata, localFiles, what }: PublishedNfts,
): Promise<void> {
  if (again || !existsSync(provenanceFolder(stateDir))) return
  const { refuseToPublish } = await import('../../batch/reveal/minted-unrevealed.ts')
  const pathOf = new Map(localFiles.map(({ placeholder, path }) => [placeholder, path]))
  const rows = metadata.map(withoutProof).map((nftMetadata) => ({
    metadata: nftMetadata,
    localFiles: nftMetadata.file_fields.flatMap(({ key, url }) => {
      const path = pathOf.get(url)
      return path === undefined ? [] : [{ key, path }]
    }),
  }))
  const origin = runOrigin(server, await deps.identify(server))
  await refuseToPublish({ stateDir, origin, blockchain, contractAddress }, rows, what)
}

const PROOF_KEYS = [PROVENANCE_ROW, PROVENANCE_SALT, PROVENANCE_SIGNATURE]

/** Returns metadata without the proof keys, which unrevealed mints and reveals add, and updates keep. */
function withoutProof(metadata: NftMetadata): NftMetadata {
  const rest: NftMetadata = { ...metadata }
  for (const key of PROOF_KEYS) delete rest[key]
  rest.file_fields = metadata.file_fields.filter(({ key }) => key !== PROVENANCE)
  return rest
}
