import { extraKeys, type NftMetadata } from '../../api/metadata.ts'
import { toFileAttribute } from '../../api/traits.ts'
import { urlOfPlace } from '../../core/ipfs-url.ts'
import { type BuiltDirectory, buildDirectory } from '../storage/directory.ts'

/**
 * Returns the metadata file of an NFT in the ERC-721 metadata schema. The file contains `name`, `description`, extra
 * keys unchanged, and `attributes` in the format that marketplaces read. Each file field has the IPFS URL of its stored
 * file, or the original URL if the file isn't in the backend's storage.
 */
export function metadataFile(metadata: NftMetadata, files: Readonly<Record<string, string>>): Uint8Array {
  const file: Record<string, unknown> = { name: metadata.title, description: metadata.description }
  for (const { key } of metadata.file_fields) file[key] = urlOfPlace(files[key] ?? '')
  for (const key of extraKeys(metadata)) file[key] = metadata[key]
  if (metadata.attribute !== undefined) {
    file.attributes = metadata.attribute.map(toFileAttribute)
  }
  return Buffer.from(JSON.stringify(file))
}

/** Returns the directory of an update's metadata files, with one `<token ID>.json` per NFT. */
export function buildUpdateDirectory(
  updates: readonly { token_id: string | null; metadata: string; files: string | null }[],
): Promise<BuiltDirectory> {
  return buildDirectory(
    updates.map(({ token_id, metadata, files }) => ({
      name: `${token_id}.json`,
      bytes: metadataFile(JSON.parse(metadata) as NftMetadata, JSON.parse(files ?? '{}')),
    })),
  )
}

/** Returns the directory of metadata files to mint: `0.json`, `1.json` and so on, in the order of the NFTs. */
export function buildMintDirectory(
  nfts: readonly { metadata: string; files: string | null }[],
): Promise<BuiltDirectory> {
  return buildDirectory(
    nfts.map(({ metadata, files }, index) => ({
      name: `${index}.json`,
      bytes: metadataFile(JSON.parse(metadata) as NftMetadata, JSON.parse(files ?? '{}')),
    })),
  )
}
