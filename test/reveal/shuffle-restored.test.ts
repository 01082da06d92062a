/** @module-tag slow */
import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tokenUriCall } from '../../src/verify/abi.ts'
import { call, createTestCollection, freshDataDir, startTestBackend } from '../helpers/backend.ts'
import { backUp, restore } from '../helpers/backups.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { forward } from '../helpers/killing-relay.ts'
import { setUpNetwork } from '../helpers/network-backend.ts'
import { startPublicNetwork } from '../helpers/public-network.ts'
import { BEACON, nftsOf, rowsOf, shuffledMachine } from '../helpers/shuffled-machine.ts'
import { verifyReveal } from '../helpers/verify-reveal.ts'

const ROWS = rowsOf(4)
const { public_key: key, genesis_time: genesis, period } = JSON.parse(BEACON)
const CHAIN = { key, genesis, period }
const MARGIN = ['--shuffle', '--shuffle-margin', '600s', '--yes']

/** A backend on a public network, at one URL for its whole life, with a minted shuffled drop. */
async function mintedDrop() {
  const network = await startPublicNetwork()
  whenTestDone(() => network.close())
  const { dataDir, start, remove } = await setUpNetwork(network)
  whenTestDone(remove)
  let backend = await start()
  whenTestDone(() => backend.close())
  whenTestDone(network.mineEvery(30))
  const relay = await startHttpServer((request) => forward(backend.url, request))
  whenTestDone(relay.close)
  const collection = await createTestCollection(backend)
  const at = async () => {
    const machine = await shuffledMachine({ apiKey: backend.apiKey, url: relay.url }, collection)
    Object.assign(machine.options.env, { GDN_RPC_URL: network.url })
    return machine
  }
  const machine = await at()
  const minted = await machine.mint(ROWS, ...MARGIN)
  expect(minted.code, minted.stderr).toBe(0)
  const whileStopped = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await backend.close()
    const result = await work()
    backend = await start()
    return result
  }
  return {
    collection,
    machine,
    at,
    backUp: () => whileStopped(() => backUp(dataDir)),
    restore: (backup: string) => whileStopped(() => restore(dataDir, backup)),
    /** Returns the row of each token that an independent program proves. */
    proven: async () => await verifyReveal(network.url, relay.url, collection.address as `0x${string}`, CHAIN),
    tokenUris: async () =>
      await Promise.all(
        [1n, 2n, 3n, 4n].map((id) =>
          network.call<string>('eth_call', [{ to: collection.address, data: tokenUriCall(id) }, 'latest']),
        ),
      ),
    seals: async () =>
      (await call(backend, 'getprovenances', { contract_address: collection.address })).provenances.filter(
        ({ seal_of }) => seal_of != null,
      ),
  }
}

test('a backend that lost the seal in a restore finds it on the chain, and draws by its block', async () => {
  const { machine, at, backUp, restore, seals, proven } = await mintedDrop()
  const backup = await backUp()
  // This beacon has no round, so the command seals the drop and reveals nothing.
  const { secret_key: _, ...withoutRounds } = JSON.parse(BEACON)
  await writeFile(machine.path('early.json'), JSON.stringify(withoutRounds))
  const sealing = await machine.run(['reveal', '--yes'], ROWS, '--beacon', machine.path('early.json'))
  expect(sealing.error?.message).toMatch(/has no round \d+$/)
  const round = Number(/\d+$/.exec(sealing.error?.message ?? '')?.[0])
  await restore(backup)
  expect(await seals()).toEqual([])
  const revealed = await machine.reveal(ROWS)
  expect(revealed.code, revealed.stderr).toBe(0)
  expect(JSON.parse(revealed.stdout)).toMatchObject({ revealed: 4, round })
  // The backend found the seal on the chain, and has no transaction of it.
  expect(await seals()).toMatchObject([{ status: 'deployed', is_final: true, transaction_hash: null }])
  for (const one of [machine, await at()]) expect(JSON.parse((await one.plan(ROWS)).stdout)).toEqual([])
  expect((await proven()).size).toBe(4)
})

test('a backend that lost the seal and the reveal in a restore reveals no NFT again', async () => {
  const { machine, at, backUp, restore, seals, tokenUris } = await mintedDrop()
  const backup = await backUp()
  const first = await machine.reveal(ROWS)
  expect(first.code, first.stderr).toBe(0)
  const shown = await tokenUris()
  await restore(backup)
  expect(await seals()).toEqual([])
  for (const one of [machine, await at()]) {
    const again = await one.reveal(ROWS)
    expect(again.code, again.stderr).toBe(0)
    const { seal, round } = JSON.parse(first.stdout)
    expect(JSON.parse(again.stdout)).toMatchObject({ seal, round, to_reveal: 0, failed: 0, unknown: 0 })
    expect(await tokenUris()).toEqual(shown)
  }
})

test('a machine whose state was restored from before the seal draws the same rows', async () => {
  const data = await freshDataDir()
  const backend = await startTestBackend(data.path)
  whenTestDone(data.remove)
  whenTestDone(backend.close)
  const collection = await createTestCollection(backend)
  const machine = await shuffledMachine(backend, collection)
  expect(await machine.shuffle(ROWS)).toMatchObject({ code: 0, error: null })
  const { HOME: home = '' }: NodeJS.ProcessEnv = machine.options.env
  const copy = join(data.path, 'home')
  await cp(home, copy, { recursive: true })
  expect(await machine.reveal(ROWS)).toMatchObject({ code: 0, error: null })
  const shown = await nftsOf(backend, collection)
  await rm(home, { recursive: true })
  await cp(copy, home, { recursive: true })
  expect(JSON.parse((await machine.plan(ROWS)).stdout)).toEqual([])
  expect(JSON.parse((await machine.apply(ROWS)).stdout)).toMatchObject({ updated: 0, minted: 0, transferred: 0 })
  expect((await machine.shuffle(ROWS)).error?.code ?? null).toBeNull()
  expect(JSON.parse((await machine.reveal(ROWS)).stdout)).toMatchObject({ revealed: 4, to_reveal: 0 })
  expect(await nftsOf(backend, collection)).toEqual(shown)
})
