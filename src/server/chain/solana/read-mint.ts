import { keyFromBytes } from './key.ts'
import { KEY_BYTES } from './sizes.ts'

/** Offset of the supply in a mint. The supply follows the optional mint authority. */
export const SUPPLY_AT = 36
/**
 * Offset of the account type in a Token-2022 mint. The mint is padded to this offset, which is the size of a token
 * account.
 */
const ACCOUNT_TYPE_AT = 165
const MINT_ACCOUNT_TYPE = 1
const METADATA_EXTENSION = 19
const GROUP_EXTENSION = 21
/** Size in bytes of the update authority and the mint, which precede the fields of metadata and of a group. */
const AUTHORITIES_BYTES = 64
/** Name of the additional field with the number of the last update. A token without updates doesn't have it. */
export const REVISION = 'revision'

export interface MintState {
  /** Number of tokens: 0 after the token was burned. */
  supply: bigint
  /** The name and the URL of the metadata file. Both are null if the mint has no metadata. */
  name: string | null
  uri: string | null
  /** The address that may update the metadata; null if no address may. */
  updateAuthority: string | null
  /** Number of the last update; null if there is none. */
  revision: number | null
  /** Number of members if the mint is a group, else null. */
  members: number | null
}

/** Decodes the account of a Token-2022 mint. Throws if it is truncated. */
export function decodeMintAccount(data: Uint8Array): MintState {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length)
  const mint: MintState = { supply: 0n, name: null, uri: null, updateAuthority: null, revision: null, members: null }
  if (bytes[ACCOUNT_TYPE_AT] !== MINT_ACCOUNT_TYPE) return mint
  mint.supply = bytes.readBigUInt64LE(SUPPLY_AT)
  // Each extension begins with its type and its length.
  for (let at = ACCOUNT_TYPE_AT + 1; at + 4 <= bytes.length; ) {
    const fields = at + 4 + AUTHORITIES_BYTES
    const kind = bytes.readUInt16LE(at)
    if (kind === METADATA_EXTENSION) {
      const authority = bytes.subarray(at + 4, at + 4 + KEY_BYTES)
      if (authority.some((byte) => byte !== 0)) mint.updateAuthority = keyFromBytes(authority).address
      Object.assign(mint, decodeMetadata(bytes.subarray(fields)))
    }
    if (kind === GROUP_EXTENSION) mint.members = Number(bytes.readBigUInt64LE(fields))
    at += 4 + bytes.readUInt16LE(at + 2)
  }
  return mint
}

/** Reads the strings of metadata: name, symbol, URL, and additional fields by name. Each string follows its length. */
function decodeMetadata(bytes: Buffer): Pick<MintState, 'name' | 'uri' | 'revision'> {
  let at = 0
  const number = () => {
    at += 4
    return bytes.readUInt32LE(at - 4)
  }
  const text = () => {
    const start = at + 4
    at = start + bytes.readUInt32LE(at)
    if (at > bytes.length) throw new Error('the metadata of a mint is truncated')
    return bytes.toString('utf8', start, at)
  }
  const [name, , uri] = [text(), text(), text()]
  const additionalFields = new Map(Array.from({ length: number() }, () => [text(), text()] as const))
  const revision = additionalFields.get(REVISION)
  return { name, uri, revision: revision === undefined ? null : Number(revision) }
}
