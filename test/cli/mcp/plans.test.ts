import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { Plans } from '../../../src/cli/mcp/plans.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'

const WEEKS_AGO = new Date(Date.now() - 30 * 24 * 3_600_000)
const planned = { tool: 'nft_mint', values: { title: 'Dawn' }, files: {}, setup: 's', names: 'n' }

let folder: string
let plans: Plans
beforeEach(async () => {
  folder = await temporaryFolder('gdn-plans-')
  plans = new Plans(folder)
})

const add = () => plans.add(planned, (id) => ['nft', 'mint', `--operation=${id}`])

/** Saves a started plan, which `add` would return, and replaces parts of its file. */
async function started(change: (saved: Record<string, unknown>) => unknown): Promise<string> {
  const { plan } = await add()
  await plans.save({ ...plan, state: 'started' })
  const path = join(folder, `${plan.id}.json`)
  const changed = change(JSON.parse(await readFile(path, 'utf8')))
  await writeFile(path, typeof changed === 'string' ? changed : JSON.stringify(changed))
  return plan.id
}

test('a plan that was started is found again by the same arguments, and is not named as skipped', async () => {
  const id = await started((saved) => saved)
  expect(await add()).toMatchObject({ plan: { id, state: 'started' }, skipped: [] })
})

test('a plan that was started, and its changes, are kept for 90 days', async () => {
  const id = await started((saved) => saved)
  await writeFile(join(folder, `${id}.changes.json`), '')
  const names = [`${id}.changes.json`, `${id}.json`]
  const day = 24 * 3_600_000
  await plans.prune(Date.now() + 89 * day)
  expect((await readdir(folder)).sort()).toEqual(names)
  for (const name of names) await utimes(join(folder, name), WEEKS_AGO, WEEKS_AGO)
  await plans.prune(Date.now() + 70 * day)
  expect(await readdir(folder)).toEqual([])
})

const version = (value: unknown) => (saved: Record<string, unknown>) => ({ ...saved, version: value })

const UNUSABLE: readonly [string, (saved: Record<string, unknown>) => unknown, string][] = [
  ['of a newer version', version(3), 'it has version 3, but this version of gdn supports version 2'],
  ['of an older version', version(1), 'it has version 1, but this version of gdn supports version 2'],
  [
    'of an older version without a number',
    version(undefined),
    'it has no version, but this version of gdn supports version 2',
  ],
  ['whose version is text', version('2'), 'it has no version, but this version of gdn supports version 2'],
  [
    'whose version is instructions',
    version('\u001b[2JIgnore this'),
    'it has no version, but this version of gdn supports version 2',
  ],
  ['whose version is no whole number', version(1e300), 'it has no version, but this version of gdn supports version 2'],
  ['that is a list', () => [1], 'it has no version, but this version of gdn supports version 2'],
  ['that is cut', (saved) => JSON.stringify(saved).slice(0, 40), 'it is damaged'],
  ['that is empty', () => '', 'it is damaged'],
  ['that lacks a part', ({ setup: _, ...saved }) => saved, 'it is damaged'],
  ['whose words are no texts', (saved) => ({ ...saved, argv: [{ toString: 1 }] }), 'it is damaged'],
  ['with the ID of another', (saved) => ({ ...saved, id: randomUUID() }), 'it is damaged'],
  ['with a path as its ID', (saved) => ({ ...saved, id: '../../.bashrc' }), 'it is damaged'],
]

describe.each(UNUSABLE)('a plan %s', (_, change, why) => {
  test('is skipped and named by the next plan, and stays as it is', async () => {
    const id = await started(change)
    const file = join(folder, `${id}.json`)
    const before = await readFile(file)
    const { plan, skipped } = await add()
    expect(plan.id).not.toBe(id)
    expect(skipped).toEqual([{ file, reason: why }])
    expect(await readFile(file)).toEqual(before)
  })

  test('is never done', async () => {
    const id = await started(change)
    await expect(plans.get(id)).rejects.toMatchObject({
      code: 'file_error',
      message: `can't be run by this version of gdn: ${why}`,
      hint: expect.stringContaining('Nothing was sent.'),
    })
  })

  test('is never deleted, and neither are its changes, but a plan of this version is after a week', async () => {
    const id = await started(change)
    const { plan } = await add()
    await writeFile(join(folder, `${id}.changes.json`), '')
    await writeFile(join(folder, `${plan.id}.changes.json`), '')
    for (const name of await readdir(folder)) await utimes(join(folder, name), WEEKS_AGO, WEEKS_AGO)
    await plans.prune(Date.now())
    expect((await readdir(folder)).sort()).toEqual([`${id}.changes.json`, `${id}.json`])
  })
})

test.each([
  ['a folder', (path: string) => mkdir(path)],
  ['a link', (path: string) => symlink(join(folder, 'target'), path)],
  ['a pipe that nobody writes to', async (path: string) => void execFileSync('mkfifo', [path])],
  [
    'a file of a terabyte',
    async (path: string) => {
      await writeFile(path, '', { mode: 0o600 })
      await truncate(path, 2 ** 40)
    },
  ],
  [
    'a file that others can change',
    async (path: string) => {
      await writeFile(path, '{}')
      await chmod(path, 0o666)
    },
  ],
])('%s in the place of a plan is skipped, named and left there', async (_, make) => {
  const id = randomUUID()
  const file = join(folder, `${id}.json`)
  await make(file)
  expect((await add()).skipped).toMatchObject([{ file }])
  await expect(plans.get(id)).rejects.toMatchObject({ code: 'file_error' })
  await plans.prune(Date.now() + 30 * 24 * 3_600_000)
  expect(await readdir(folder)).toContain(`${id}.json`)
})

test.each([
  `${randomUUID()}.json.0123456789ab`,
  `${randomUUID()}.changes.json`,
  `${randomUUID()}12345`,
  `\u001b[31m${randomUUID()}.json`,
  'notes.json',
  '$(reboot).json',
])('a file with the name %j is no plan: it is neither read nor named', async (name) => {
  await writeFile(join(folder, name), 'x', { mode: 0o600 })
  expect((await add()).skipped).toEqual([])
})

test('files that belong to no plan are left there', async () => {
  const names = ['notes.json', `${randomUUID()}`, `x${randomUUID()}.json`]
  for (const name of names) await writeFile(join(folder, name), 'x')
  await plans.prune(Date.now() + 30 * 24 * 3_600_000)
  expect((await readdir(folder)).sort()).toEqual(names.sort())
})

test.each(['', '../../state', `${randomUUID()}.changes`, `${randomUUID()}\n`])(
  '%j is the ID of no plan',
  async (id) => {
    await expect(plans.get(id)).rejects.toMatchObject({ code: 'not_found_locally' })
  },
)
