import { expect, test } from 'vitest'
import { findPostgres } from '../helpers/postgres-server.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { storm } from '../helpers/storm.ts'

const isLong = process.env.GDN_SOAK === '1'
const NFTS = isLong ? 5000 : 300
const PER_REQUEST = 10

// Where there is no PostgreSQL, test/postgres-missing.test.ts says so.
const onPostgres = findPostgres() === null ? [] : [NFTS]

test.each(onPostgres)(
  '%i NFTs by two API processes and three workers, all of them and PostgreSQL killed at random, 30 % of the RPC failing: each is minted once, no nonce is missing, nothing is left',
  async (nfts) => {
    const { random } = seededRandom('storm')
    const figures = await storm({
      requests: nfts / PER_REQUEST,
      nftsPerRequest: PER_REQUEST,
      // Each has a lane of its own: the more, the more transactions there are.
      collections: isLong ? 60 : 6,
      clients: 6,
      killEvery: isLong ? 4000 : 2500,
      databaseKills: isLong ? 12 : 1,
      patienceMs: isLong ? 1_800_000 : 120_000,
      random,
    })
    report(figures)
    expect(figures.nfts).toBe(nfts)
    expect(figures.kills.worker).toBeGreaterThan(0)
    expect(figures.kills.database).toBeGreaterThan(0)
    expect(figures.answers[500]).toBe(undefined)
  },
)
