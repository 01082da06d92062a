import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { thisProcess } from '../../src/core/lock-holder.ts'
import { orderedNfts } from '../../src/orders/known-orders.ts'
import { decodeOrder, encodeOrder, type Order, orderId } from '../../src/orders/order.ts'
import { OrderFiles } from '../../src/orders/order-files.ts'
import { createSmallDisk } from '../helpers/small-disk.ts'
import { API_KEY, CONTRACT, Machine, REQUESTS, Service } from './world.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(() => machine.stop())

const ORDER: Order = {
  id: 'abc',
  endpoint: 'createnft',
  origin: 'https://api.test',
  blockchain: 'polygon',
  contract: CONTRACT,
  key: 'key',
  body: JSON.stringify(REQUESTS.createnft),
  state: 'unknown',
  sent_at: 1,
  reason: 'socket hang up',
  before: 'AAAA',
  accepted: null,
}
const accepted = (...ids: string[]): Order['accepted'] => ({
  nfts: ids.map((nft_gdn_id) => ({ nft_gdn_id, accepted_date: null })),
  transaction_gdn_id: null,
  accepted_date: null,
  by: 'answer',
  at: 2,
})

describe('an order is known by', () => {
  const content = { contract_address: CONTRACT, metadata: [{ title: 'Dawn' }] }
  const id = (more: object) => orderId({ origin: 'https://api.test', endpoint: 'createnft', content, ...more })

  test('its server, endpoint and content', () => {
    const ids = [
      id({}),
      id({ origin: 'https://other.test' }),
      id({ endpoint: 'createnfttrans' }),
      id({ content: { ...content, metadata: [{ title: 'Dusk' }] } }),
    ]
    expect(new Set(ids).size).toBe(4)
  })

  test('not by the order of keys, nor by the case of an address', () => {
    const { contract_address, ...rest } = content
    expect(id({ content: { ...rest, contract_address: contract_address.toLowerCase() } })).toBe(id({}))
  })

  test('what looks like an address in metadata is text, whose case counts', () => {
    const metadata = (title: string) => id({ content: { ...content, metadata: [{ title }] } })
    expect(metadata(CONTRACT)).not.toBe(metadata(CONTRACT.toLowerCase()))
  })
})

