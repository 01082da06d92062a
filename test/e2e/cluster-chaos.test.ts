import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterChaos, openClusterChaos } from '../helpers/cluster-chaos.ts'
import { findPostgres } from '../helpers/postgres-server.ts'
import { report, seededRandom } from '../helpers/seed.ts'

const isLong = process.env.GDN_SOAK === '1'
const NFTS = isLong ? 5000 : 200
const PER_REQUEST = 10
const WITHIN_MS = isLong ? 3_600_000 : 180_000

// Without PostgreSQL, test/postgres-missing.test.ts reports it.
const onPostgres = findPostgres() === null ? [] : ['PostgreSQL']

describe.each(onPostgres)('two API processes and three workers on %s, behind a load balancer', () => {
  let chaos: ClusterChaos

  beforeAll(async () => {
    chaos = await openClusterChaos({
      ...{ random: seededRandom('cluster-chaos').random, nftsPerRequest: PER_REQUEST, clients: 6 },
      // Each has a separate signer: the more collections, the more transactions.
      collections: isLong ? 60 : 6,
      patienceMs: isLong ? 1_800_000 : 120_000,
    })
  }, 180_000)
  afterAll(() => chaos?.close())

  test(
    'loses and rejects no request while each process is replaced in turn, and completes all of them',
    async () => {
      const which = isLong ? { apis: 2, workers: 3 } : { apis: 1, workers: 1 }
      const { requestIds, ...figures } = await chaos.replace(which)
      report(figures)
      expect(figures.replaced).toBe(which.apis + which.workers)
      const { 200: answered = 0, ...others } = figures.answers
      expect(answered).toBeGreaterThan(20)
      expect(others).toEqual({})
      // A request ID links the logs of the process that accepted it, the one that signed, and the one that saw it
      // final.
      const lines = chaos.linesOf(requestIds.at(-1) ?? '')
      const by = (msg: string) => lines.filter(({ line }) => line.msg === msg).map((found) => found.by)
      expect(by('request')).toEqual([expect.stringMatching(/^api/)])
      expect(by('a transaction is signed')).toEqual([expect.stringMatching(/^worker/)])
      expect(by('a transaction is confirmed')).toEqual([expect.stringMatching(/^worker/)])
    },
    WITHIN_MS,
  )

  test(
    `mints ${NFTS} NFTs once while processes and PostgreSQL are killed at random and 30 % of the RPC fails`,
    async () => {
      const figures = await chaos.killAtRandom({
        requests: NFTS / PER_REQUEST,
        killEvery: isLong ? 4000 : 2500,
        databaseKills: isLong ? 12 : 1,
      })
      report(figures)
      expect(figures.nfts).toBeGreaterThan(NFTS)
      expect(figures.kills.worker + figures.kills.api).toBeGreaterThan(0)
      expect(figures.kills.database).toBeGreaterThan(0)
      expect(figures.answers[500]).toBe(undefined)
    },
    WITHIN_MS,
  )
})
