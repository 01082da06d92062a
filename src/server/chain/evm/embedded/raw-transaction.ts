import type { Hex } from '../network.ts'

/** Index of the gas limit in the list of fields, by type byte (EIP-2930, 1559, 4844, 7702). */
const GAS_FIELD: Record<number, number> = { 1: 3, 2: 4, 3: 4, 4: 4 }
const LEGACY_GAS_FIELD = 2
const LEGACY_V_FIELD = 6

/**
 * Returns the gas limit of a signed transaction. Returns 0 if the transaction can't be decoded, because the node then
 * reports the problem. Decodes only the necessary fields, because a full parse of every transaction would cost more
 * than submitting it.
 */
export function parseGasLimit(raw: Hex): bigint {
  const head = Buffer.from(raw.slice(2, 2 + 2 * 256), 'hex')
  const type = head[0] ?? 0
  const legacy = type >= 0xc0
  let fieldIndex = legacy ? LEGACY_GAS_FIELD : GAS_FIELD[type]
  if (fieldIndex === undefined) return 0n
  let at = listStart(head, legacy ? 0 : 1)
  // A blob transaction in network form has the list of fields inside another list.
  if (type === 3 && (head[at] ?? 0) >= 0xc0) at = listStart(head, at)
  for (; fieldIndex > 0; fieldIndex--) at += fieldLength(head, at)
  return readInteger(head, at)
}

/**
 * Returns the chain ID for which a legacy transaction is signed (EIP-155). Returns null if the transaction is valid on
 * any chain or has another type. anvil checks other types itself, but accepts legacy transactions for any chain.
 */
export function legacyChainId(raw: Hex): number | null {
  if (!/^0x[c-f]/i.test(raw)) return null
  const bytes = Buffer.from(raw.slice(2), 'hex')
  let at = listStart(bytes, 0)
  for (let skipped = 0; skipped < LEGACY_V_FIELD; skipped++) at += fieldLength(bytes, at)
  const v = readInteger(bytes, at)
  return v < 35n ? null : Number((v - 35n) / 2n)
}

function listStart(bytes: Buffer, at: number): number {
  const prefix = bytes[at] ?? 0
  return at + 1 + (prefix > 0xf7 ? prefix - 0xf7 : 0)
}

function fieldLength(bytes: Buffer, at: number): number {
  const prefix = bytes[at] ?? 0
  if (prefix < 0x80) return 1
  if (prefix <= 0xb7) return 1 + prefix - 0x80
  const size = prefix - 0xb7
  // A length beyond the input is malformed, and the resulting offset is past the end.
  return size > 4 ? bytes.length : 1 + size + Number(`0x0${bytes.toString('hex', at + 1, at + 1 + size)}`)
}

function readInteger(bytes: Buffer, at: number): bigint {
  const prefix = bytes[at] ?? 0
  if (prefix < 0x80) return BigInt(prefix)
  const length = prefix - 0x80
  // Gas limits have 64 bits. Anything longer is malformed.
  if (length === 0 || length > 8) return 0n
  return BigInt(`0x0${bytes.toString('hex', at + 1, at + 1 + length)}`)
}
