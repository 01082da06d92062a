/** @module-tag slow */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { thisProcess } from '../../../src/core/lock-holder.ts'
import { findProcess, isStopped } from '../../../src/core/process-identity.ts'
import { openState } from '../../../src/state/open-state.ts'
import { CONTRACT, fakeApi, OWNER, type Reply } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { CSV, folder, service, TARGET } from './drop.ts'

/** A home with `drop.csv`, and a service that lists what it minted. */
async function machine(refuse: (title: string) => boolean = () => false) {
  const { path, options } = await folder()
  const { createnft, getnfts } = service(refuse)
  const ids: string[] = []
  let backendId: string | null = null
  const api = await fakeApi({
    '*': (body, { path: requestPath }): Reply => {
      if (requestPath === '/healthz' && backendId !== null)
        return { body: { backend_id: backendId, incarnation: backendId } }
      if (requestPath.endsWith('/getnfts')) return getnfts(body)
      if (requestPath.endsWith('/getnftgdnids')) {
        return { body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: ids } }
      }
      if (!requestPath.endsWith('/createnft'))
        return { status: 404, body: { error: { title: 'Not Found', message: 'no' } } }
      const reply = createnft(body)
      const { nfts = [] } = reply.body as { nfts?: { nft_gdn_ids: string }[] }
      ids.push(...nfts.map(({ nft_gdn_ids }) => nft_gdn_ids))
      return reply
    },
  })
  const run = (...argv: string[]) => cli(['batch', ...argv], options)
  const target = [...TARGET, '--rate', '100', '--timeout', '10s', '--base-url', api.url, '--json']
  const mint = (file: string, ...more: string[]) => run('mint', path(file), ...target, ...more)
  const stateDir = join(path('.local'), 'state', 'gdn')
  const state = () => contentOf(join(path('.local'), 'state'))
  /** Makes another backend respond at the address. */
  const become = (id: string) => {
    backendId = id
  }
  return { path, options, api, run, mint, state, stateDir, become, url: api.url }
}

/** Content of every file below a folder, by path. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile())
  const paths = files.map(({ parentPath, name }) => join(parentPath, name))
  return Object.fromEntries(await Promise.all(paths.sort().map(async (at) => [at, await readFile(at, 'latin1')])))
}

type Machine = Awaited<ReturnType<typeof machine>>
interface Situation {
  name: string
  refuse?: (title: string) => boolean
  /** Sets up the situation, and returns the command. */
  prepare(machine: Machine): Promise<string[]> | string[]
  code: number
  error: string | null
}

const EDITED = CSV.replace('Dusk', 'Dust')
const command = ({ path, url }: Machine, file: string, ...more: string[]) => [
  ...['batch', 'mint', path(file), ...TARGET, '--rate', '100', '--timeout', '60s', '--base-url', url, '--json'],
  ...more,
]

