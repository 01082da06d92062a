/** @module-tag slow */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { EVENT_TYPES, type EventType } from '../../../src/api/webhook-events.ts'
import { sampleData } from '../../../src/server/admin/sample-events.ts'
import { addWebhook } from '../../../src/server/admin/webhooks.ts'
import { writeRunning } from '../../../src/server/data-dir/running.ts'
import { openLocalAccount } from '../../../src/server/services/local-account.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import { enqueueTestEvent } from '../../../src/server/store/outbox.ts'
import { recordAttempt } from '../../../src/server/store/webhook-deliveries.ts'
import { withStore } from '../../helpers/backend.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

const URL = 'https://example.com/hooks/gdn'
const OWNER = ['--email', 'shop@example.com']

/** A home with the data directory of a backend. */
async function withDataDir() {
  const { dir, env } = await tempHome()
  const dataDir = join(dir, 'data')
  await mkdir(dataDir)
  await (await openStore(join(dataDir, 'gdn.db'))).close()
  const gdn = (argv: string[], signal?: AbortSignal) =>
    cli([...argv, '--data-dir', dataDir], { env, ...(signal === undefined ? {} : { signal }) })
  const json = async <Value>(...argv: string[]): Promise<Value> => {
    const result = await gdn([...argv, '--json'])
    if (result.code !== 0) throw new Error(result.stderr)
    return JSON.parse(result.stdout)
  }
  return { dataDir, env, gdn, json, add: () => json<Webhook>('webhook', 'add', URL, '--event', '*', ...OWNER) }
}

interface Webhook {
  id: string
  signing_secret?: string
}

