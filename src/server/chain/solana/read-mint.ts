import { getMintDecoder } from '@solana-program/token-2022'

export interface ReadMint {
  /** URL of the metadata file; null if the mint has none. */
  uri: string | null
  /** Number of members if the mint is a group, else null. */
  members: number | null
}

/** Decodes the account of a Token-2022 mint. */
export function readMint(data: Uint8Array): ReadMint {
  const { extensions } = getMintDecoder().decode(data)
  const all = extensions.__option === 'Some' ? extensions.value : []
  let [uri, members]: [string | null, number | null] = [null, null]
  for (const extension of all) {
    if (extension.__kind === 'TokenMetadata') uri = extension.uri
    if (extension.__kind === 'TokenGroup') members = Number(extension.size)
  }
  return { uri, members }
}
