import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { thisProcess } from '../../src/core/lock-holder.ts'
import { claimOperation } from '../../src/operations/hold.ts'
import { knownOperations } from '../../src/operations/known-operations.ts'
import { identityOf } from '../../src/operations/operate.ts'
import type { State } from '../../src/state/open-state.ts'
import type { OperationName } from '../../src/state/operations.ts'
import { commandRuns, heldBy, takeRun } from '../../src/state/runs.ts'
import { wrapDatabase } from '../helpers/wrap-database.ts'
import { API_KEY, CONTRACT, DAWN, Machine, REQUESTS, Service } from './world.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(() => machine.stop())

const UNFINISHED = { ended: false, state: null, problem: null }
const COLLECTION = { origin: 'https://api.test', blockchain: 'polygon', contract: CONTRACT.toLowerCase() } as const
const known = () => knownOperations(machine.stateDir, COLLECTION)
const titled = (title: string) => ({
  content: title,
  request: async () => ({ ...REQUESTS.createnft, metadata: [{ ...DAWN, title }] }),
})
const DAY = 24 * 3_600_000

describe('an operation is known by', () => {
  const content = { contract_address: CONTRACT, metadata: [{ title: 'Dawn' }] }

  test('its content, in the first version of the identity', () => {
    // Never changes: operations of older versions are found by it.
    expect(identityOf({ a: [1, 'two', null] })).toBe(
      'v1:cbf237c82310a0a18c630e03f105bb63cdf29c7dee9f87a382ce1632c639f78c',
    )
    expect(identityOf({ ...content, metadata: [{ title: 'Dusk' }] })).not.toBe(identityOf(content))
  })

  test('not by the order of keys, nor by the case of an address', () => {
    const { contract_address, ...rest } = content
    expect(identityOf({ ...rest, contract_address: contract_address.toLowerCase() })).toBe(identityOf(content))
  })

  test('what looks like an address in metadata is text, whose case counts', () => {
    const metadata = (title: string) => identityOf({ ...content, metadata: [{ title }] })
    expect(metadata(CONTRACT)).not.toBe(metadata(CONTRACT.toLowerCase()))
  })
})

describe('what is known of single commands', () => {
  test('has the NFTs of every one in the collection, ended or not', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', titled('a'))
    await machine.command(service, 'createnft', { ...titled('b'), ending: UNFINISHED })
    expect((await known()).ids.sort()).toEqual(['nft-1', 'nft-2'])
    const elsewhere = await knownOperations(machine.stateDir, { ...COLLECTION, origin: 'https://other.test' })
    expect(elsewhere).toEqual({ ids: [], open: [] })
  })

  test('has the metadata of those whose outcome is unknown, set aside or not', async () => {
    const service = new Service(false)
    service.faults = ['cut_before', 'cut_before']
    await machine.command(service, 'createnft', titled('a'))
    await machine.command(service, 'createnft', { ...titled('a'), again: true })
    await machine.command(service, 'createnft', titled('c'))
    expect((await known()).open).toMatchObject([{ title: 'a' }, { title: 'a' }])
  })

  test('is nothing where nothing was sent', async () => {
    expect(await known()).toEqual({ ids: [], open: [] })
  })

  test('forgets a finished run after 30 days, but never its NFTs, nor one of unknown outcome', async () => {
    const service = new Service(false)
    service.faults = ['cut_before']
    await machine.command(service, 'createnft', titled('unknown'))
    await machine.command(service, 'createnft', { ...titled('unknown'), again: true })
    await machine.command(service, 'createnft', titled('old'))
    machine.now += 31 * DAY
    await machine.command(service, 'createnft', titled('new'))
    const runs = await machine.state((state) => state.read(commandRuns))
    expect(runs.map(({ state }) => state)).toEqual(['accepted', 'unknown'])
    const [{ n } = { n: 0 }] = await machine.state((state) =>
      state.read((sql) => sql.all<{ n: number }>("SELECT count(*) AS n FROM known_nfts WHERE content = ''")),
    )
    expect(n).toBe(2)
  })
})

test('an operation that another process took over while this one slept is not written any more', async () => {
  await machine.state(async (state: State) => {
    const name: OperationName = { ...COLLECTION, kind: 'createnft', identity: 'same' }
    const { run } = await claimOperation(state, name, { note: 'nft mint', signal: new AbortController().signal })
    const other = await thisProcess('took over')
    await state.write((sql) => takeRun(sql, run.runId, heldBy(sql, run.runId), other, 0))
    await expect(run.write((sql) => sql.run('DELETE FROM operations'))).rejects.toMatchObject({ code: 'run_busy' })
    await expect(run.release()).rejects.toMatchObject({ code: 'run_busy' })
    expect((await state.read((sql) => heldBy(sql, run.runId))).holder).toMatchObject({ note: 'took over' })
  })
})

test('bytes that are not as they were written stop the command, and nothing is sent', async () => {
  const service = new Service(true)
  await machine.command(service, 'createnft', { ending: UNFINISHED })
  await machine.state((state) =>
    state.write((sql) => {
      sql.script('DROP TRIGGER same_bytes')
      sql.run("UPDATE requests SET body = replace(body, 'Dawn', 'Down')")
    }),
  )
  const { error } = await machine.command(service, 'createnft')
  expect(error).toMatchObject({ code: 'data_dir', message: expect.stringContaining('damaged') })
  expect(service.arrived).toHaveLength(1)
})

test('the state has no key of the API', async () => {
  await machine.command(new Service(true), 'createnft')
  expect(await readFile(join(machine.stateDir, 'state.db'), 'latin1')).not.toContain(API_KEY)
})

test('a disk that takes no more after the answer: what was done is told, and the end of the command is not changed', async () => {
  const service = new Service(true)
  let full = false
  const wrap = (raw: Parameters<typeof wrapDatabase>[0]) =>
    wrapDatabase(raw, (sql) => {
      if (full && sql === 'COMMIT') throw Object.assign(new Error('database or disk is full'), { rawCode: 13 })
    })
  const original = service.request.bind(service)
  service.request = async (...parameters) => {
    const answer = await original(...parameters)
    full = service.made > 0
    return answer
  }
  const tried = await machine.command(service, 'createnft', { wrap })
  expect(tried.error).toBeNull()
  expect(tried.events.map(({ type }) => type)).toEqual(['not_kept', 'not_kept'])
  expect(tried.printed).toMatchObject({ nfts: [{ nft_gdn_id: 'nft-1' }] })
})
