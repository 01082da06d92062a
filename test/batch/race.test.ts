import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { whenFileDone } from '../helpers/clean-up.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { seededRandom } from '../helpers/seed.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { buildBatchProcess, listen, runBatchProcess } from './batch-processes.ts'

const ROUNDS = process.env.GDN_SOAK === '1' ? 200 : 1
const PROCESSES = 8
const ROWS = 20
const MANIFESTS = ['/a/drop.csv', '/b/drop.csv', '/c/drop.csv']
/** Errors of a process that did not send the rows. */
const LOST = ['already_accepted', 'run_busy', 'run_finished']

let folder: string
let script: string
beforeAll(async () => {
  folder = await temporaryFolder('gdn-race-', whenFileDone)
  script = await buildBatchProcess(folder)
})

test(`${PROCESSES} processes with ${MANIFESTS.length} copies of a manifest, failures, retries and SIGKILLs mint every row once (rounds: ${ROUNDS})`, async () => {
  const { random, seed } = seededRandom('race')
  let kills = 0
  let rejections = 0
  for (let round = 1; round <= ROUNDS; round++) {
    const stateDir = await mkdtemp(join(folder, 'state-'))
    let isOver = false
    const api = new FakeHostedApi({
      ...{ idempotency: true, nullUntilDeployed: true, pollsToDeploy: 1 },
      faultOf: () => (!isOver && random() < 0.2 ? { fault: 'refused', status: 400 } : null),
    })
    const url = await listen(api, true, seed)
    const start = (manifest: string, promptMs: number, killAfter: number | null, retry: 'failed' | 'absent' | null) => {
      const more = retry === null ? [] : [retry]
      return runBatchProcess([script, url, stateDir, String(ROWS), manifest, String(promptMs), ...more], killAfter)
    }
    const race = Array.from({ length: PROCESSES }, (_, at) =>
      start(
        MANIFESTS[at % MANIFESTS.length] ?? '',
        random() * 300,
        at % 2 === 0 ? random() * (at % 4 === 0 ? 400 : 1500) : null,
        random() < 0.5 ? 'failed' : null,
      ),
    )
    for (const end of await Promise.all(race)) {
      if (end === 'killed') kills++
      else if ('error' in end) {
        expect(LOST, `round ${round}`).toContain(end.error)
        rejections++
      }
    }
    isOver = true
    // Every copy is run to its end, whichever of them has the rows.
    const ends: unknown[] = []
    for (const manifest of MANIFESTS) ends.push(await start(manifest, 0, null, 'absent'))
    const counts = [...api.countsByTitle().values()]
    expect({ rows: counts.length, most: Math.max(...counts) }, `round ${round}: ${JSON.stringify(ends)}`).toEqual({
      rows: ROWS,
      most: 1,
    })
    await rm(stateDir, { recursive: true })
  }
  if (ROUNDS > 1) expect({ killed: kills > 0, rejected: rejections > 0 }).toEqual({ killed: true, rejected: true })
})
