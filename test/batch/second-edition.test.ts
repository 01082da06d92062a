import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PlannedEvent, SecondEdition } from '../../src/batch/types.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { Machine } from './simulation.ts'
import { row } from './simulation-rows.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(() => machine.stop())

const NUMBERS = [1, 2, 3, 4]

interface Minted {
  /** The title of each row. In an unrevealed drop, the title in the manifest. */
  titleOf?: (id: number) => string
  /** Whether an edition.json is beside the manifest. */
  isGenerated?: boolean
  isUnrevealed?: boolean
}

const server = () => new FakeHostedApi({ idempotency: false, now: machine.time.now })

/** Mints 4 rows from a manifest in a folder, and returns the edition that they seem to repeat. */
async function mint(api: FakeHostedApi, name: string, minted: Minted): Promise<SecondEdition | null | undefined> {
  const { titleOf = (id) => `Harbor #${id}`, isGenerated = true, isUnrevealed = false } = minted
  const manifestPath = join(machine.stateDir, name, 'manifest.csv')
  await mkdir(dirname(manifestPath))
  await writeFile(manifestPath, `id,title\n${NUMBERS.map((id) => `${id},${titleOf(id)}\n`).join('')}`)
  if (isGenerated) await writeFile(join(dirname(manifestPath), 'edition.json'), '{}')
  const rows = NUMBERS.map((id) => {
    const title = isUnrevealed ? 'Soon' : titleOf(id)
    return row(id, { id: String(id), metadata: { title, description: name, file_fields: [] } })
  })
  const reading = isUnrevealed ? { provenance: name } : {}
  const planned: PlannedEvent[] = []
  const confirm = async (event: PlannedEvent) => void planned.push(event)
  await machine.run(api, rows, { manifestPath, runName: name, reading }, { confirm })
  return planned[0]?.secondEdition
}

const HIDDEN = { isUnrevealed: true }

test.each([
  ['of any manifests with the ID in the titles', { isGenerated: false }],
  ['of generated manifests without the ID in the titles', { titleOf: () => 'Harbor' }],
  ['of generated manifests that are unrevealed, with the titles of the manifests', HIDDEN],
])('finds a second edition %s', async (_, options) => {
  const api = server()
  expect(await mint(api, 'one', options)).toBe(null)
  expect(await mint(api, 'two', options)).toMatchObject({ run: expect.stringMatching(/^one-/), rows: 4 })
})

test.each([
  ['of another name', {}, { titleOf: (id: number) => `Pier #${id}` }],
  ['of another name that has the same placeholder', HIDDEN, { ...HIDDEN, titleOf: (id: number) => `Pier #${id}` }],
  [
    'without the ID in the titles, if a manifest is not generated',
    { titleOf: () => 'X', isGenerated: false },
    { titleOf: () => 'X' },
  ],
])('finds no second edition in a drop %s', async (_, first, second) => {
  const api = server()
  await mint(api, 'one', first)
  expect(await mint(api, 'two', second)).toBe(null)
})
