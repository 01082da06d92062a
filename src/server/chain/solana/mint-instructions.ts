import { encodeText, u32, u64 } from './encode.ts'
import { type Key, PROGRAMS, parseKey } from './key.ts'
import { type AccountMeta, type Instruction, readonlyAccount, writableAccount } from './message.ts'
import { mintKey, toMintSeed } from './mint-address.ts'
import { type MintFacts, mintSize } from './mint-size.ts'
import { deriveTokenAccount } from './token-account.ts'

/** Instruction numbers, in the encoding of their programs. */
export const TRANSFER = u32(2)
const ALLOCATE_WITH_SEED = u32(9)
const CREATE_TOKEN_ACCOUNT_IF_MISSING = Uint8Array.of(1)
const SET_AUTHORITY = 6
const MINT_TO = Uint8Array.of(7)
const INITIALIZE_MINT = 20
const INITIALIZE_NON_TRANSFERABLE = Uint8Array.of(32)
const INITIALIZE_PERMANENT_DELEGATE = Uint8Array.of(35)
const INITIALIZE_METADATA_POINTER = Uint8Array.of(39, 0)
const INITIALIZE_GROUP_POINTER = Uint8Array.of(40, 0)
const INITIALIZE_MEMBER_POINTER = Uint8Array.of(41, 0)
const INITIALIZE_METADATA = Buffer.from('d2e11ea258b84d8d', 'hex')
export const UPDATE_METADATA_AUTHORITY = Buffer.from('d7e4a6e45464567b', 'hex')
const INITIALIZE_GROUP = Buffer.from('79716c2736330004', 'hex')
const INITIALIZE_MEMBER = Buffer.from('9820deb0dfed7486', 'hex')

const NO_DECIMALS = 0
const NONE = 0
export const NO_AUTHORITY = new Uint8Array(32)
const MINT_AUTHORITY = 0
/** Maximum number of members that the counter can represent. */
const NO_LIMIT = 2n ** 64n - 1n

/** A token to mint: the group of a collection, or a member of a group. */
export interface MintSpec extends Omit<MintFacts, 'kind'> {
  /** The ID of the collection or NFT, from which the mint's address is derived. */
  id: string
  /** The mint of the collection that an NFT belongs to; null for the collection itself. */
  group: string | null
  receiver: string
  /** Whether the service can update the token's metadata. */
  dynamic?: boolean
  /** Maximum number of members of a group. Absent if the number is unlimited. */
  maxSize?: bigint | undefined
}

/**
 * Returns a mint, and all instructions that create its token in one atomic transaction. Afterwards, there is one token
 * without decimals, and no account can mint another. If the token is dynamic, the service can change its metadata;
 * otherwise, no account can.
 *
 * The account is funded by a transfer and then allocated, not created with a single instruction. That instruction would
 * fail for an address with a balance, and anyone can send coins to the address.
 *
 * The instructions are encoded without a library, because @solana/kit and its program clients take ten times as long.
 * `mint.test.ts` compares every byte with theirs.
 */
export async function mintInstructions(
  signer: Key,
  spec: MintSpec,
  minimumBalance: (bytes: number) => Promise<bigint>,
): Promise<{ mint: Key; instructions: Instruction[] }> {
  const { id, locked, dynamic = false, burnable = false } = spec
  const { system, token2022, associatedToken } = PROGRAMS
  const mint = mintKey(signer, id)
  const owner = parseKey(spec.receiver)
  const group = spec.group === null ? null : parseKey(spec.group)
  const token = deriveTokenAccount(owner, mint)
  const size = mintSize({ ...spec, kind: group === null ? 'group' : 'member' })
  const [amount, seed] = [await minimumBalance(size.final), Buffer.from(toMintSeed(id))]
  /** Returns an instruction of Token-2022 that changes the mint. */
  const mintInstruction = (otherAccounts: AccountMeta[], ...data: Uint8Array[]): Instruction => ({
    program: token2022,
    accounts: [writableAccount(mint), ...otherAccounts],
    data: Buffer.concat(data),
  })
  const [readMint, authority] = [readonlyAccount(mint), readonlyAccount(signer)]
  const instructions: Instruction[] = [
    {
      program: system,
      accounts: [writableAccount(signer), writableAccount(mint)],
      data: Buffer.concat([TRANSFER, u64(amount)]),
    },
    {
      program: system,
      accounts: [writableAccount(mint), authority],
      data: Buffer.concat([
        ...[ALLOCATE_WITH_SEED, signer.bytes, u64(seed.length), seed, u64(size.allocated), token2022.bytes],
      ]),
    },
    mintInstruction([], INITIALIZE_METADATA_POINTER, NO_AUTHORITY, mint.bytes),
    mintInstruction(
      [],
      group === null ? INITIALIZE_GROUP_POINTER : INITIALIZE_MEMBER_POINTER,
      NO_AUTHORITY,
      mint.bytes,
    ),
    ...(locked ? [mintInstruction([], INITIALIZE_NON_TRANSFERABLE)] : []),
    ...(burnable ? [mintInstruction([], INITIALIZE_PERMANENT_DELEGATE, signer.bytes)] : []),
    mintInstruction([], Uint8Array.of(INITIALIZE_MINT, NO_DECIMALS), signer.bytes, Uint8Array.of(NONE)),
    mintInstruction(
      [authority, readMint, authority],
      INITIALIZE_METADATA,
      encodeText(spec.name),
      encodeText(spec.symbol),
      encodeText(spec.uri),
    ),
    ...(dynamic ? [] : [mintInstruction([authority], UPDATE_METADATA_AUTHORITY, NO_AUTHORITY)]),
    group === null
      ? mintInstruction([readMint, authority], INITIALIZE_GROUP, signer.bytes, u64(spec.maxSize ?? NO_LIMIT))
      : mintInstruction([readMint, authority, writableAccount(group), authority], INITIALIZE_MEMBER),
    {
      program: associatedToken,
      accounts: [
        writableAccount(signer),
        writableAccount(token),
        readonlyAccount(owner),
        readMint,
        readonlyAccount(system),
        readonlyAccount(token2022),
      ],
      data: CREATE_TOKEN_ACCOUNT_IF_MISSING,
    },
    mintInstruction([writableAccount(token), authority], MINT_TO, u64(1)),
    mintInstruction([authority], Uint8Array.of(SET_AUTHORITY, MINT_AUTHORITY, NONE)),
  ]
  return { mint, instructions }
}
