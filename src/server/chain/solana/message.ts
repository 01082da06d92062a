import type { Key } from './key.ts'

/** An instruction of a transaction that only its payer signs. */
export interface Instruction {
  program: Key
  accounts: readonly AccountMeta[]
  data: Uint8Array
}

export interface AccountMeta {
  key: Key
  isWritable: boolean
}

export const writableAccount = (key: Key): AccountMeta => ({ key, isWritable: true })
export const readonlyAccount = (key: Key): AccountMeta => ({ key, isWritable: false })

/** Compares addresses in the order of @solana/kit, which sorts them in messages. */
const { compare } = new Intl.Collator('en')

/**
 * Encodes a legacy message with the same bytes as @solana/kit. Each account has one entry: first the payer, which is
 * the only signer, then the writable accounts, then the others.
 */
export function encodeMessage(payer: Key, blockhash: Uint8Array, instructions: readonly Instruction[]): Buffer {
  const uses = new Map<string, AccountMeta>()
  for (const { program, accounts } of instructions) {
    for (const use of [readonlyAccount(program), ...accounts]) {
      const { address } = use.key
      if (address !== payer.address && (use.isWritable || !uses.has(address))) uses.set(address, use)
    }
  }
  const otherUses = [...uses.values()].sort(
    (a, b) => Number(b.isWritable) - Number(a.isWritable) || compare(a.key.address, b.key.address),
  )
  const keys = [payer, ...otherUses.map(({ key }) => key)]
  const indexes = new Map(keys.map(({ address }, index) => [address, index]))
  const indexOf = ({ address }: Key) => indexes.get(address) ?? 0
  const readonlyCount = otherUses.filter(({ isWritable }) => !isWritable).length
  return Buffer.concat([
    Uint8Array.of(1, 0, readonlyCount, ...compactLength(keys.length)),
    ...keys.map(({ bytes }) => bytes),
    blockhash,
    Uint8Array.from(compactLength(instructions.length)),
    ...instructions.flatMap(({ program, accounts, data }) => [
      Uint8Array.of(indexOf(program), ...compactLength(accounts.length)),
      Uint8Array.from(accounts, ({ key }) => indexOf(key)),
      Uint8Array.from(compactLength(data.length)),
      data,
    ]),
  ])
}

/** Encodes a length in Solana's format: 7 bits per byte, lowest bits first, and a flag if more bytes follow. */
function compactLength(length: number): number[] {
  return length < 0x80 ? [length] : [(length & 0x7f) | 0x80, ...compactLength(length >> 7)]
}
