import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { whenFileDone } from '../helpers/clean-up.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { seededRandom } from '../helpers/seed.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { buildBatchProcess, listen, runBatchProcess } from './batch-processes.ts'

const ROWS = 200
const KILLS = 6
/** A process is killed after it has sent up to this many of the 100 requests, within milliseconds. */
const MAX_REQUESTS = 10
const MAX_MS = 20

let folder: string
let script: string
beforeAll(async () => {
  folder = await temporaryFolder('gdn-kill-', whenFileDone)
  script = await buildBatchProcess(folder)
})

test.each([
  ['that honors Idempotency-Key, mints every row once', true],
  ['that does not, mints no row twice and names unknown rows', false],
])(`a batch whose process is killed ${KILLS} times, on a server %s`, async (_what, idempotency) => {
  const { random, seed } = seededRandom('batch kills')
  const stateDir = await mkdtemp(join(folder, 'state-'))
  let left = 0
  let kill = () => {}
  const onArrival = () => {
    left -= 1
    if (left === 0) setTimeout(kill, random() * MAX_MS)
  }
  const api = new FakeHostedApi({ idempotency, nullUntilDeployed: true, pollsToDeploy: 1, onArrival })
  const url = await listen(api, idempotency, seed)
  const argv = [script, url, stateDir, String(ROWS)]
  for (let kills = 0; kills < KILLS; kills++) {
    left = 1 + Math.floor(random() * MAX_REQUESTS)
    const end = await runBatchProcess(argv, (killIt) => {
      kill = killIt
    })
    expect(end).toBe('killed')
  }
  const end = await runBatchProcess(argv, null)
  const counts = [...api.countsByTitle().values()]
  expect(counts.filter((count) => count > 1)).toEqual([])
  if (end === 'killed' || 'error' in end) {
    expect(end).toEqual({ error: 'run_finished' })
    expect(counts).toHaveLength(ROWS)
    return
  }
  expect(end.counts.deployed + end.counts.unknown).toBe(ROWS)
  expect(counts.length).toBeGreaterThanOrEqual(end.counts.deployed)
  if (idempotency) expect(end).toMatchObject({ exitCode: 0, counts: { deployed: ROWS } })
  else {
    // What the server accepted is reported as deployed, and the rest as absent.
    expect(end.counts.deployed).toBe(counts.length)
    expect(end.absentRows).toHaveLength(ROWS - counts.length)
    expect(end.exitCode).toBe(counts.length < ROWS ? 9 : 0)
  }
})
