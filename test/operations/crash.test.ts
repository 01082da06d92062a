import { afterEach, describe, expect, test } from 'vitest'
import type { CreatingEndpoint } from '../../src/api/endpoints.ts'
import { GdnError } from '../../src/core/errors.ts'
import { CREATING } from '../helpers/endpoints.ts'
import { Killer, Machine, Service, type Tried } from './world.ts'

let machine: Machine | null = null
afterEach(() => machine?.stop())

const MORE_THAN_ANY_COMMAND_HAS = 400
/** Tests only every nth step where two kills are combined. The soak tests all of them. */
const STRIDE = process.env.GDN_SOAK === '1' ? 1 : 11

const idsOf = ({ printed }: Tried) =>
  printed === null ? [] : [...printed.nfts.map((nft) => nft.nft_gdn_id), printed.transaction_gdn_id].filter(Boolean)

/** Runs the command once for each step and kills it there, then runs it to its end. */
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

/** Checks what must hold wherever the command was killed. */
function check({ service, tries, last, isOpen }: Awaited<ReturnType<typeof killAt>>, idempotency: boolean) {
  // Each creation was requested: the user saw the result of the one before.
  const seen = new Set(tries.flatMap(idsOf))
  const shown = tries.filter(({ printed }) => printed !== null).length
  if (last.error === null) {
    expect(isOpen).toBe(false)
    expect(service.made).toBeLessThanOrEqual(Math.max(1, shown))
    if (last.printed?.by === 'answer') expect(seen.size).toBe(service.made)
    return
  }
  // The hosted service cannot tell the outcome: the command is never resent, and reports that.
  expect(idempotency).toBe(false)
  expect(last.error).toMatchObject({ code: 'unknown_outcome' })
  expect(isOpen).toBe(true)
  expect(service.made).toBeLessThanOrEqual(1 + shown)
}

describe.each(CREATING)('%s, killed at any statement or request', (endpoint) => {
  test.each([
    ['that honors Idempotency-Key, is done exactly once', true],
    ['that does not, is done at most once, or its outcome is unknown', false],
  ])('on a server %s', async (_what, idempotency) => {
    let at = 1
    for (; at < MORE_THAN_ANY_COMMAND_HAS; at++) {
      const end = await killAt(endpoint, idempotency, [at])
      check(end, idempotency)
      if (idempotency) expect(end.service.made).toBeGreaterThanOrEqual(1)
      if (end.killed === 0) break
    }
    // Claim, intend, send, arrive, accept, print and end. Fewer steps would mean that the killer missed statements.
    expect(at).toBeGreaterThan(60)
  })
})

describe(`a mint that is killed at two statements or requests (one in ${STRIDE} of each attempt)`, () => {
  test.each([true, false])('is never repeated undetected (idempotency: %s)', async (idempotency) => {
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

  test('is found in its collection if it reached the server, even if the listing hides it at first', async () => {
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
