/** A mint has a byte for the type of its account after the space that any account of Token-2022 takes. */
const ACCOUNT_TYPE_AT = 165
const TYPE_MINT = 1
const METADATA = 19
const GROUP = 21
/** Update authority and mint, which precede the fields of both. */
const AUTHORITIES = 64

export interface ReadMint {
  /** URL of the metadata file; null if the mint has none. */
  uri: string | null
  /** Number of members if the mint is a group, else null. */
  members: number | null
}

/** Decodes the account of a Token-2022 mint. Throws if it is truncated. */
export function readMint(data: Uint8Array): ReadMint {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length)
  const found: ReadMint = { uri: null, members: null }
  if (bytes[ACCOUNT_TYPE_AT] !== TYPE_MINT) return found
  // Each extension has its type and its length before it.
  for (let at = ACCOUNT_TYPE_AT + 1; at + 4 <= bytes.length; ) {
    const fields = at + 4 + AUTHORITIES
    const kind = bytes.readUInt16LE(at)
    if (kind === METADATA) found.uri = thirdText(bytes.subarray(fields))
    if (kind === GROUP) found.members = Number(bytes.readBigUInt64LE(fields))
    at += 4 + bytes.readUInt16LE(at + 2)
  }
  return found
}

/** Returns the URL of metadata, which follows name and symbol. Each text has its length before it. */
function thirdText(bytes: Buffer): string {
  const symbolAt = 4 + bytes.readUInt32LE(0)
  const urlAt = symbolAt + 4 + bytes.readUInt32LE(symbolAt)
  const end = urlAt + 4 + bytes.readUInt32LE(urlAt)
  if (end > bytes.length) throw new Error('the metadata of a mint is truncated')
  return bytes.toString('utf8', urlAt + 4, end)
}