describe('the file of an order', () => {
  test('is read as it was written', () => {
    expect(decodeOrder(encodeOrder(ORDER))).toEqual({ kind: 'order', order: ORDER })
  })

  test('cut anywhere is damaged, never another order', () => {
    const text = encodeOrder(ORDER)
    for (let length = 0; length < text.length - 1; length++) {
      expect(decodeOrder(text.slice(0, length)), `${length}`).toEqual({ kind: 'damaged' })
    }
  })

  test('with a flipped bit is damaged, never another order', () => {
    const bytes = Buffer.from(encodeOrder(ORDER))
    fc.assert(
      fc.property(fc.nat(bytes.length - 2), fc.nat(7), (at, bit) => {
        const flipped = Buffer.from(bytes)
        flipped[at] = (flipped[at] ?? 0) ^ (1 << bit)
        const decoded = decodeOrder(flipped.toString('utf8'))
        // In the version's own digit it may say that a newer gdn wrote it: refused all the same.
        if (decoded.kind === 'order') expect(decoded.order).toEqual(ORDER)
        else expect(['damaged', 'newer']).toContain(decoded.kind)
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    ['damaged', '{"v":1,"crc":"00000000","order":{}}', /is damaged.*|not as it was written/, /move the file away/],
    ['empty', '', /is damaged/, /move the file away/],
    ['of a newer gdn', '{"v":2,"anything":true}', /newer gdn \(format 2\)/, /update gdn/],
  ])('that is %s stops the command: nothing is sent, and the way out is told', async (_what, text, message, hint) => {
    const service = new Service(true)
    const pending = { ended: false, problem: null }
    await machine.command(service, 'createnft', { ending: pending })
    const [name = ''] = await machine.files()
    await writeFile(join(machine.stateDir, 'orders', name), text)
    for (const again of [false, true]) {
      const { error } = await machine.command(service, 'createnft', { again })
      expect(error).toMatchObject({ code: 'data_dir', exitCode: 2, hint: expect.stringMatching(hint) })
      expect(error?.message).toMatch(message)
      expect(error?.message).toContain(name)
    }
    expect(service.arrived).toHaveLength(1)
    expect(await readFile(join(machine.stateDir, 'orders', name), 'utf8')).toBe(text)
  })

  test('half written beside it changes nothing', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { ending: { ended: false, problem: null } })
    const [name = ''] = await machine.files()
    await writeFile(join(machine.stateDir, 'orders', `${name}.new`), '{"v":1,"cr')
    expect((await machine.command(service, 'createnft')).printed).toMatchObject({ nfts: [{ nft_gdn_id: 'nft-1' }] })
  })

  test("is nobody else's to read, and holds no key of the API", async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { ending: { ended: false, problem: null } })
    const dir = join(machine.stateDir, 'orders')
    const [name = ''] = await machine.files()
    expect((await stat(dir)).mode & 0o777).toBe(0o700)
    expect((await stat(join(dir, name))).mode & 0o777).toBe(0o600)
    expect(await readFile(join(dir, name), 'utf8')).not.toContain(API_KEY)
  })

  test('leaves nothing but what was told behind when it is at its end', async () => {
    await machine.command(new Service(true), 'createnft')
    expect(await readdir(join(machine.stateDir, 'orders'))).toEqual(['told'])
    const [name = ''] = await machine.files('told')
    const told = decodeOrder(await readFile(join(machine.stateDir, 'orders', 'told', name), 'utf8'))
    expect(told).toMatchObject({ kind: 'order', order: { state: 'told', body: '', before: null } })
  })
})

describe('a state directory', () => {
  test("that can't be written to stops the command before anything is sent, and says what to do", async () => {
    // To root nothing is read-only: there a file stands where the folder should be.
    const isRoot = process.getuid?.() === 0
    if (isRoot) await writeFile(join(machine.stateDir, 'orders'), '')
    else await chmod(machine.stateDir, 0o500)
    const service = new Service(true)
    const { error } = await machine.command(service, 'createnft')
    await chmod(machine.stateDir, 0o700)
    expect(error).toMatchObject({ code: 'data_dir', hint: expect.stringContaining('--state-dir') })
    expect(service.arrived).toEqual([])
  })

  test('on a full disk stops the command before anything is sent', async (context) => {
    const disk = await createSmallDisk(64)
    if (typeof disk === 'string') return context.skip(disk)
    try {
      const files = new OrderFiles(disk.path)
      await mkdir(join(disk.path, 'orders'))
      await disk.fill()
      await expect(files.write(ORDER)).rejects.toMatchObject({ code: 'data_dir', message: /no space left/ })
      expect(await files.read(ORDER.id)).toBeNull()
    } finally {
      await disk.remove()
    }
  })

  test('that takes no more after the answer: what was done is told, and the end of the command is not changed', async () => {
    const service = new Service(true)
    const dir = join(machine.stateDir, 'orders')
    const tried = await machine.command(service, 'createnft', {
      request: async () => {
        // What is written before a byte leaves goes in; everything later meets a folder in the way.
        const [lock = ''] = await readdir(dir)
        await mkdir(join(dir, 'told'))
        await rm(join(dir, 'told'), { recursive: true })
        await writeFile(join(dir, 'told'), '')
        expect(lock).toContain('.lock')
        return REQUESTS.createnft
      },
    })
    expect(tried).toMatchObject({ error: null, events: [{ type: 'not_kept' }] })
    expect(tried.printed).toMatchObject({ nfts: [{ nft_gdn_id: 'nft-1' }] })
  })
})

