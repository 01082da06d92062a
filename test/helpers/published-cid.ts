import { createHash } from 'node:crypto'

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

/** RFC 4648 base32 in lower case, unpadded. */
function base32(bytes: Uint8Array): string {
  let bits = 0
  let value = 0
  let text = ''
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    for (; bits >= 5; bits -= 5) text += ALPHABET[(value >> (bits - 5)) & 31]
    value &= (1 << bits) - 1
  }
  return bits === 0 ? text : text + ALPHABET[(value << (5 - bits)) & 31]
}

function cidOf(codec: number, block: Uint8Array): string {
  const digest = createHash('sha256').update(block).digest()
  return `b${base32(Buffer.concat([Buffer.from([1, codec, 0x12, 0x20]), digest]))}`
}

/** The CID that `ipfs add --cid-version=1` gives content of at most 256 KiB, computed without our code. */
export const rawCidOf = (content: Uint8Array): string => cidOf(0x55, content)

/** The CID of a dag-pb block. */
export const dagPbCidOf = (block: Uint8Array): string => cidOf(0x70, block)