const SITUATIONS: Situation[] = [
  { name: 'a new drop', prepare: (m) => command(m, 'drop.csv'), code: 0, error: null },
  {
    name: 'a manifest with an error',
    prepare: async (m) => {
      await writeFile(m.path('drop.csv'), CSV.replace(OWNER, '0x12'))
      return command(m, 'drop.csv')
    },
    code: 2,
    error: 'invalid_manifest',
  },
  {
    name: 'a finished run',
    prepare: async (m) => {
      await m.mint('drop.csv')
      return command(m, 'drop.csv')
    },
    code: 0,
    error: null,
  },
  {
    name: 'a finished run with failed rows',
    refuse: (title) => title === 'Dusk',
    prepare: async (m) => {
      await m.mint('drop.csv', '--chunk-size', '1')
      return command(m, 'drop.csv')
    },
    code: 7,
    error: 'batch_failed_rows',
  },
  {
    name: 'an edited row that was already sent',
    prepare: async (m) => {
      await m.mint('drop.csv')
      await writeFile(m.path('drop.csv'), EDITED)
      return command(m, 'drop.csv')
    },
    code: 2,
    error: 'edited_rows',
  },
  {
    name: 'an edited row minted with --new-rows',
    prepare: async (m) => {
      await m.mint('drop.csv')
      await writeFile(m.path('drop.csv'), EDITED)
      return command(m, 'drop.csv', '--new-rows')
    },
    code: 0,
    error: null,
  },
  {
    name: 'a finished run minted again with --again',
    prepare: async (m) => {
      await m.mint('drop.csv')
      return command(m, 'drop.csv', '--again')
    },
    code: 0,
    error: null,
  },
  {
    name: 'rows that belong to another run',
    prepare: async (m) => {
      await m.mint('drop.csv')
      await writeFile(m.path('copy.csv'), CSV)
      return command(m, 'copy.csv')
    },
    code: 2,
    error: 'already_accepted',
  },
  {
    name: 'rows already in the collection after the state was lost',
    prepare: async (m) => {
      await m.mint('drop.csv')
      await rm(join(m.path('.local'), 'state'), { recursive: true })
      return command(m, 'drop.csv')
    },
    code: 9,
    error: 'seems_minted',
  },
  {
    name: "a marker key other than the run's own",
    prepare: async (m) => {
      await m.mint('drop.csv')
      return command(m, 'drop.csv', '--marker-key', 'serial')
    },
    code: 2,
    error: 'usage',
  },
  {
    name: 'local files when the server accepts no uploads',
    prepare: async (m) => {
      await writeFile(m.path('a.png'), Buffer.from('89504e470d0a1a0a', 'hex'))
      await writeFile(m.path('drop.csv'), `title,description,receiver,image\nDawn,first,${OWNER},a.png\n`)
      return command(m, 'drop.csv')
    },
    code: 2,
    error: 'invalid_manifest',
  },
  {
    name: 'an unreachable server',
    prepare: (m) => command({ ...m, url: 'http://127.0.0.1:9' }, 'drop.csv'),
    code: 6,
    error: 'unreachable',
  },
  {
    name: 'a run resumed at another server',
    prepare: async (m) => {
      await m.mint('drop.csv')
      const other = await machine()
      return ['batch', 'resume', 'drop', '--base-url', other.url, '--json']
    },
    code: 2,
    error: 'wrong_backend',
  },
  {
    name: 'a run resumed at an address that another backend now uses',
    prepare: async (m) => {
      m.become(randomUUID())
      await m.mint('drop.csv', '--no-wait')
      m.become(randomUUID())
      return ['batch', 'resume', 'drop', '--base-url', m.url, '--json']
    },
    code: 2,
    error: 'wrong_backend',
  },
  {
    name: 'a run that another process is working on',
    prepare: async (m) => {
      await m.mint('drop.csv', '--no-wait')
      const state = await openState(m.stateDir)
      const holder = JSON.stringify(await thisProcess('a batch'))
      await state.write((sql) => sql.run('UPDATE runs SET holder = ?', holder))
      state.close()
      return command(m, 'drop.csv')
    },
    code: 2,
    error: 'run_busy',
  },
]

test.skipIf(process.platform === 'win32')(
  'a run that a stopped process holds says how to continue or end it',
  async () => {
    const m = await machine()
    await m.mint('drop.csv', '--no-wait')
    const child = spawn('sleep', ['60'])
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'spawn')
    child.kill('SIGSTOP')
    const { pid = 0 } = child
    await vi.waitFor(() => expect(isStopped(pid)).toBe(true))
    const { startedAt } = findProcess(pid) ?? {}
    const holder = JSON.stringify({ ...(await thisProcess('a batch')), pid, startedAt })
    const state = await openState(m.stateDir)
    await state.write((sql) => sql.run('UPDATE runs SET holder = ?', holder))
    state.close()
    for (const more of [[], ['--dry-run']]) {
      expect(errorOf(await cli([...command(m, 'drop.csv'), ...more], m.options))).toMatchObject({
        code: 'run_busy',
        message: `another gdn process is working on this run, but is suspended: pid ${pid} (a batch)`,
        hint: expect.stringContaining(
          `Run \`kill -CONT ${pid}\` to continue the process, or \`kill -KILL ${pid}\` to end it.`,
        ),
      })
    }
  },
)

describe('batch mint --dry-run', () => {
  test.each(SITUATIONS)(
    'exits with the code of the real run and writes nothing for $name',
    async ({ refuse, prepare, code, error }) => {
      const of = await machine(refuse)
      const argv = await prepare(of)
      const before = await of.state()
      const requestCount = of.api.bodies('createnft').length
      const dry = await cli([...argv, '--dry-run'], of.options)
      expect(dry).toMatchObject({ code })
      expect(await of.state()).toEqual(before)
      expect(of.api.bodies('createnft')).toHaveLength(requestCount)
      const real = await cli(argv, of.options)
      expect(real).toMatchObject({ code })
      if (error === null) return
      expect(errorOf(dry)).toMatchObject({ code: error, message: errorOf(real).message })
      expect(errorOf(real).code).toBe(error)
    },
  )

  test('works without the server with --no-lookup', async () => {
    const of = await machine()
    const argv = command({ ...of, url: 'http://127.0.0.1:9' }, 'drop.csv', '--dry-run')
    expect(errorOf(await cli(argv, of.options)).hint).toContain('Add --no-lookup to plan without the server.')
    const { GDN_API_KEY: _, ...env } = of.options.env
    expect(await cli([...argv, '--no-lookup'], { ...of.options, env })).toMatchObject({ code: 0, stderr: '' })
  })
})