describe('what is known of earlier orders', () => {
  const NOW = 1_800_000_000_000
  const DAY = 24 * 3_600_000

  test('ids of all orders of a collection, accepted and told', async () => {
    const files = new OrderFiles(machine.stateDir)
    await files.write({ ...ORDER, id: 'a', accepted: accepted('1', '2') })
    await files.tell({ ...ORDER, id: 'b', accepted: accepted('3') }, NOW)
    await files.setAside({ ...ORDER, id: 'c', accepted: accepted('4') }, NOW)
    await files.write({ ...ORDER, id: 'd', origin: 'https://other.test', accepted: accepted('5') })
    await files.write({
      ...ORDER,
      id: 'e',
      contract: '0x1111111111111111111111111111111111111111',
      accepted: accepted('6'),
    })
    const { ids } = await orderedNfts(machine.stateDir, ORDER.origin, CONTRACT.toLowerCase())
    expect(ids.sort()).toEqual(['1', '2', '3', '4'])
  })

  test('orders of which nobody knows what became, those set aside too', async () => {
    const files = new OrderFiles(machine.stateDir)
    const sent = (title: string) => JSON.stringify({ metadata: [{ title }] })
    await files.write({ ...ORDER, id: 'a', body: sent('a') })
    await files.setAside({ ...ORDER, id: 'b', body: sent('b') }, NOW)
    await files.write({ ...ORDER, id: 'c', accepted: accepted('1') })
    const { open } = await orderedNfts(machine.stateDir, ORDER.origin, CONTRACT)
    expect(open).toEqual([{ title: 'a' }, { title: 'b' }])
  })

  test('there are none where nothing was ordered', async () => {
    expect(await orderedNfts(join(machine.stateDir, 'none'), ORDER.origin, CONTRACT)).toEqual({ ids: [], open: [] })
  })

  test('one damaged file hides no other', async () => {
    const files = new OrderFiles(machine.stateDir)
    await files.write({ ...ORDER, id: 'a', accepted: accepted('1') })
    await writeFile(files.pathOf('b'), 'damaged')
    expect((await orderedNfts(machine.stateDir, ORDER.origin, CONTRACT)).ids).toEqual(['1'])
  })

  test('what was told is forgotten after 30 days; what is of unknown outcome never is', async () => {
    const files = new OrderFiles(machine.stateDir)
    await files.setAside({ ...ORDER, id: 'unknown', body: '{"metadata":[{}]}' }, NOW - 100 * DAY)
    await files.tell({ ...ORDER, id: 'old', accepted: accepted('old') }, NOW - 31 * DAY)
    await files.tell({ ...ORDER, id: 'young', accepted: accepted('young') }, NOW - 29 * DAY)
    await files.tell({ ...ORDER, id: 'new', accepted: accepted('new') }, NOW)
    expect((await orderedNfts(machine.stateDir, ORDER.origin, CONTRACT)).ids.sort()).toEqual(['new', 'young'])
    expect((await orderedNfts(machine.stateDir, ORDER.origin, CONTRACT)).open).toHaveLength(1)
  })
})

test('an order that another process took over while this one slept is neither written nor removed', async () => {
  const files = new OrderFiles(machine.stateDir)
  const letGo = await files.lock(ORDER.id, 'nft mint')
  const other = new OrderFiles(machine.stateDir)
  await other.write(ORDER)
  const next = join(machine.stateDir, 'orders', `${ORDER.id}.lock`, 'lock.2')
  await writeFile(next, JSON.stringify(await thisProcess('took over')))
  await expect(files.write({ ...ORDER, state: 'sending' })).rejects.toMatchObject({ code: 'run_busy' })
  await expect(files.remove(ORDER.id)).rejects.toMatchObject({ code: 'run_busy' })
  await letGo(true)
  expect(await other.read(ORDER.id)).toEqual(ORDER)
  await expect(other.lock(ORDER.id, 'third')).rejects.toMatchObject({ message: expect.stringContaining('took over') })
})
