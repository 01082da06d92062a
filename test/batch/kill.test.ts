import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { buildBatchProcess, listen, runBatchProcess } from './batch-processes.ts'

const ROWS = 200
const KILLS = 12

let folder: string
let script: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-kill-'))
  script = await buildBatchProcess(folder)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test.each([
  ['that honors Idempotency-Key, mints every row once', true],
  ['that does not, mints no row twice and names unknown rows', false],
])(`a batch whose process is killed up to ${KILLS} times, on a server %s`, async (_what, idempotency) => {
  const stateDir = await mkdtemp(join(folder, 'state-'))
  const api = new FakeHostedApi({ idempotency, nullUntilDeployed: true, pollsToDeploy: 1 })
  const url = await listen(api, idempotency)
  let kills = 0
  const life = (killAfter: number | null) => runBatchProcess([script, url, stateDir, String(ROWS)], killAfter)
  let end: Awaited<ReturnType<typeof life>> = 'killed'
  for (let turn = 0; turn < KILLS && end === 'killed'; turn++) {
    end = await life(150 + Math.random() * 250)
    if (end === 'killed') kills++
  }
  if (end === 'killed') end = await life(null)
  const counts = [...api.countsByTitle().values()]
  expect(counts.filter((count) => count > 1)).toEqual([])
  expect(kills).toBeGreaterThan(0)
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
