import { beforeEach, describe, expect, it } from 'vitest'
import type { EvmSignedBytes, Signer, UnsignedTransaction } from '../../../src/server/chain/evm/evm-signer.ts'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { commitSigned, signInCommit } from '../../../src/server/pipeline/evm/commit-signed.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import type { Db } from '../../../src/server/store/schema.ts'
import { readNextNonces, reserveNonces } from '../../../src/server/store/transactions.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'

const [ADDRESS, OTHER] = WALLETS
const FEES = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }

let store: Store
beforeEach(async () => {
  store = await temporaryStore()
})

/** A signer whose signatures are its nonces. */
function remote(
  onSign: (nonce: number) => Promise<void> = async () => {},
  address: Hex = ADDRESS,
): Signer & { asked: number[] } {
  const requests: number[] = []
  return {
    ...{ address, remote: true, asked: requests },
    async sign({ nonce }: UnsignedTransaction): Promise<EvmSignedBytes> {
      requests.push(nonce)
      await onSign(nonce)
      return { raw: `0x${nonce}`, hash: `0x${nonce}` }
    },
  }
}

/** What a step does in its transaction: it takes nonces, and signs. */
const signs =
  (signer: Signer, count = 1) =>
  async (db: Db) => {
    const first = await reserveNonces(db, 'polygon', signer.address, count)
    const unsigned = Array.from({ length: count }, (_, i) => {
      return { chainId: 137, nonce: first + i, to: ADDRESS, data: '0x', gas: 21_000n, fees: FEES } as const
    })
    return (await signInCommit(signer, unsigned)).map(({ raw }) => raw)
  }

function hold(): { held: Promise<void>; letGo(): void } {
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  return { held, letGo }
}

const used = async (address: string = ADDRESS) =>
  (await readNextNonces(store.db, 'polygon', [address])).get(address) ?? 0

describe('a commit that a remote signer signs for', () => {
  it('takes each nonce once, for many commits at once, and asks for each signature once', async () => {
    const signer = remote()
    const raws = await Promise.all(Array.from({ length: 20 }, () => commitSigned(store, signs(signer))))
    expect(raws.flat().toSorted()).toEqual(Array.from({ length: 20 }, (_, nonce) => `0x${nonce}`).toSorted())
    expect(await used()).toBe(20)
    expect(signer.asked.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, nonce) => nonce))
  })

  it('has several transactions, with nonces in their order', async () => {
    const signer = remote()
    expect(await commitSigned(store, signs(signer, 20))).toEqual(Array.from({ length: 20 }, (_, nonce) => `0x${nonce}`))
    expect(await used()).toBe(20)
  })

  it('is signed again if another process takes its nonce in the meantime', async () => {
    let others = 3
    const signer = remote(async () => {
      if (others-- > 0) await store.transaction((db) => reserveNonces(db, 'polygon', ADDRESS))
    })
    expect(await commitSigned(store, signs(signer))).toEqual(['0x3'])
    expect(signer.asked).toEqual([0, 1, 2, 3])
    expect(await used()).toBe(4)
  })

  it('fails if others always take its nonce, and takes none', async () => {
    const signer = remote(async () => void (await store.transaction((db) => reserveNonces(db, 'polygon', ADDRESS))))
    await expect(commitSigned(store, signs(signer))).rejects.toMatchObject({
      code: 'unreachable',
      message: `other processes used the nonce of ${ADDRESS} 40 times`,
    })
    expect(await used()).toBe(signer.asked.length)
  })

  it('takes no nonce if the signer fails, and lets the next one sign', async () => {
    let fails = true
    const signer = remote(async () => {
      if (fails) throw new Error('no key')
    })
    const failed = Array.from({ length: 3 }, () => expect(commitSigned(store, signs(signer))).rejects.toThrow('no key'))
    await Promise.all(failed)
    expect(await used()).toBe(0)
    fails = false
    expect(await commitSigned(store, signs(signer))).toEqual(['0x0'])
  })

  it('may decide to do nothing, or something else, when it runs again', async () => {
    const signer = remote()
    const other = remote(undefined, OTHER)
    let attempt = 0
    const turned = await commitSigned(store, async (db) => (attempt++ === 0 ? await signs(signer)(db) : 'nothing'))
    expect(turned).toBe('nothing')
    attempt = 0
    expect(await commitSigned(store, async (db) => await signs(attempt++ === 0 ? signer : other)(db))).toEqual(['0x0'])
    expect([await used(), await used(OTHER)]).toEqual([0, 1])
    expect(await commitSigned(store, signs(signer))).toEqual(['0x0'])
  })

  it('does not wait for another signer', async () => {
    const gate = hold()
    const slow = remote(() => gate.held)
    const waiting = commitSigned(store, signs(slow))
    expect(await commitSigned(store, signs(remote(undefined, OTHER)))).toEqual(['0x0'])
    gate.letGo()
    expect(await waiting).toEqual(['0x0'])
  })
})
