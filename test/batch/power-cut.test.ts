import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, expect, test } from 'vitest'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { everyCut, TracedFolder, tracedCalls } from '../helpers/traced-files.ts'
import { inMemory } from '../operations/world.ts'
import { buildBatchProcess, listen } from './batch-processes.ts'
import { Machine } from './simulation.ts'
import { rowsUpTo } from './simulation-rows.ts'

const run = promisify(execFile)
const ROWS = 6
const CALLS = 'openat,open,pwrite64,write,writev,ftruncate,fsync,fdatasync,unlink,unlinkat'
const SOAK = process.env.GDN_SOAK === '1'
/** Tests only every nth cut before a system call that sends nothing. */
const STRIDE = SOAK ? 1 : 16
const RANDOM_CUTS = SOAK ? 6 : 1

let folder: string
beforeEach(async () => {
  folder = await temporaryFolder('gdn-power-batch-')
})

interface Sent {
  endpoint: string
  body: Uint8Array
  key: string
}

/** Returns the system calls of a process that mints a batch, and the requests that it sent. */
async function trace(
  idempotency: boolean,
  seed: number,
): Promise<{ lines: string[]; sent: Map<string, Sent>; url: string }> {
  const script = await buildBatchProcess(folder)
  const sent = new Map<string, Sent>()
  const api = new FakeHostedApi({ idempotency })
  const send = api.send.bind(api)
  api.send = (endpoint, body, options) => {
    sent.set(options.idempotencyKey, { endpoint, body, key: options.idempotencyKey })
    return send(endpoint, body, options)
  }
  const url = await listen(api, idempotency, seed)
  const log = join(folder, 'trace')
  const traced = ['-f', '-y', '-xx', '-s', '100000', '-o', log, '-e', `trace=${CALLS}`]
  const argv = [process.execPath, script, url, join(folder, 'state'), String(ROWS)]
  const modules = join(import.meta.dirname, '../../node_modules')
  const { stdout } = await run('strace', [...traced, ...argv], { env: { ...process.env, NODE_PATH: modules } })
  expect(JSON.parse(stdout)).toMatchObject({ counts: { deployed: ROWS } })
  expect(sent.size).toBeGreaterThan(2)
  return { lines: tracedCalls(await readFile(log, 'utf8')), sent, url }
}

/** Returns the idempotency key of the request whose first bytes a system call sends. */
function keySentBy(line: string): string | null {
  if (!/^\d+ +writev?\(\d+<(?!1<)/.test(line)) return null
  const strings = [...line.matchAll(/"((?:\\x[0-9a-f]{2})+)"/g)].map(([, hex = '']) => hex.replaceAll('\\x', ''))
  const text = Buffer.from(strings.join(''), 'hex').toString('latin1')
  return /\bidempotency-key: ([\w-]+)/i.exec(text)?.[1] ?? null
}

test.for([
  ['that honors Idempotency-Key', true],
  ['that does not', false],
] as const)(
  `a power cut at a system call of a batch (one in ${STRIDE}) loses no row and mints none twice, on a server %s`,
  { timeout: SOAK ? 3_600_000 : 180_000 },
  async ([, idempotency], context) => {
    if (!existsSync('/usr/bin/strace')) return context.skip('strace is not installed')
    const { random, seed } = seededRandom('power cuts of a batch')
    const cuts = everyCut(random, RANDOM_CUTS)
    const { lines, sent, url } = await trace(idempotency, seed)
    const disk = new TracedFolder(join(folder, 'state'))
    const left = new Set<string>()
    let calls = 0
    let tried = 0
    for (const line of lines) {
      const key = keySentBy(line)
      if (key !== null && sent.has(key)) left.add(key)
      else if (!disk.apply(line) || calls++ % STRIDE > 0) continue
      for (const cut of cuts) {
        const place = await mkdtemp(join(inMemory, 'gdn-power-batch-'))
        const machine = Machine.at(place)
        try {
          for (const [name, bytes] of disk.after(cut)) await writeFile(join(place, name), bytes)
          const server = new FakeHostedApi({ idempotency, now: machine.time.now })
          // In the order of their arrival, so that they get the same IDs.
          for (const { endpoint, body, key: idempotencyKey } of sent.values()) {
            if (left.has(idempotencyKey)) await server.send(endpoint, body, { idempotencyKey, run: '' })
          }
          await machine.bury()
          const options = { chunkSize: 2, origin: url, manifestPath: '/drop.csv' }
          const end = await machine
            .run(server, rowsUpTo(ROWS), options, { newKey: randomUUID })
            .catch(({ code }: { code: string }) => code)
          const copies = [...server.countsByTitle().values()]
          expect(Math.max(...copies), `${JSON.stringify(end)} ${line.slice(0, 200)}`).toBe(1)
          // A request that was about to be sent is retried under its key, or reported as absent.
          if (idempotency || end === 'run_finished') expect(copies, line).toHaveLength(ROWS)
          const { counts, absentRows } = typeof end === 'string' ? { counts: null, absentRows: [] } : end
          if (counts === null) expect(end, line).toBe('run_finished')
          else expect([counts.deployed, absentRows.length], line).toEqual([copies.length, ROWS - copies.length])
          tried++
        } finally {
          await machine.stop()
        }
      }
    }
    expect(left.size).toBe(sent.size)
    report(`  ${tried} power cuts at ${calls} system calls`)
  },
)
