import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { queryStateIfReadable } from '../../src/state/glance.ts'
import { openState, openStateIfExists, type StateReader, statePath } from '../../src/state/open-state.ts'
import { FIRST_VERSION, STATE_MIGRATIONS } from '../../src/state/schema.ts'
import { SCHEMA_VERSION } from '../../src/state/schema-version.ts'
import { changeSchema } from '../helpers/change-schema.ts'

/** Migrations of a gdn that these tests make up. */
const later = vi.hoisted(() => [] as string[])
vi.mock(import('../../src/state/schema.ts'), async (original) => {
  const real = await original()
  return {
    ...real,
    get STATE_MIGRATIONS() {
      return [...real.STATE_MIGRATIONS, ...later]
    },
  }
})
vi.mock(import('../../src/state/schema-version.ts'), async (original) => {
  const { SCHEMA_VERSION: version } = await original()
  return {
    get SCHEMA_VERSION() {
      return (version + later.length) as typeof version
    },
  }
})

test('the newest schema is that of the last migration', () => {
  expect(SCHEMA_VERSION).toBe(FIRST_VERSION + STATE_MIGRATIONS.length - 1)
})

/**
 * SHA-256 of the migration that makes each schema, without comments and white space. Never change or remove a line: a
 * schema with another text has another number, so that a state that was made with this one is recognized.
 */
const DIGESTS: Readonly<Record<number, string>> = {
  7: '39e9703db085212169ac9ea22b7a3d3c40576861fcac21f8d94a22b34b595513',
  8: '19cf818d1521f7fa92d8333318793926bfe646be913efa7ef557575ca4af0758',
  9: '48c2dbbc42663070087a3c5039f368831ba09b61e54eedacea9c105a92c9ece4',
  10: '318ce98ebaaddf4a1c68dfa3f0831560491de1cb8f49fb30e3a095cc2eadb1c3',
  11: '0928acb285bfb959ddc039f09aeb68ae09a2012139efe0a165c32b2ce7060b33',
  12: '1224330f28bb025b2484dc2008c7f11ce5e51a92c78e6fdb12a6da8217d602b1',
  13: '29841ef33c24f55dcab9d2f95d9343e91d6422d45e55357625ff14ff2bd39537',
}

const COLUMN = 'ALTER TABLE servers ADD COLUMN made_up TEXT'
const OPENERS = [
  ['a command that sends', openState],
  ['a command that only reads', openStateIfExists],
] as const

let stateDir: string
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'gdn-schema-'))
})
afterEach(async () => {
  later.length = 0
  await rm(stateDir, { recursive: true, force: true })
})

async function make(origin: string): Promise<void> {
  const state = await openState(stateDir)
  await state.write((sql) => sql.run('INSERT INTO servers (origin) VALUES (?)', origin))
  state.close()
}

const servers = (state: StateReader | null) => state?.read((sql) => sql.all('SELECT * FROM servers'))

/** Content, inode and times of all files of the state. */
async function everyFile(): Promise<unknown[]> {
  const files = []
  for (const name of (await readdir(stateDir)).sort()) {
    const { ino, mode, mtimeNs, ctimeNs } = await stat(join(stateDir, name), { bigint: true })
    files.push([name, ino, mode, mtimeNs, ctimeNs, await readFile(join(stateDir, name), 'base64')])
  }
  return files
}

test('a schema with another text has another number', () => {
  const text = (migration: string) => migration.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim()
  const digests = STATE_MIGRATIONS.map((migration, index) => [
    FIRST_VERSION + index,
    createHash('sha256').update(text(migration)).digest('hex'),
  ])
  expect(DIGESTS).toMatchObject(Object.fromEntries(digests))
})

test.each(OPENERS)('%s migrates a state of an earlier schema, and keeps its rows', async (_, open) => {
  await make('https://a.test')
  later.push(COLUMN, "UPDATE servers SET made_up = 'made by the second'")
  const state = await open(stateDir)
  expect(await state?.version()).toBe(SCHEMA_VERSION)
  expect(await servers(state)).toMatchObject([{ origin: 'https://a.test', made_up: 'made by the second' }])
  state?.close()
})

test('a state is migrated by the migrations after its schema only', async () => {
  later.push(COLUMN)
  await make('https://a.test')
  later.push("UPDATE servers SET made_up = 'later'")
  const state = await openState(stateDir)
  expect(await servers(state)).toMatchObject([{ made_up: 'later' }])
  state.close()
})

test('a migration that fails leaves the state as it was', async () => {
  await make('https://a.test')
  later.push(COLUMN, 'ALTER TABLE nothing ADD COLUMN made_up TEXT')
  const before = await readFile(statePath(stateDir))
  await expect(openState(stateDir)).rejects.toThrow(/nothing/)
  expect(await readFile(statePath(stateDir))).toEqual(before)
})

test('processes that migrate at the same time migrate once', async () => {
  await make('https://a.test')
  later.push(COLUMN)
  const states = await Promise.all([openState(stateDir), openState(stateDir), openStateIfExists(stateDir)])
  for (const state of states) {
    expect(await servers(state)).toMatchObject([{ origin: 'https://a.test', made_up: null }])
    state?.close()
  }
})

test.each(OPENERS)('%s refuses a state of a newer schema, names both, and changes no file', async (_, open) => {
  later.push(COLUMN)
  await make('https://a.test')
  later.length = 0
  const before = await everyFile()
  await expect(open(stateDir)).rejects.toMatchObject({
    code: 'data_dir',
    exitCode: 2,
    message: `${statePath(stateDir)} has schema ${SCHEMA_VERSION + 1}, but this version of gdn uses schema ${SCHEMA_VERSION}`,
    hint: 'Nothing was changed. Update gdn.',
  })
  expect(await everyFile()).toEqual(before)
})

test.each(OPENERS.flatMap(([who, open]) => [-1, 0, 1, 6].map((version) => [who, version, open] as const)))(
  '%s refuses a state of the unknown schema %i, names both, and changes no file',
  async (_, version, open) => {
    await changeSchema(stateDir, version)
    const path = statePath(stateDir)
    // A state that was restored alone gets no seal either.
    await rm(`${path}-seal`)
    const before = await everyFile()
    await expect(open(stateDir)).rejects.toMatchObject({
      code: 'data_dir',
      exitCode: 2,
      message: `${path} has schema ${version}, but this version of gdn uses schema ${SCHEMA_VERSION}`,
      hint: `Nothing was changed. Finish the runs with the version of gdn that created the file, then run \`mv ${path} ${path}-schema-${version}\`.`,
    })
    expect(await everyFile()).toEqual(before)
  },
)

test('the fix makes a new state, which counts as a copy: what the other sent is looked for first', async () => {
  await make('https://a.test')
  await changeSchema(stateDir, 6)
  await rename(statePath(stateDir), `${statePath(stateDir)}-schema-6`)
  const state = await openState(stateDir)
  await state.write((sql) => sql.run("INSERT INTO servers (origin) VALUES ('https://b.test')"))
  const copied = await state.read((sql) => sql.all('SELECT epoch, copied_because FROM state'))
  expect(copied).toEqual([{ epoch: 1, copied_because: 'the previous database is missing' }])
  state.close()
})

test('suggestions use no state of another schema', async () => {
  await make('https://a.test')
  const glance = () => queryStateIfReadable(stateDir, (sql) => sql.all('SELECT origin FROM servers'))
  expect(glance()).toEqual([{ origin: 'https://a.test' }])
  await changeSchema(stateDir, 6)
  expect(glance()).toEqual([])
})
