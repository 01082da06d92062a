import { encodeText, u64 } from './encode.ts'
import { type Key, PROGRAMS, parseKey } from './key.ts'
import { type AccountMeta, type Instruction, readonlyAccount, writableAccount } from './message.ts'
import { NO_AUTHORITY, TRANSFER, UPDATE_METADATA_AUTHORITY } from './mint-instructions.ts'
import type { SolanaAccount, SolanaNetwork } from './network.ts'
import { decodeMintAccount, REVISION } from './read-mint.ts'
import { deriveTokenAccount } from './token-account.ts'

const BURN = Uint8Array.of(8)
const UPDATE_FIELD = Buffer.from('dde9312db5cadcc8', 'hex')
const NAME_FIELD = Uint8Array.of(0)
const URI_FIELD = Uint8Array.of(2)
/** Enum value that marks an additional field. The field's name follows. */
const ADDITIONAL_FIELD = Uint8Array.of(3)
/** Size in bytes of the two lengths in an additional field: one for its name, one for its value. */
const FIELD_BYTES = 8

/** New metadata of a token. */
export interface TokenMetadataChange {
  name: string
  uri: string
  revision: number
}

/**
 * Returns the instructions that replace the metadata of a token. The token program enlarges the account, so a transfer
 * first pays the additional rent.
 *
 * @param account the mint before the change
 */
export async function updateInstructions(
  signer: Key,
  mint: Key,
  account: Pick<SolanaAccount, 'lamports' | 'data'>,
  change: TokenMetadataChange,
  minimumBalance: SolanaNetwork['minimumBalance'],
): Promise<Instruction[]> {
  const { name, uri, revision } = change
  const before = decodeMintAccount(account.data)
  const bytesOf = (value: string | number | null) => Buffer.byteLength(String(value ?? ''))
  const growth =
    bytesOf(name) +
    bytesOf(uri) +
    bytesOf(revision) -
    (bytesOf(before.name) + bytesOf(before.uri) + bytesOf(before.revision)) +
    (before.revision === null ? FIELD_BYTES + bytesOf(REVISION) : 0)
  const missingLamports = (await minimumBalance(account.data.length + growth)) - account.lamports
  const field = (...data: Uint8Array[]) =>
    tokenInstruction([writableAccount(mint), readonlyAccount(signer)], UPDATE_FIELD, ...data)
  return [
    ...(missingLamports > 0n
      ? [
          {
            program: PROGRAMS.system,
            accounts: [writableAccount(signer), writableAccount(mint)],
            data: Buffer.concat([TRANSFER, u64(missingLamports)]),
          },
        ]
      : []),
    field(NAME_FIELD, encodeText(name)),
    field(URI_FIELD, encodeText(uri)),
    field(ADDITIONAL_FIELD, encodeText(REVISION), encodeText(String(revision))),
  ]
}

/** Returns the instruction that makes a token's metadata immutable. */
export const freezeInstructions = (signer: Key, mint: Key): Instruction[] => [
  tokenInstruction([writableAccount(mint), readonlyAccount(signer)], UPDATE_METADATA_AUTHORITY, NO_AUTHORITY),
]

/**
 * Returns the instruction that burns a token in its holder's wallet. The signer must be the mint's permanent delegate.
 */
export const burnInstructions = (signer: Key, mint: Key, holder: string): Instruction[] => [
  tokenInstruction(
    [writableAccount(deriveTokenAccount(parseKey(holder), mint)), writableAccount(mint), readonlyAccount(signer)],
    BURN,
    u64(1),
  ),
]

const tokenInstruction = (accounts: AccountMeta[], ...data: Uint8Array[]): Instruction => ({
  program: PROGRAMS.token2022,
  accounts,
  data: Buffer.concat(data),
})