describe('gdn webhook add', () => {
  test('prints only the secret on stdout, and never prints it again', async () => {
    const { gdn } = await withDataDir()
    const { code, stdout, stderr } = await gdn(['webhook', 'add', URL, '--event', 'nft.failed,nft.deployed', ...OWNER])
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^whsec_[\w-]{43}\n$/) })
    expect(stderr).toContain('of shop@example.com: nft.deployed, nft.failed.')
    expect(stderr).toMatch(/gdn webhook test [0-9a-f-]{36}/)
    expect(stderr).not.toContain(stdout.trim())
    for (const verb of ['list', 'show']) {
      const [{ id = '' } = {}] = JSON.parse((await gdn(['webhook', 'list', '--json'])).stdout)
      const showResult = await gdn(['webhook', verb, ...(verb === 'show' ? [id] : []), '--json'])
      expect(showResult.stdout).toContain(URL)
      expect(showResult.stdout).not.toContain('whsec_')
    }
  })

  test('warns that a URL which another webhook has gets events twice', async () => {
    const { gdn, add } = await withDataDir()
    const { id } = await add()
    const argv = ['webhook', 'add', URL, '--event', 'nft.failed']
    const { code, stderr } = await gdn([...argv, ...OWNER])
    expect(code).toBe(0)
    expect(stderr).toContain(
      'Another webhook has the same URL. Events of types that both webhooks receive are delivered twice.',
    )
    expect(stderr).toContain(`gdn webhook rm ${id}`)
    expect((await gdn([...argv, '--email', 'b@example.com'])).stderr).not.toContain('twice')
  })

  test('has a list that shows whole URLs on a terminal of 80 columns, and all events to a program', async () => {
    const { dataDir, env } = await withDataDir()
    await withStore(dataDir, async (store) => {
      await openLocalAccount(store, dataDir, Date.now())
      for (const events of [['nft.deployed', 'nft.failed'], ['*']]) {
        await addWebhook(store, { url: URL, events: events as EventType[], email: undefined, now: Date.now() })
      }
    })
    const list = async (...more: string[]) =>
      (await cli(['webhook', 'list', '--data-dir', dataDir, ...more], { env, tty: true, columns: 80 })).stdout
    const stdout = await list()
    expect(stdout).toMatch(/^ID +URL +EVENTS$/m)
    expect(stdout.match(/https:\/\/example\.com\/hooks\/gdn +(2 types|\*)$/gm)).toHaveLength(2)
    const { stdout: piped } = await cli(['webhook', 'list', '--data-dir', dataDir, '--fields', 'events'], { env })
    expect(piped.split('\n')).toContain('["nft.deployed","nft.failed"]')
    expect(await list('--fields', 'id,email,failed')).toMatch(/^ID +EMAIL +FAILED$/m)
  })

  test('has a list that shows both ends of URLs that are too long', async () => {
    const { dataDir, env } = await withDataDir()
    await withStore(dataDir, async (store) => {
      await openLocalAccount(store, dataDir, Date.now())
      for (const path of ['minted', 'failed']) {
        const url = `https://shop.example.com/hooks/about/nfts/that/are/${path}`
        await addWebhook(store, { url, events: ['*'], email: undefined, now: Date.now() })
      }
    })
    const argv = ['webhook', 'list', '--data-dir', dataDir]
    const { stdout } = await cli(argv, { env, tty: true, columns: 80 })
    for (const path of ['minted', 'failed']) expect(stdout).toMatch(new RegExp(`shop\\.\\S*…\\S*/${path} `))
  })

  test('warns that a private address requires --allow-private-files', async () => {
    const { gdn } = await withDataDir()
    const { code, stderr } = await gdn(['webhook', 'add', 'http://localhost:3000/hook', '--event', '*', ...OWNER])
    expect(code).toBe(0)
    expect(stderr).toContain('Only a backend with --allow-private-files delivers to a private address, or to a port')
  })

  test.each([
    [false, true],
    [true, false],
  ])('warns of a private address if the running backend has --allow-private-files %s: %s', async (allows, warns) => {
    const { dataDir, gdn, add } = await withDataDir()
    await writeRunning(dataDir, 'http://127.0.0.1:4680', { '--allow-private-files': allows })
    const url = 'http://127.0.0.1:3019/hook'
    const added = await gdn(['webhook', 'add', url, '--event', '*', ...OWNER])
    const updated = await gdn(['webhook', 'update', (await add()).id, '--url', url])
    for (const { code, stderr } of [added, updated]) {
      expect([code, stderr.includes('--allow-private-files')]).toEqual([0, warns])
    }
  })

  test.each([
    [[URL, ...OWNER], '--event: is required', 'nft.deployed,nft.failed'],
    [[URL, '--event', 'nft.deploy', ...OWNER], ', not "nft.deploy"', 'Did you mean nft.deployed?'],
    [[URL, '--event', 'webhook.test', ...OWNER], ', not "webhook.test"', 'must be one of nft.deployed, nft.failed, '],
    [
      ['http://example.com/', '--event', '*', ...OWNER],
      '<url>: must be an https URL, because the host is public',
      'https://example.com/hooks/gdn',
    ],
    [['nowhere', '--event', '*', ...OWNER], '<url>: must be an https URL', 'http://localhost:3000/hook'],
    [[URL, '--event', '*', '--email', 'nobody'], '--email', ''],
    [[URL, '--event', '*'], 'no local account yet', '--email'],
    [[URL, '--event', '*', ...OWNER, '-o', 'ids'], '-o ids: omits signing_secret, which is printed', '--fields id,sig'],
    [[URL, '--event', '*', ...OWNER, '--fields', 'id'], '--fields: omits signing_secret, which is', '--fields id,sig'],
  ])('rejects %j, and creates nothing', async (argv, message, hint) => {
    const { gdn } = await withDataDir()
    const { code, stderr } = await gdn(['webhook', 'add', ...argv])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
    expect(stderr).toContain(hint)
    expect(JSON.parse((await gdn(['webhook', 'list', '--json'])).stdout)).toEqual([])
  })

  test('limits an account to 16 webhooks', async () => {
    const { gdn, add } = await withDataDir()
    for (let n = 0; n < 16; n++) await add()
    const result = await gdn(['webhook', 'add', URL, '--event', '*', '--json', ...OWNER])
    expect(errorOf(result)).toMatchObject({ code: 'usage', message: expect.stringContaining('16 webhooks') })
    expect((await gdn(['webhook', 'add', URL, '--event', '*', '--email', 'b@example.com'])).code).toBe(0)
  })
})

