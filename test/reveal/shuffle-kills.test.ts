/** @module-tag slow */
import { createHash } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { permuteRows, shuffleSeed } from '../../src/reveal/shuffle/permutation.ts'
import { call, createTestCollection, freshDataDir, startTestBackend, until, WALLETS } from '../helpers/backend.ts'
import { report, seededFrom, seededRandom } from '../helpers/seed.ts'
import { nftsOf, REFUSED_ROW, refusingRelay, rowsOf, shuffledMachine } from '../helpers/shuffled-machine.ts'

const IS_LONG = process.env.GDN_SOAK === '1'
const [ROWS, KILLS] = IS_LONG ? [5_000, 20] : [60, 6]

test(`draws each row of ${ROWS} once, with ${KILLS} kills on two machines`, async () => {
  const random = IS_LONG ? seededRandom('draws').random : seededFrom(7)
  const data = await freshDataDir()
  const backend = await startTestBackend(data.path)
  const relay = await refusingRelay(backend)
  onTestFinished(async () => {
    await relay.close()
    await backend.close()
    await data.remove()
  })
  const collection = await createTestCollection(backend, { enable_burn: true, enable_transfer: true })
  let signal = new AbortController().signal
  const machine = async () => await shuffledMachine({ ...backend, url: relay.url }, collection, () => signal)
  const machines = [await machine(), await machine()] as const
  const rows = rowsOf(ROWS)
  const slots = new Map<string, number>()
  const someMachine = () => machines[Math.floor(random() * 2)] ?? machines[0]
  let kills = 0
  const settle = async () =>
    await until(
      () => nftsOf(backend, collection),
      (nfts) => nfts.every((nft) => nft.status === 'deployed' && nft.pending_change == null),
    )

  // Half of the kills interrupt the mint.
  while (kills < KILLS / 2) {
    signal = relay.killAfter(Math.floor(random() * (IS_LONG ? 30 : 6)))
    await someMachine().shuffle(rows, '--chunk-size', '10')
    if (relay.isKilled) kills++
    else if ((await settle()).length === ROWS - 1) break
  }
  for (const one of machines) {
    signal = relay.killAfter(Number.POSITIVE_INFINITY)
    await one.shuffle(rows, '--chunk-size', '50')
  }
  const minted = await settle()
  expect(minted).toHaveLength(ROWS - 1)
  for (const nft of minted) slots.set(nft.nft_gdn_id, Number(nft.request_metadata.provenance_row))
  expect(new Set(slots.values()).size).toBe(ROWS - 1)

  const { address: contract_address, blockchain } = collection
  const [burned, moved] = minted
  await call(backend, 'burnnft', {
    ...{ contract_address, nft_gdn_id: burned?.nft_gdn_id, holder_wallet_address: burned?.receiver_wallet_address },
  })
  await call(backend, 'transfernft', {
    ...{ contract_address, blockchain, nft_gdn_id: moved?.nft_gdn_id, token_id: moved?.token_id },
    ...{ receiver_wallet_address: WALLETS[2], sender_wallet_address: moved?.receiver_wallet_address },
  })
  await until(
    () => nftsOf(backend, collection),
    ([first, second]) => first?.burned === true && second?.receiver_wallet_address === WALLETS[2],
  )

  let shown: Record<string, unknown> = {}
  for (let isDone = false; !isDone; ) {
    signal = relay.killAfter(kills < KILLS ? Math.floor(random() * (IS_LONG ? 300 : 12)) : Number.POSITIVE_INFINITY)
    const { code, stdout, stderr } = await someMachine().reveal(rows, '--abandon-rows', '1')
    if (relay.isKilled) kills++
    else {
      expect(code, stderr).toBe(0)
      shown = JSON.parse(stdout)
      isDone = kills >= KILLS
    }
  }
  const revealed = await settle()
  expect(shown).toMatchObject({ rows: ROWS, revealed: ROWS - 2, not_minted: 1, left: 1 })
  const signatures = new Set(revealed.map(({ request_metadata }) => request_metadata.provenance_signature))
  signatures.delete(undefined)
  const [signature = ''] = signatures
  expect(signatures.size).toBe(1)
  const randomness = createHash('sha256').update(Buffer.from(signature, 'hex')).digest()
  const drawn = permuteRows(shuffleSeed(`0x${String(shown.provenance).slice(2)}`, randomness), ROWS)
  for (const nft of revealed) {
    const slot = slots.get(nft.nft_gdn_id) ?? 0
    expect(slot).not.toBe(REFUSED_ROW)
    const title = nft.burned === true ? 'Hidden' : `Row ${drawn[slot - 1]}`
    expect(nft.request_metadata.title, `slot ${slot}`).toBe(title)
  }
  for (const one of machines) {
    signal = relay.killAfter(Number.POSITIVE_INFINITY)
    const again = JSON.parse((await one.reveal(rows)).stdout)
    expect(again).toMatchObject({ seal: shown.seal, round: shown.round, round_at: shown.round_at, revealed: ROWS - 2 })
    const { code, stdout, stderr } = await one.apply(rows)
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ minted: 0, updated: 0, transferred: 0, burned: 0 })
  }
  expect(await settle()).toEqual(revealed)
  report({ rows: ROWS, kills })
})
