/** @module-tag slow */
import { expect, test } from 'vitest'
import { TransportError } from '../../src/client/transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import type { PlanOptions } from '../../src/plan/planned.ts'
import { cleanUpTest } from '../helpers/clean-up.ts'
import { seededRandom } from '../helpers/seed.ts'
import { ALICE, Machine, Server } from './world.ts'

const DROP: Partial<PlanOptions> = { manifestPath: '/shop/jan/drop.csv', label: 'jan/drop.csv' }
const OTHER: Partial<PlanOptions> = { manifestPath: '/shop/feb/drop.csv', label: 'feb/drop.csv' }
const isLong = process.env.GDN_SOAK === '1'
const [DROPS, STEPS] = isLong ? [200, 60] : [4, 30]
const SHARE_OF_FAULTS = 0.3

/** A row as its author sees it. */
interface Written {
  n: number
  id: string | null
  title: string
  /** What it had in the last manifest that was applied; null for a new row. */
  applied: { id: string | null; title: string } | null
}

test(
  'random edits, IDs, machines, faults and another drop never change or mint the NFT of another row',
  async () => {
    const { random } = seededRandom('pairing')
    const anyOf = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
    const figures = { applied: 0, refused: 0, faults: 0, pairs: 0, mints: 0, edits: 0, others: 0 }
    for (let drop = 0; drop < DROPS; drop++) {
      const server = new Server()
      const start = () => Machine.start(server)
      const kept = [await start(), await start()]
      const rows: Written[] = []
      const nftOf = new Map<number, string>()
      let titles = 0
      const add = (id: string | null) => rows.push({ n: rows.length, id, title: `t${titles++}`, applied: null })
      // Equal rows are interchangeable until one is edited, so only the number of their NFTs is checked.
      const manifest = (): ManifestRow[] =>
        rows.map(({ n, id, title }) => ({
          ...{ line: n + 2, id, receiver: ALICE, sender: null, localFiles: [] },
          metadata: { title, description: '', file_fields: [] },
        }))

      const apply = async (machine: Machine) => {
        const { counts } = await machine.plan(manifest(), { ...DROP, prune: true })
        expect(counts).toMatchObject({ burn: 0, drift: 0, impossible: 0 })
        await machine.apply(manifest(), DROP)
        if (counts.mint > 0) await machine.mint(manifest(), { ...DROP, keepEdited: true })
      }
      /** Whether a row was edited and got its ID since it was applied. */
      const isAmbiguous = ({ id, title, applied }: Written) =>
        applied?.id === null && id !== null && title !== applied.title

      /** Applies another drop of this file name, which has the same IDs. */
      const applyOther = async (machine: Machine) => {
        const named = manifest().filter(({ id }) => id !== null)
        if (named.length === 0) return
        figures.others++
        // One row: a machine may know only the NFTs of some.
        const row = anyOf(named)
        const other = { ...row, metadata: { ...row.metadata, title: `other ${row.id}` } }
        const code = await machine.apply([other], OTHER).then(
          () => null,
          (error: unknown) => (error instanceof GdnError ? error.code : error),
        )
        expect(['seems_minted', 'already_accepted']).toContain(code)
      }

      for (let n = 0; n < 4; n++) add(random() < 0.7 ? null : `id-${n}`)
      for (let step = 0; step < STEPS; step++) {
        for (const row of rows) {
          if (row.id === null && random() < 0.15) row.id = `id-${row.n}`
          if (row.id !== null && random() < 0.15) {
            row.title = `t${titles++}`
            figures.edits++
          }
        }
        if (random() < 0.3 && rows.length < 15) add(random() < 0.6 ? null : `id-${rows.length}`)
        const machine = random() < 0.25 ? await start() : anyOf(kept)
        server.onRequest = (endpoint, body) => {
          if (random() >= SHARE_OF_FAULTS || !['aliasreferences', 'getcontentreferences'].includes(endpoint)) return
          figures.faults++
          if (random() < 0.5) return { status: 500, json: {} }
          if (endpoint === 'aliasreferences') server.storeAliases(body)
          throw new TransportError('socket hang up', true)
        }
        for (let isDone = false; !isDone; ) {
          try {
            await apply(machine)
            isDone = true
          } catch (error) {
            if (!(error instanceof GdnError)) throw error
            const wrong = rows.filter(isAmbiguous)
            const codes = ['unreachable', 'bad_answer', ...(wrong.length > 0 ? ['edited_rows'] : [])]
            expect(codes).toContain(error.code)
            if (error.code !== 'edited_rows') continue
            figures.refused++
            for (const row of wrong) row.title = row.applied?.title ?? row.title
          }
        }
        server.onRequest = () => undefined
        figures.applied++
        if (random() < 0.5) await applyOther(anyOf(kept))
        expect(server.nfts).toHaveLength(rows.length)
        for (const row of rows) {
          const nft = server.nft(row.title).id
          expect([row.n, nftOf.get(row.n) ?? nft]).toEqual([row.n, nft])
          nftOf.set(row.n, nft)
          if (row.applied?.id === null && row.id !== null) figures.pairs++
          row.applied = { id: row.id, title: row.title }
        }
      }
      figures.mints += rows.length
      await cleanUpTest()
    }
    process.stdout.write(`${JSON.stringify(figures)}\n`)
    expect(Math.min(...Object.values(figures))).toBeGreaterThan(0)
  },
  isLong ? 3_600_000 : 300_000,
)