describe('gdn webhook deliveries and replay', () => {
  /** A webhook with one delivered and one failed event. */
  async function withDeliveries() {
    const home = await withDataDir()
    const { id } = await home.add()
    const [taken, refused] = await withStore(home.dataDir, async ({ db }) => {
      const ids = [await enqueueTestEvent(db, id, 'nft.deployed', {}), await enqueueTestEvent(db, id, 'nft.failed', {})]
      for (const [index, event_id] of ids.entries()) {
        await recordAttempt(
          db,
          { webhook_id: id, event_id },
          index === 0
            ? { state: 'delivered', attempts: 1, response_status: 200, response: 'ok', attempted_at: Date.now() }
            : { state: 'failed', attempts: 9, response_status: 500, response: '\u001b[31mno', error: 'answered 500' },
        )
      }
      return ids
    })
    return { ...home, id, taken: taken ?? '', refused: refused ?? '' }
  }
  const states = (all: { event_id: string; state: string }[]) =>
    Object.fromEntries(all.map(({ event_id, state }) => [event_id, state]))

  test('show responses of a webhook, escaped on a terminal', async () => {
    const { gdn, json, id, refused } = await withDeliveries()
    const [one, ...more] = await json<object[]>('webhook', 'deliveries', id, '--state', 'failed')
    expect(more).toEqual([])
    expect(one).toMatchObject({
      event_id: refused,
      type: 'nft.failed',
      attempts: 9,
      response_status: 500,
      error: 'answered 500',
    })
    const table = await gdn(['webhook', 'deliveries', id, '--fields', 'event_id,response'])
    expect(table.stdout).not.toContain('\u001b')
  })

  test('retry failed events, a selected event, or all events of a period', async () => {
    const { json, gdn, id, taken, refused } = await withDeliveries()
    const all = async () => states(await json('webhook', 'deliveries', id))
    expect(await json('webhook', 'replay', id)).toMatchObject({ replayed: 1 })
    expect(await all()).toEqual({ [taken]: 'delivered', [refused]: 'waiting' })
    expect(await json('webhook', 'replay', id, '--id', taken)).toMatchObject({ replayed: 1, waiting: 2 })
    expect(await json('webhook', 'replay', id, '--since', '1h')).toMatchObject({ replayed: 2 })
    const unknown = await gdn(['webhook', 'replay', id, '--id', 'evt_no', '--json'])
    expect(errorOf(unknown)).toMatchObject({ code: 'not_found_locally' })
    const both = await gdn(['webhook', 'replay', id, '--id', taken, '--since', '1h', '--json'])
    expect(errorOf(both)).toMatchObject({ code: 'usage' })
  })
})

describe('gdn webhook trigger', () => {
  test.each([
    [['nft.deploy'], '"nft.deploy"', 'Did you mean nft.deployed?'],
    [[], 'event', ''],
  ])('rejects %j, and sends nothing', async (words, message, hint) => {
    const { gdn, json, add } = await withDataDir()
    const { id } = await add()
    const { code, stderr } = await gdn(['webhook', 'trigger', id, ...words])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
    expect(stderr).toContain(hint)
    expect(await json('webhook', 'deliveries', id)).toEqual([])
  })

  test('has a sample of every event, with the status of its name', () => {
    for (const type of EVENT_TYPES) {
      const sample = sampleData(type, 'id')
      expect(sample).toMatchObject({ status: type.split('.')[1] })
      expect(Object.hasOwn(sample, 'error')).toBe(type.endsWith('.failed'))
    }
  })
})

