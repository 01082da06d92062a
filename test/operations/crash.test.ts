import { afterEach, describe, expect, test } from 'vitest'
import type { CreatingEndpoint } from '../../src/api/endpoints.ts'
import { GdnError } from '../../src/core/errors.ts'
import { CREATING } from '../helpers/endpoints.ts'
import { Killer, Machine, Service, type Tried } from './world.ts'

let machine: Machine | null = null
afterEach(() => machine?.stop())

const MORE_THAN_ANY_COMMAND_HAS = 400
/** Of both kills, where two are combined; all of them in the long form. */
const STRIDE = process.env.GDN_SOAK === '1' ? 1 : 11

const idsOf = ({ printed }: Tried) =>
  printed === null ? [] : [...printed.nfts.map((nft) => nft.nft_gdn_id), printed.transaction_gdn_id].filter(Boolean)

/** Gives the command, kills it at each of the given steps, and gives it once more to its end. */
async function killAt(endpoint: CreatingEndpoint, idempotency: boolean, steps: readonly number[]) {
  await machine?.stop()
  machine = await Machine.start()
  const service = new Service(idempotency)
  const tries: Tried[] = []
  let killed = 0
  for (const at of steps) {
    const killer = new Killer(at)
    tries.push(await machine.command(service, endpoint, { killer }))
    if (killer.killed) killed++
  }
  const last = await machine.command(service, endpoint)
  tries.push(last)
  return { service, tries, last, killed, isOpen: (await machine.live()).length > 0 }
}

/** What must hold wherever the command was killed. */
function check({ service, tries, last, isOpen }: Awaited<ReturnType<typeof killAt>>, idempotency: boolean) {
  // Each thing that was made was asked for: whoever gave the command saw the one before.
  const seen = new Set(tries.flatMap(idsOf))
  const shown = tries.filter(({ printed }) => printed !== null).length
  if (last.error === null) {
    expect(isOpen).toBe(false)
    expect(service.made).toBeLessThanOrEqual(Math.max(1, shown))
    if (last.printed?.by === 'answer') expect(seen.size).toBe(service.made)
    return
  }
  // The hosted service gives no means to tell: never sent a second time, and told.
  expect(idempotency).toBe(false)
  expect(last.error).toMatchObject({ code: 'unknown_outcome' })
  expect(isOpen).toBe(true)
  expect(service.made).toBeLessThanOrEqual(1 + shown)
}

describe.each(CREATING)('%s, killed at every step', (endpoint) => {
  test.each([
    ['that honours Idempotency-Key: it is done exactly once', true],
    ['that does not: it is done, or the outcome is unknown; never twice', false],
  ])('on a server %s', async (_what, idempotency) => {
    let at = 1
    for (; at < MORE_THAN_ANY_COMMAND_HAS; at++) {
      const end = await killAt(endpoint, idempotency, [at])
      check(end, idempotency)
      if (idempotency) expect(end.service.made).toBeGreaterThanOrEqual(1)
      if (end.killed === 0) break
    }
    // Claim, intend, send, arrive, accept, print, end: fewer would mean that the killer met no statement.
    expect(at).toBeGreaterThan(60)
  })
})

describe('a mint, killed at every step of two tries', () => {
  test.each([true, false])('never minted twice unseen (idempotency: %s)', async (idempotency) => {
    let killings = 0
    for (let first = 2; first < MORE_THAN_ANY_COMMAND_HAS; first += STRIDE) {
      let second = 1
      for (; second < MORE_THAN_ANY_COMMAND_HAS; second += STRIDE) {
        const end = await killAt('createnft', idempotency, [first, second])
        check(end, idempotency)
        killings += end.killed
        if (end.killed < 2) break
      }
      if (second === 1) break
    }
    expect(killings).toBeGreaterThan(60)
  })

  test('what reached the server is found in its collection, whatever the listing hides at first', async () => {
    machine = await Machine.start()
    const service = new Service(false)
    service.hidden.add('nft-1')
    service.faults = ['cut_after']
    expect((await machine.command(service, 'createnft')).error).toMatchObject({ code: 'unknown_outcome', exitCode: 9 })
    const second = await machine.command(service, 'createnft')
    expect(second.error).toBeInstanceOf(GdnError)
    expect(second.error).toMatchObject({ code: 'unknown_outcome' })
    service.hidden.clear()
    const third = await machine.command(service, 'createnft')
    expect(third).toMatchObject({ error: null, printed: { by: 'found', nfts: [{ nft_gdn_id: 'nft-1' }] } })
    expect(service.made).toBe(1)
  })
})
