import { address, createNoopSigner, type Instruction as SdkInstruction } from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'
import {
  findAssociatedTokenPda,
  getBurnInstruction,
  getUpdateTokenMetadataFieldInstruction,
  getUpdateTokenMetadataUpdateAuthorityInstruction,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../../../src/core/ids.ts'
import {
  type EmbeddedSolana,
  startEmbeddedSolana,
} from '../../../../src/server/chain/solana/embedded/embedded-solana.ts'
import { parseKey } from '../../../../src/server/chain/solana/key.ts'
import type { Instruction } from '../../../../src/server/chain/solana/message.ts'
import { mintAddress } from '../../../../src/server/chain/solana/mint-address.ts'
import { decodeMintAccount } from '../../../../src/server/chain/solana/read-mint.ts'
import { encodeTransactionMessage, signMessage, signMint } from '../../../../src/server/chain/solana/sign-mint.ts'
import { signerFromSeed } from '../../../../src/server/chain/solana/solana-signer.ts'
import {
  burnInstructions,
  freezeInstructions,
  updateInstructions,
} from '../../../../src/server/chain/solana/update-instructions.ts'
import { memorySlotJournal, solanaWallet } from '../../../helpers/solana.ts'

const signer = signerFromSeed(Buffer.alloc(32, 7))
const by = parseKey(signer.address)
const sdkSigner = createNoopSigner(address(signer.address))
const mint = parseKey(solanaWallet('mint'))
const metadata = address(mint.address)

/** An instruction without what only names its accounts. */
const plain = ({ programAddress, accounts, data }: SdkInstruction) => ({
  program: programAddress,
  accounts: accounts?.map(({ address: at, role }) => [at, role === 1 || role === 3]),
  data: Buffer.from(data ?? []).toString('hex'),
})
const ours = ({ program, accounts, data }: Instruction) => ({
  program: program.address,
  accounts: accounts.map(({ key, isWritable }) => [key.address, isWritable]),
  data: Buffer.from(data).toString('hex'),
})

describe('the instructions of a change', () => {
  it('are those that the program clients encode: an update with the rent that is missing', async () => {
    const account = { lamports: 1_000n, data: new Uint8Array(300) }
    const change = { name: 'Grüße', uri: 'ipfs://bafy/1.json', revision: 12 }
    const sizes: number[] = []
    const found = await updateInstructions(by, mint, account, change, async (bytes) => {
      sizes.push(bytes)
      return 5_000n
    })
    const field = (name: Parameters<typeof getUpdateTokenMetadataFieldInstruction>[0]['field'], value: string) =>
      getUpdateTokenMetadataFieldInstruction({ metadata, updateAuthority: sdkSigner, field: name, value })
    expect(found.map(ours)).toEqual(
      [
        getTransferSolInstruction({ source: sdkSigner, destination: metadata, amount: 4_000n }),
        field({ __kind: 'Name' }, change.name),
        field({ __kind: 'Uri' }, change.uri),
        field({ __kind: 'Key', fields: ['revision'] }, '12'),
      ].map(plain),
    )
    expect(sizes).toEqual([300 + 7 + 18 + (4 + 8 + 4 + 2)])
  })

  it('are those that the program clients encode: a freeze and a burn', async () => {
    const freeze = getUpdateTokenMetadataUpdateAuthorityInstruction({
      ...{ metadata, updateAuthority: sdkSigner, newUpdateAuthority: null },
    })
    expect(freezeInstructions(by, mint).map(ours)).toEqual([plain(freeze)])
    const owner = solanaWallet('owner')
    const seeds = { mint: metadata, owner, tokenProgram: TOKEN_2022_PROGRAM_ADDRESS }
    const [account] = await findAssociatedTokenPda(seeds)
    const burn = getBurnInstruction({ account, mint: metadata, authority: sdkSigner, amount: 1n })
    expect(burnInstructions(by, mint, owner).map(ours)).toEqual([plain(burn)])
  })
})

describe('an updated token', () => {
  let chain: EmbeddedSolana
  beforeEach(async () => {
    chain = await startEmbeddedSolana({ blockchain: 'solana', journal: memorySlotJournal(), payer: signer.address })
  })
  afterEach(() => chain.close())

  it('has exactly the rent of its size, or what it had if it became smaller', async () => {
    const [group, id] = [newId(), newId()]
    const order = { symbol: 'T', uri: 'ipfs://bafy/0.json', receiver: solanaWallet('a'), locked: false, dynamic: true }
    const of = { group: null as string | null, id: group, name: 'Group' }
    for (const spec of [of, { ...of, group: mintAddress(signer.address, group), id, name: 'a' }]) {
      const { raw } = await signMint(signer, chain, { ...order, ...spec }, await chain.latestBlockhash())
      await chain.send([raw])
    }
    const token = parseKey(mintAddress(signer.address, id))
    const account = async () => (await chain.account(token.address)) ?? { lamports: 0n, data: new Uint8Array() }
    let paid = (await account()).lamports
    for (const [index, name] of ['b'.repeat(200), 'c', 'ü'.repeat(150)].entries()) {
      const change = { name, uri: `ipfs://${'x'.repeat(index * 20)}/0.json`, revision: index + 9 }
      const instructions = await updateInstructions(by, token, await account(), change, (bytes) =>
        chain.minimumBalance(bytes),
      )
      const lifetime = await chain.latestBlockhash()
      const { raw, signature } = signMessage(signer, encodeTransactionMessage(by, lifetime, 1n, instructions), lifetime)
      await chain.send([raw])
      expect(await chain.statuses([signature])).toMatchObject([{ error: null }])
      const after = await account()
      expect(decodeMintAccount(after.data)).toMatchObject({ ...change, supply: 1n, updateAuthority: signer.address })
      const rent = await chain.minimumBalance(after.data.length)
      expect(Number(after.lamports)).toBe(Math.max(Number(rent), Number(paid)))
      paid = after.lamports
    }
  })
})