describe('a webhook', () => {
  test('reports an unknown webhook in every command', async () => {
    const { gdn } = await withDataDir()
    for (const verb of ['show', 'rm', 'test', 'deliveries', 'replay']) {
      const result = await gdn(['webhook', verb, 'nope', '--json'])
      expect([verb, result.code, errorOf(result)]).toEqual([
        verb,
        2,
        expect.objectContaining({ code: 'not_found_locally', hint: expect.stringContaining('gdn webhook list') }),
      ])
    }
  })

  test('is deleted without a terminal only with --yes', async () => {
    const { gdn, json, add } = await withDataDir()
    const { id } = await add()
    const result = await gdn(['webhook', 'rm', id, '--json'])
    expect([result.code, errorOf(result)]).toEqual([
      3,
      expect.objectContaining({
        code: 'not_confirmed',
        message: `confirmation required: Delete the webhook to ${URL}, its signing secret and its pending events?`,
        hint: 'Add --yes to confirm.',
      }),
    ])
    expect(await json('webhook', 'list')).toHaveLength(1)
  })

  test('deletes a webhook with its pending deliveries', async () => {
    const { gdn, json, add, dataDir } = await withDataDir()
    const { id } = await add()
    await withStore(dataDir, ({ db }) => enqueueTestEvent(db, id, 'nft.deployed', {}))
    expect((await gdn(['webhook', 'rm', id, '--yes'])).stderr).toContain(`Deleted the webhook to ${URL}.`)
    expect(await json('webhook', 'list')).toEqual([])
    const left = await withStore(dataDir, ({ db }) => db.selectFrom('webhook_deliveries').selectAll().execute())
    expect(left).toEqual([])
  })
})

describe('gdn webhook update', () => {
  test('changes URL and events, keeps the secret, and sends pending events of a disabled webhook again', async () => {
    const { dataDir, json, add } = await withDataDir()
    const { id } = await add()
    const other = await add()
    const rowOf = (of: string) =>
      withStore(dataDir, ({ db }) =>
        db.selectFrom('webhooks').selectAll().where('id', '=', of).executeTakeFirstOrThrow(),
      )
    const [before, untouched] = [await rowOf(id), await rowOf(other.id)]
    await withStore(dataDir, ({ db }) =>
      db
        .updateTable('webhooks')
        .set({ status: 'disabled', failures: 3, next_attempt_at: 9e12 })
        .where('id', '=', id)
        .execute(),
    )
    const events = await json('webhook', 'update', id, '--event', 'nft.failed,nft.deployed')
    expect(events).toMatchObject({ url: URL, events: ['nft.deployed', 'nft.failed'], status: 'disabled' })
    const moved = await json('webhook', 'update', id, '--url', 'https://example.com/new')
    expect(moved).toMatchObject({ url: 'https://example.com/new', status: 'active' })
    expect(moved).not.toHaveProperty('signing_secret')
    expect(await rowOf(id)).toMatchObject({ secret: before.secret, failures: 0, next_attempt_at: 0 })
    expect((await rowOf(id)).generation).toBeGreaterThan(before.generation)
    expect(await rowOf(other.id)).toEqual(untouched)
  })

  test.each([
    [[], 'no change is specified'],
    [['--url', 'http://example.com/'], '--url: must be an https URL, because'],
    [['--url', 'nowhere'], '--url: must be an https URL'],
    [['--url', 'https://user:pw@example.com/'], 'user'],
    [['--event', 'nft.deploy'], 'Did you mean nft.deployed?'],
  ])('rejects %j, and changes nothing', async (argv, message) => {
    const { gdn, json, add } = await withDataDir()
    const { id } = await add()
    const { code, stderr } = await gdn(['webhook', 'update', id, ...argv])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
    expect(await json('webhook', 'show', id)).toMatchObject({ url: URL, events: ['*'] })
  })

  test('rejects an unknown webhook', async () => {
    const { gdn } = await withDataDir()
    expect(await gdn(['webhook', 'update', 'nothing', '--event', '*'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no webhook'),
    })
  })

  test('prints no private key that is given as an ID', async () => {
    const { gdn } = await withDataDir()
    const key = `0x${'5eed'.repeat(16)}`
    const { code, stdout, stderr } = await gdn(['webhook', 'show', key])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('has no webhook "(hidden)"') })
    expect(stdout + stderr).not.toContain(key.slice(2, 40))
  })
})
